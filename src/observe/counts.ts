import type { Identity, Usage } from '../call.js';
import type { Tally, UsageQuery } from './ledger.js';

/** What one key used within one hour: whole numbers. */
export interface Counts {
  calls: number;
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens: number;
  microUsd: number;
  answers: number;
}

/** The counts of one key of a scope, in one hour since the epoch. */
export interface HourRow {
  readonly hour: number;
  readonly scope: string;
  readonly key: string;
  readonly counts: Counts;
}

export const HOUR_MS = 3_600_000;
export const HOURS_KEPT = 24;
/** Keys told apart per scope and hour; the rest are counted together. */
export const MOST_KEYS = 10_000;
export const OTHERS = '(others)';

export const hourOf = (nowMs: number): number => Math.floor(nowMs / HOUR_MS);

/** The hours that a question is about, oldest first. */
export function hoursOf({ since = 0 }: UsageQuery, nowMs: number): number[] {
  const hours = Array.from({ length: HOURS_KEPT }, (_, index) => hourOf(nowMs) - HOURS_KEPT + 1 + index);
  return hours.filter((hour) => (hour + 1) * HOUR_MS > since);
}

/** Adds `counts` to those of a key. */
export function addTo(sums: Map<string, Counts>, key: string, counts: Counts): void {
  const sum = getOrMake(sums, key, noCounts);
  for (const name in counts) sum[name as keyof Counts] += counts[name as keyof Counts];
}

/** The largest by tokens, largest first. */
export function topOf(sums: ReadonlyMap<string, Counts>, { top = 10 }: UsageQuery): readonly Tally[] {
  return [...sums]
    .map(([key, { microUsd, ...counts }]): Tally => ({ key, ...counts, usd: microUsd / 1_000_000 }))
    .sort((a, b) => b.inputTokens + b.outputTokens - (a.inputTokens + a.outputTokens))
    .slice(0, Math.max(0, top));
}

/** What was used, by hour, scope and key. */
export class HourlyCounts {
  readonly #hours = new Map<number, Map<string, Map<string, Counts>>>();

  /** Counts a call in each of its scopes, for its model and for everybody. */
  addCall(hour: number, identity: Identity, model: string | undefined, usage: Usage, microUsd: number): void {
    for (const counts of this.#countsOf(hour, identity, model)) {
      counts.calls++;
      counts.inputTokens += usage.inputTokens ?? 0;
      counts.outputTokens += usage.outputTokens ?? 0;
      counts.cachedInputTokens += usage.cachedInputTokens ?? 0;
      counts.microUsd += microUsd;
    }
  }

  /** Counts an answer that no model gave. */
  addAnswer(hour: number, identity: Identity): void {
    for (const counts of this.#countsOf(hour, identity, undefined)) counts.answers++;
  }

  /** What is counted for a scope in an hour, by key. */
  of(hour: number, scope: string): Iterable<readonly [string, Counts]> {
    return this.#hours.get(hour)?.get(scope) ?? [];
  }

  /** Forgets what is older than an hour. @returns how many rows that were */
  forgetBefore(hour: number): number {
    let rows = 0;
    for (const [old, scopes] of this.#hours) {
      if (old >= hour) continue;
      for (const keys of scopes.values()) rows += keys.size;
      this.#hours.delete(old);
    }
    return rows;
  }

  /** Takes some rows out, oldest first. */
  take(most: number): HourRow[] {
    const rows: HourRow[] = [];
    for (const [hour, scopes] of this.#hours) {
      for (const [scope, keys] of scopes) {
        for (const [key, counts] of keys) {
          if (rows.length === most) return rows;
          rows.push({ hour, scope, key, counts });
          keys.delete(key);
        }
        scopes.delete(scope);
      }
      this.#hours.delete(hour);
    }
    return rows;
  }

  /** How many rows there are. */
  get size(): number {
    let rows = 0;
    for (const scopes of this.#hours.values()) for (const keys of scopes.values()) rows += keys.size;
    return rows;
  }

  #countsOf(hour: number, identity: Identity, model: string | undefined): Counts[] {
    const scopes = getOrMake(this.#hours, hour, () => new Map<string, Map<string, Counts>>());
    const found = [countsOf(scopes, 'global', 'global')];
    if (model !== undefined) found.push(countsOf(scopes, 'model', model));
    for (const scope in identity) found.push(countsOf(scopes, scope, identity[scope] as string));
    return found;
  }
}

function countsOf(scopes: Map<string, Map<string, Counts>>, scope: string, key: string): Counts {
  const keys = getOrMake(scopes, scope, () => new Map<string, Counts>());
  return keys.get(key) ?? getOrMake(keys, keys.size < MOST_KEYS ? key : OTHERS, noCounts);
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
