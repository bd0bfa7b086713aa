import fc from 'fast-check';
import type { Item, ReserveHow, Window } from '../../src/stores/store.js';

/** Half an hour before the midnight that begins Berlin's day of 23 hours. */
export const START_MS = Date.UTC(2026, 2, 28, 22, 30);
export const HOUR_MS = 3_600_000;
export const REMEMBERED_MS = 60_000;
/** Most commands of a program. */
export const LENGTH = 40;
export const NAMES = ['second', 'odd', 'minute', 'seen', 'day', 'calls'] as const;

export type Name = (typeof NAMES)[number];

export const COUNTERS: Record<Name, { readonly window: Window; readonly limit: number }> = {
  second: { window: { kind: 'sliding', ms: 1_000 }, limit: 60 },
  odd: { window: { kind: 'sliding', ms: 7_001 }, limit: 80 },
  minute: { window: { kind: 'sliding', ms: 60_000 }, limit: 100 },
  /** Counts, and never refuses. */
  seen: { window: { kind: 'sliding', ms: 60_000 }, limit: 100 },
  day: { window: { kind: 'calendar', unit: 'day', timeZone: 'Europe/Berlin' }, limit: 300 },
  calls: { window: { kind: 'concurrent' }, limit: 3 },
};
export const ALL: readonly Item[] = NAMES.map((name) => itemOf(name, 0));

export type Command =
  | { readonly kind: 'reserve'; readonly items: readonly Item[]; readonly from: number | undefined; readonly leaseMs: number }
  | { readonly kind: 'resend'; readonly back: number }
  | { readonly kind: 'settle'; readonly back: number; readonly amounts: readonly number[] }
  | { readonly kind: 'renew'; readonly backs: readonly number[]; readonly leaseMs: number }
  | { readonly kind: 'advance'; readonly ms: number };

export type Reserve = Extract<Command, { kind: 'reserve' }>;

const amount = fc.oneof(fc.nat({ max: 40 }), fc.nat({ max: 110 }));
const back = fc.integer({ min: -1, max: 5 });
const item = (name: Name) =>
  fc
    .record({ amount: name === 'calls' ? fc.nat({ max: 2 }) : amount, paced: fc.boolean(), isLow: fc.boolean() })
    .map(({ amount, paced, isLow }) => itemOf(name, amount, paced, isLow));
const items = fc.subarray([...NAMES], { minLength: 1 }).chain((names) => fc.tuple(...names.map(item)));
const leaseMs = fc.constantFrom(500, 5_000, 45_000);
const settle = fc.record({
  kind: fc.constant('settle' as const),
  back,
  amounts: fc.array(amount, { minLength: 6, maxLength: 6 }),
});
const reserve = fc.record({ kind: fc.constant('reserve' as const), items, from: fc.option(back, { nil: undefined }), leaseMs });
const advance = fc.record({
  kind: fc.constant('advance' as const),
  ms: fc.oneof(
    fc.nat({ max: 60 }),
    fc.nat({ max: 2_000 }),
    fc.nat({ max: 30_000 }),
    fc.constantFrom(1_000, 1_016, 1_017, 7_001, 7_118, 60_000, 61_000, HOUR_MS, 12 * HOUR_MS),
  ),
});
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: reserve },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('resend' as const), back }) },
  { weight: 3, arbitrary: settle },
  { weight: 1, arbitrary: settle.map((command) => ({ ...command, amounts: [] })) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('renew' as const), backs: fc.array(back, { maxLength: 3 }), leaseMs }) },
  { weight: 5, arbitrary: advance },
);
export const program = fc.array(command, { minLength: 1, maxLength: LENGTH, size: 'max' });

export function itemOf(name: Name, amount: number, paced = false, isLow = false): Item {
  const { window, limit } = COUNTERS[name];
  const refuseAt = name === 'seen' ? Infinity : isLow ? limit / 2 : limit;
  return { counter: name, window, amount, limit, refuseAt, paced };
}

export function howOf({ from, leaseMs }: Reserve, idOf: (back: number) => string): ReserveHow {
  return { leaseMs, from: from === undefined ? undefined : idOf(from) };
}
