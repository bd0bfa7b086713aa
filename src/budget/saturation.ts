import type { Charge } from '../call.js';
import type { Source } from './source.js';

/** How full the shared budgets were when last seen; counters of models and of `global`, so few of them. */
export interface Saturation {
  /** Notes what the store said of a reservation's counters. */
  see(charges: readonly Charge[], used: readonly number[], nowMs: number): void;
  /** Whether a counter of the shared ones of these was last seen above the ratio, not longer ago than its window. */
  isHigh(sources: readonly Pick<Source, 'scope' | 'counters'>[], nowMs: number): boolean;
  /** Used share of a counter when last seen, 0 to 1 and above; `undefined` when never seen. */
  of(counter: string): number | undefined;
}

interface Seen {
  ratio: number;
  untilMs: number;
}

const isShared = (scope: string): boolean => scope === 'model' || scope === 'global';

export function createSaturation(aboveRatio: number): Saturation {
  const seen = new Map<string, Seen>();
  return {
    see(charges, used, nowMs) {
      for (let index = 0; index < charges.length; index++) {
        const charge = charges[index] as Charge;
        // What never refuses, or only because others are full, says nothing of how much is left for all.
        if (!isShared(charge.scope) || charge.budget.enforce !== 'always') continue;
        const ratio = charge.limit > 0 ? (used[index] ?? 0) / charge.limit : 1;
        const untilMs = nowMs + (charge.window.kind === 'sliding' ? charge.window.ms : 60_000);
        const last = seen.get(charge.counter);
        if (!last) seen.set(charge.counter, { ratio, untilMs });
        else {
          last.ratio = ratio;
          last.untilMs = untilMs;
        }
      }
    },
    isHigh(sources, nowMs) {
      for (const { scope, counters } of sources) {
        if (!isShared(scope)) continue;
        for (const counter of counters) {
          const last = seen.get(counter);
          if (last && last.untilMs >= nowMs && last.ratio >= aboveRatio) return true;
        }
      }
      return false;
    },
    of: (counter) => seen.get(counter)?.ratio,
  };
}
