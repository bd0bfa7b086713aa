import type { Charge } from '../call.js';

/** How full the shared budgets were when last seen; counters of models and of `global`, so few of them. */
export interface Saturation {
  /** Notes what the store said of a reservation's counters. */
  see(charges: readonly Charge[], used: readonly number[], nowMs: number): void;
  /** Whether one of these counters was last seen above the ratio, not longer ago than its window. */
  isHigh(counters: Iterable<string>, nowMs: number): boolean;
  /** Used share of a counter when last seen, 0 to 1 and above; `undefined` when never seen. */
  of(counter: string): number | undefined;
}

interface Seen {
  ratio: number;
  untilMs: number;
}

export function createSaturation(aboveRatio: number): Saturation {
  const seen = new Map<string, Seen>();
  return {
    see(charges, used, nowMs) {
      charges.forEach((charge, index) => {
        if (charge.scope !== 'model' && charge.scope !== 'global') return;
        // What never refuses, or only because others are full, says nothing of how much is left for all.
        if (charge.budget.enforce !== 'always') return;
        const ratio = charge.limit > 0 ? (used[index] ?? 0) / charge.limit : 1;
        const untilMs = nowMs + (charge.window.kind === 'sliding' ? charge.window.ms : 60_000);
        seen.set(charge.counter, { ratio, untilMs });
      });
    },
    isHigh(counters, nowMs) {
      for (const counter of counters) {
        const last = seen.get(counter);
        if (last && last.untilMs >= nowMs && last.ratio >= aboveRatio) return true;
      }
      return false;
    },
    of: (counter) => seen.get(counter)?.ratio,
  };
}
