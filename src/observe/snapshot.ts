import type { Core } from '../core.js';
import { encodeKey } from '../identity.js';
import type { EstimateState } from '../learning/learning.js';
import type { Window } from '../stores/store.js';

/** A shared budget as it stands. */
export interface BudgetState {
  readonly scope: 'model' | 'global';
  readonly key: string;
  readonly dimension: string;
  readonly window: Window;
  /** Tokens, requests, micro-dollars or running calls; headroom taken off. */
  readonly limit: number;
  readonly used: number;
  /** used / limit. */
  readonly saturation: number;
}

/** What is going on: a copy that never changes. */
export interface Snapshot {
  /**
   * Budgets of models and of `global`; those of other scopes are asked for with `usage`. A model whose `pool` is a function is left out:
   * nobody can name its counters without a call.
   */
  readonly budgets: readonly BudgetState[];
  /** Calls that wait. */
  readonly queueDepth: number;
  /** Reservations not settled yet. */
  readonly liveReservations: number;
  /** Governed requests under way. */
  readonly openRequests: number;
  /** What this process has learned of real usage, most calls first; at most 200 rows, none with `calibration: false`. */
  readonly estimates: readonly EstimateState[];
}

export async function takeSnapshot({ options, line, keeper, learning, openVisits }: Core): Promise<Snapshot> {
  const places: {
    scope: 'model' | 'global';
    key: string;
    prefix: string;
    budgets: Iterable<import('../budget/budget.js').Budget>;
  }[] = [];
  for (const { pool, budgets } of options.models.values()) {
    if (typeof pool === 'string') places.push({ scope: 'model', key: pool, prefix: `model|${encodeKey(pool)}`, budgets });
  }
  const global = options.scopes.find(({ name }) => name === 'global');
  if (global) places.push({ scope: 'global', key: 'global', prefix: 'global|global', budgets: await global.budgetsOf('global') });
  const rows = places.flatMap(({ budgets, ...place }) =>
    [...budgets].flatMap((budget) => (budget.window ? [{ ...place, budget, window: budget.window }] : [])),
  );
  const used = await options.store.peek(
    rows.map(({ prefix, budget, window }) => ({ counter: `${prefix}|${budget.suffix}`, window })),
  );
  return {
    budgets: rows.map(({ scope, key, budget: { dimension, limit }, window }, index) => {
      const amount = used[index] ?? 0;
      return { scope, key, dimension, window, limit, used: amount, saturation: limit > 0 ? amount / limit : 1 };
    }),
    queueDepth: line.depth,
    liveReservations: keeper.live,
    openRequests: openVisits,
    estimates: learning?.states() ?? [],
  };
}
