import type { Identity, OutcomeKind, Usage } from '../call.js';
import type { Clock } from '../clock.js';

/** What one key used: as the provider reported it, else as it was counted. */
export interface Tally {
  readonly key: string;
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly usd: number;
  /** Answers that no model gave. */
  readonly answers: number;
}

export interface UsageQuery {
  /** `model`, `global` or a scope's name. */
  readonly scope: string;
  /** How many of the largest, by tokens. @defaultValue 10 */
  readonly top?: number;
  /** Epoch milliseconds, rounded down to the hour; at most a day back. @defaultValue everything kept */
  readonly since?: number;
}

/** Who used what, in the last 24 hours. */
export interface Ledger {
  /** @param microUsd - whole micro-dollars */
  add(identity: Identity, model: string | undefined, usage: Usage, microUsd: number): void;
  addAnswer(identity: Identity, kind: OutcomeKind): void;
  usage(query: UsageQuery): readonly Tally[];
}

interface Counts {
  calls: number;
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens: number;
  microUsd: number;
  answers: number;
}

const HOUR_MS = 3_600_000;
const HOURS_KEPT = 24;
/** Keys told apart per scope and hour; the rest are counted together. */
const MOST_KEYS = 10_000;
const OTHERS = '(others)';

export function createLedger(clock: Clock): Ledger {
  /** Hour to scope to key. */
  const hours = new Map<number, Map<string, Map<string, Counts>>>();

  /** What is counted in this hour: scope to key. */
  function thisHour(): Map<string, Map<string, Counts>> {
    const hour = Math.floor(clock.now() / HOUR_MS);
    let scopes = hours.get(hour);
    if (!scopes) {
      for (const old of hours.keys()) if (old <= hour - HOURS_KEPT) hours.delete(old);
      scopes = new Map();
      hours.set(hour, scopes);
    }
    return scopes;
  }

  function everyScope(identity: Identity, model: string | undefined, count: (counts: Counts) => void): void {
    const scopes = thisHour();
    count(countsOf(scopes, 'global', 'global'));
    if (model !== undefined) count(countsOf(scopes, 'model', model));
    for (const scope in identity) count(countsOf(scopes, scope, identity[scope] as string));
  }

  return {
    add(identity, model, usage, microUsd) {
      everyScope(identity, model, (counts) => {
        counts.calls++;
        counts.inputTokens += usage.inputTokens ?? 0;
        counts.outputTokens += usage.outputTokens ?? 0;
        counts.cachedInputTokens += usage.cachedInputTokens ?? 0;
        counts.microUsd += microUsd;
      });
    },
    addAnswer(identity) {
      everyScope(identity, undefined, (counts) => {
        counts.answers++;
      });
    },
    usage({ scope, top = 10, since = 0 }) {
      const sums = new Map<string, Counts>();
      const oldest = Math.floor(clock.now() / HOUR_MS) - HOURS_KEPT + 1;
      for (const [hour, scopes] of hours) {
        if (hour < oldest || (hour + 1) * HOUR_MS <= since) continue;
        for (const [key, counts] of scopes.get(scope) ?? []) sums.set(key, sum(sums.get(key), counts));
      }
      return [...sums]
        .map(([key, { microUsd, ...counts }]): Tally => ({ key, ...counts, usd: microUsd / 1_000_000 }))
        .sort((a, b) => b.inputTokens + b.outputTokens - (a.inputTokens + a.outputTokens))
        .slice(0, Math.max(0, top));
    },
  };
}

function countsOf(scopes: Map<string, Map<string, Counts>>, scope: string, key: string): Counts {
  const keys = getOrMake(scopes, scope, () => new Map<string, Counts>());
  return keys.get(key) ?? getOrMake(keys, keys.size < MOST_KEYS ? key : OTHERS, noCounts);
}

function sum(a: Counts | undefined, b: Counts): Counts {
  return {
    calls: (a?.calls ?? 0) + b.calls,
    inputTokens: (a?.inputTokens ?? 0) + b.inputTokens,
    outputTokens: (a?.outputTokens ?? 0) + b.outputTokens,
    cachedInputTokens: (a?.cachedInputTokens ?? 0) + b.cachedInputTokens,
    microUsd: (a?.microUsd ?? 0) + b.microUsd,
    answers: (a?.answers ?? 0) + b.answers,
  };
}

function noCounts(): Counts {
  return { calls: 0, inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, microUsd: 0, answers: 0 };
}

function getOrMake<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
