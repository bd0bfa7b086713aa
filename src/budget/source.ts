import { encodeKey } from '../identity.js';
import type { Budget } from './budget.js';

/** Budgets of one key, and what their counters are called. */
export interface Source {
  readonly scope: string;
  readonly key: string;
  /** Scope and key, encoded; with a budget's suffix the identity of a counter. */
  readonly prefix: string;
  readonly budgets: readonly Budget[];
  /** Names of the budgets' counters, in their order. */
  readonly counters: readonly string[];
  /** `call`: requests and concurrency are counted for each innermost run; `visit`: once per visit. */
  readonly units: 'call' | 'visit';
}

export function createSource(fields: Omit<Source, 'counters'>): Source {
  return { ...fields, counters: fields.budgets.map(({ suffix }) => `${fields.prefix}|${suffix}`) };
}

/** Keys of one scope whose sources are remembered; they are made anew when there were more. */
const MOST_KEYS = 4_096;

/**
 * The sources of one scope by key. Counters are looked up by name several times a call: names that are made once are hashed
 * once.
 */
export class Sources {
  readonly #scope: string;
  readonly #units: Source['units'];
  /** What follows the key in the prefix. */
  readonly #place: string;
  readonly #byKey = new Map<string, Source>();

  constructor(scope: string, units: Source['units'], place = '') {
    this.#scope = scope;
    this.#units = units;
    this.#place = place;
  }

  of(key: string, budgets: readonly Budget[]): Source {
    const known = this.#byKey.get(key);
    if (known?.budgets === budgets) return known;
    if (this.#byKey.size >= MOST_KEYS) this.#byKey.clear();
    const prefix = `${this.#scope}|${encodeKey(key)}${this.#place}`;
    const source = createSource({ scope: this.#scope, key, prefix, budgets, units: this.#units });
    this.#byKey.set(key, source);
    return source;
  }
}
