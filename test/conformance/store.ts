import { describe, expect, it } from 'vitest';
import type { Full, Held, Item, ReserveHow, Store, Window } from '../../src/stores/store.js';

/** A store and the time it lives in. */
export interface StoreUnderTest {
  readonly store: Store;
  /** Moves the store's time on by whole milliseconds. */
  advance(ms: number): void | Promise<void>;
  /** Takes away what a test left behind. */
  dispose?(): void | Promise<void>;
}

export interface StoreConformanceOptions {
  /** A fresh and empty store, whose time stands at `nowMs` (epoch milliseconds) and moves only by `advance`. */
  create(nowMs: number): StoreUnderTest | Promise<StoreUnderTest>;
  /** Tests that the store cannot pass, each with its reason: gaps are data. */
  readonly skip?: readonly { readonly test: string; readonly reason: string }[];
}

/**
 * Proves the contract of {@link Store}, for any implementation.
 * @throws Error when `skip` names a test that does not exist, or gives no reason
 */
export function storeConformance(name: string, options: StoreConformanceOptions): void {
  const reasons = new Map<string, string>();
  for (const { test, reason } of options.skip ?? []) {
    if (!CASES.some((entry) => entry.name === test)) throw new Error(`skip names no test of the suite: "${test}"`);
    if (reason.trim() === '') throw new Error(`skip gives no reason for "${test}"`);
    reasons.set(test, reason);
  }

  describe(`${name} as a store`, () => {
    for (const part of PARTS) {
      describe(part.name, () => {
        for (const { name: test, startMs, run } of part.cases) {
          const reason = reasons.get(test);
          if (reason !== undefined) it.skip(`${test} (${reason})`, () => {});
          else it(test, () => inWorld(options, startMs, run));
        }
      });
    }
  });
}

/** What a test acts in. */
interface World {
  readonly store: Store;
  /** The store's time. */
  nowMs(): number;
  advance(ms: number): Promise<void>;
  /** Reserves with a lease of ten minutes, unless told otherwise. */
  reserve(id: string, items: Item | readonly Item[], how?: Partial<ReserveHow>): Promise<Held | Full>;
  /** What one counter holds. */
  used(item: Item): Promise<number>;
}

interface Case {
  readonly name: string;
  readonly startMs: number;
  readonly run: (world: World) => Promise<void>;
}

const START_MS = Date.UTC(2026, 0, 1);
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** After so long a minute's window is free, wherever in its slots the charge fell. */
const PASSED_MS = MINUTE_MS + SECOND_MS;
const CONCURRENT: Window = { kind: 'concurrent' };

async function inWorld(options: StoreConformanceOptions, startMs: number, run: Case['run']): Promise<void> {
  const { store, advance, dispose } = await options.create(startMs);
  let nowMs = startMs;
  try {
    await run({
      store,
      nowMs: () => nowMs,
      async advance(ms) {
        nowMs += ms;
        await advance(ms);
      },
      reserve: (id, items, how) => store.reserve(id, Array.isArray(items) ? items : [items], { leaseMs: 10 * MINUTE_MS, ...how }),
      used: async (item) => (await store.peek([item]))[0] as number,
    });
  } finally {
    await store.close();
    await dispose?.();
  }
}

function test(name: string, run: Case['run'], startMs = START_MS): Case {
  return { name, run, startMs };
}

/** 100 tokens a minute, unless told otherwise. */
function tokens(amount: number, change: Partial<Item> & { readonly windowMs?: number } = {}): Item {
  const { windowMs = MINUTE_MS, limit = 100, ...rest } = change;
  return { counter: 'user|a|tokens', window: { kind: 'sliding', ms: windowMs }, amount, limit, refuseAt: limit, ...rest };
}

/** One running call at a time, unless told otherwise. */
function running(limit = 1, counter = 'user|a|concurrent'): Item {
  return { counter, window: CONCURRENT, amount: 1, limit, refuseAt: limit };
}

/** 100 a day or month. */
function calendar(amount: number, unit: 'day' | 'month', timeZone = 'UTC'): Item {
  return { counter: `user|a|usd|${unit}`, window: { kind: 'calendar', unit, timeZone }, amount, limit: 100, refuseAt: 100 };
}

/** The waits of a refusal; none when the answer is no refusal. */
function waitsOf(answer: Held | Full): number[] {
  return answer.kind === 'full' ? answer.full.map(({ waitMs }) => waitMs) : [];
}

/** Asserts that a minute's wait is as the contract allows: the window, and up to 1/60 longer. */
function expectMinute(waitMs: number | undefined, sinceMs = 0): void {
  expect(waitMs).toBeGreaterThanOrEqual(MINUTE_MS - sinceMs);
  expect(waitMs).toBeLessThanOrEqual(PASSED_MS - sinceMs);
}

/** Asserts that `item` is refused now and a millisecond before the wait is over, and held when it is. */
async function expectExactWait(world: World, id: string, item: Item, how?: Partial<ReserveHow>): Promise<number> {
  const refused = await world.reserve(`${id}-now`, item, how);
  expect(refused.kind).toBe('full');
  const [waitMs = 0] = waitsOf(refused);
  expect(waitMs).toBeGreaterThan(0);
  await world.advance(waitMs - 1);
  expect((await world.reserve(`${id}-early`, item, how)).kind).toBe('full');
  await world.advance(1);
  expect((await world.reserve(id, item, how)).kind).toBe('held');
  return waitMs;
}

/** The largest sum of charges in any true window (t - windowMs, t]. */
function fullestWindow(charges: readonly { readonly atMs: number; readonly amount: number }[], windowMs: number): number {
  const sumUntil = (t: number): number =>
    charges.reduce((sum, { atMs, amount }) => (atMs > t - windowMs && atMs <= t ? sum + amount : sum), 0);
  return Math.max(0, ...charges.map(({ atMs }) => sumUntil(atMs)));
}

const RESERVING = [
  test('holds every item and tells what each counter holds', async ({ reserve, nowMs }) => {
    const wide = tokens(40, { counter: 'global|tokens', limit: 1_000 });

    const first = await reserve('a', [tokens(40), wide, running(2)]);
    const second = await reserve('b', [tokens(60), wide, running(2)]);

    expect(first).toEqual({ kind: 'held', used: [40, 40, 1], atMs: nowMs() });
    expect(second).toEqual({ kind: 'held', used: [100, 80, 2], atMs: nowMs() });
  }),
  test('holds nothing when one of the items does not fit', async ({ reserve, used }) => {
    const wide = tokens(101, { counter: 'global|tokens', limit: 1_000 });
    await reserve('before', tokens(50));

    const answer = await reserve('a', [wide, tokens(51), running(), calendar(51, 'day')]);

    expect(answer.kind).toBe('full');
    expect(await used(wide)).toBe(0);
    expect(await used(tokens(0))).toBe(50);
    expect(await used(running())).toBe(0);
    expect(await used(calendar(0, 'day'))).toBe(0);
  }),
  test('lists every item that does not fit, in their order, and what each counter holds', async ({ reserve, nowMs }) => {
    const [day, wide] = [calendar(60, 'day'), tokens(60, { counter: 'global|tokens', limit: 1_000 })];
    await reserve('before', [day, wide, tokens(60), running()]);

    const answer = await reserve('a', [running(), wide, tokens(60), day]);

    expect(answer).toEqual({
      kind: 'full',
      full: [
        { index: 0, waitMs: 0 },
        { index: 2, waitMs: expect.any(Number) },
        { index: 3, waitMs: DAY_MS },
      ],
      used: [1, 60, 60, 60],
      atMs: nowMs(),
    });
    expectMinute(waitsOf(answer)[1]);
  }),
  test('fits up to refuseAt, and not one more', async ({ reserve }) => {
    await reserve('a', tokens(99));

    expect((await reserve('b', tokens(2))).kind).toBe('full');
    expect((await reserve('c', tokens(1))).kind).toBe('held');
    expect((await reserve('d', tokens(1))).kind).toBe('full');
  }),
  test('refuses a lower share of the limit while the limit itself has room', async ({ reserve }) => {
    await reserve('a', tokens(50));

    expect((await reserve('background', tokens(1, { refuseAt: 50 }))).kind).toBe('full');
    expect((await reserve('standard', tokens(1))).kind).toBe('held');
  }),
  test('counts but never refuses what has no refuseAt', async ({ reserve, used }) => {
    const counted = (amount: number) => tokens(amount, { refuseAt: Infinity, paced: true });

    expect((await reserve('a', counted(5_000))).kind).toBe('held');
    expect((await reserve('b', counted(5_000))).kind).toBe('held');
    expect(await used(tokens(0))).toBe(10_000);
  }),
  test('waits for ever for an amount above refuseAt', async ({ reserve }) => {
    const items = [tokens(101), calendar(101, 'day'), { ...running(), amount: 2 }, tokens(11, { counter: 'b', refuseAt: 10 })];

    expect(waitsOf(await reserve('a', items))).toEqual([Infinity, Infinity, Infinity, Infinity]);
  }),
  test('fits an amount of 0 into a full counter', async ({ reserve }) => {
    await reserve('a', [tokens(100), calendar(100, 'day'), running()]);

    const answer = await reserve('b', [tokens(0), calendar(0, 'day'), { ...running(), amount: 0 }]);

    expect(answer).toMatchObject({ kind: 'held', used: [100, 100, 1] });
  }),
  test('admits exactly what fits of 200 reservations made in parallel', async ({ reserve, used }) => {
    const wide = tokens(25, { counter: 'global|tokens', limit: 100_000 });
    const items = [tokens(25, { limit: 1_010 }), wide, running(1_000)];

    const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => reserve(`parallel-${n}`, items)));

    expect(answers.filter(({ kind }) => kind === 'held')).toHaveLength(40);
    expect(await used(tokens(0))).toBe(1_000);
    expect(await used(wide)).toBe(1_000);
    expect(await used(running())).toBe(40);
  }),
  test('changes nothing by refusing, however often', async (world) => {
    const { reserve, used, advance, store } = world;
    const wide = tokens(70, { counter: 'global|tokens', limit: 1_000 });
    await reserve('a', [tokens(70), wide, running(5)]);

    for (let attempt = 0; attempt < 300; attempt++) {
      await advance(100);
      const answer = await reserve(`refused-${attempt}`, [wide, tokens(101), running(5)], { from: 'a' });
      expect(answer).toMatchObject({ kind: 'full', used: [70, 70, 1] });
    }

    expect(await used(wide)).toBe(70);
    await store.settle('a', [30, 30, 0]);
    expect([await used(tokens(0)), await used(wide), await used(running())]).toEqual([30, 30, 0]);
    await advance(PASSED_MS - 30_000);
    expect([await used(tokens(0)), await used(wide)]).toEqual([0, 0]);
  }),
];

const WINDOWS = [
  test('waits exactly until enough has left', async (world) => {
    await world.reserve('a', tokens(30));
    await world.advance(10_400);
    await world.reserve('b', tokens(30));
    await world.advance(10_400);
    await world.reserve('c', tokens(40));

    await expectExactWait(world, 'first', tokens(30));
    await expectExactWait(world, 'second', tokens(30));
    await expectExactWait(world, 'both', tokens(70));
  }),
  ...[1_000, 7_001, 60_000, 3_600_000, 86_400_000].map((windowMs) =>
    test(`waits exactly wherever in a slot of a ${windowMs} ms window the charge falls`, async (world) => {
      for (let n = 0; n < 8; n++) {
        const item = tokens(100, { windowMs, counter: `user|${n}` });
        await world.advance(n * 13 + 1);
        await world.reserve(`before-${n}`, item);

        const waitMs = await expectExactWait(world, `after-${n}`, item);

        expect(waitMs).toBeGreaterThanOrEqual(windowMs);
        expect(waitMs).toBeLessThanOrEqual(Math.ceil((windowMs * 61) / 60));
      }
    }),
  ),
  test('keeps a charge for its whole window and no more than 1/60 longer', async ({ reserve, advance, used }) => {
    for (const offsetMs of [0, 1, 500, 999]) {
      const item = tokens(100, { counter: `user|${offsetMs}` });
      await advance(offsetMs);
      await reserve(`at-${offsetMs}`, item);

      await advance(MINUTE_MS - 1);
      expect(await used(item)).toBe(100);
      await advance(SECOND_MS + 1);
      expect(await used(item)).toBe(0);
    }
  }),
  test('never exceeds a true window by bursts at its edges', async (world) => {
    const charges: { atMs: number; amount: number }[] = [];
    const pauses = [59_999, 1, 60_000, 60_001, 59_000, 1_000, 999, 30_000, 29_999, 31_001, 58_999, 60_999, 61_000];

    for (let n = 0; n < 130; n++) {
      for (const amount of [100, 50, 20, 7, 1]) {
        const answer = await world.reserve(`burst-${n}-${amount}`, tokens(amount));
        if (answer.kind === 'held') charges.push({ atMs: world.nowMs(), amount });
      }
      await world.advance((pauses[n % pauses.length] as number) + (n % 3));
    }

    expect(fullestWindow(charges, MINUTE_MS)).toBe(100);
  }),
  test('frees room under steady traffic, and does not wait for a pause', async ({ reserve, advance, nowMs }) => {
    const charges: { atMs: number; amount: number }[] = [];

    for (let second = 0; second < 610; second++) {
      if ((await reserve(`each-${second}`, tokens(2))).kind === 'held') charges.push({ atMs: nowMs(), amount: 2 });
      await advance(SECOND_MS);
    }

    expect(charges.length).toBeGreaterThanOrEqual(500);
    expect(fullestWindow(charges, MINUTE_MS)).toBe(100);
  }),
  test('keeps counters apart by name', async ({ reserve }) => {
    await reserve('a', tokens(100));

    expect((await reserve('b', tokens(100, { counter: 'user|b|tokens' }))).kind).toBe('held');
  }),
];

const SETTLING = [
  test('refunds the difference when usage is below what was held', async ({ reserve, store, used }) => {
    await reserve('a', [tokens(80), calendar(80, 'day')]);

    await store.settle('a', [30, 20]);

    expect([await used(tokens(0)), await used(calendar(0, 'day'))]).toEqual([30, 20]);
    expect((await reserve('b', tokens(70))).kind).toBe('held');
  }),
  test('refunds in the slot that was charged, not in a later one', async ({ reserve, store, advance, used }) => {
    await reserve('a', tokens(60));
    await advance(30_000);
    await reserve('b', tokens(40));

    await advance(10_000);
    await store.settle('a', [10]);

    expect(await used(tokens(0))).toBe(50);
    await advance(PASSED_MS - 40_000);
    expect(await used(tokens(0))).toBe(40);
  }),
  test('drops a refund whose window has passed', async ({ reserve, store, advance, used }) => {
    await reserve('a', tokens(100));
    await advance(PASSED_MS);
    await reserve('b', tokens(90));

    await store.settle('a', [0]);

    expect(await used(tokens(0))).toBe(90);
  }),
  test('charges an overdraft in the slot of its reservation', async ({ reserve, store, advance, used }) => {
    await reserve('a', tokens(10));
    await advance(30_000);

    await store.settle('a', [60]);

    expect(await used(tokens(0))).toBe(60);
    await advance(PASSED_MS - 30_000);
    expect(await used(tokens(0))).toBe(0);
  }),
  test('charges an overdraft now when the window of its reservation has passed', async ({ reserve, store, advance, used }) => {
    await reserve('a', tokens(10));
    await advance(PASSED_MS);

    await store.settle('a', [60]);

    expect(await used(tokens(0))).toBe(50);
    await advance(MINUTE_MS - 1);
    expect(await used(tokens(0))).toBe(50);
  }),
  test('lets later reservations wait for an overdraft', async (world) => {
    await world.reserve('a', tokens(50));
    await world.advance(20_000);
    await world.reserve('b', tokens(50));
    await world.store.settle('b', [150]);

    expect(await world.used(tokens(0))).toBe(200);
    await world.advance(PASSED_MS - 20_000);
    expect(await world.used(tokens(0))).toBe(150);
    expectMinute(await expectExactWait(world, 'c', tokens(1)), 41_000);
  }),
  test('gives everything back when all amounts are 0', async ({ reserve, store, used }) => {
    const items = [tokens(70), calendar(70, 'day'), calendar(70, 'month'), running()];
    await reserve('a', items);

    await store.settle('a', [0, 0, 0, 0]);

    expect(await store.peek(items)).toEqual([0, 0, 0, 0]);
    expect(await used(tokens(0))).toBe(0);
  }),
  test('frees what runs whatever its amount', async ({ reserve, store }) => {
    await reserve('a', [tokens(10), running()]);

    await store.settle('a', [10, 1]);

    expect(await reserve('b', [tokens(10), running()])).toMatchObject({ kind: 'held', used: [20, 1] });
  }),
];

const DRAWS = [
  test('lets only the difference to what is drawn have to fit', async ({ reserve }) => {
    await reserve('a', tokens(80));

    expect(waitsOf(await reserve('too-much', tokens(101), { from: 'a' }))).toEqual([Infinity]);
    expect(await reserve('b', tokens(100), { from: 'a' })).toMatchObject({ kind: 'held', used: [100] });
    expect((await reserve('c', tokens(1))).kind).toBe('full');
  }),
  test('dates what moves anew', async ({ reserve, advance, store, used }) => {
    await reserve('a', tokens(80));
    await advance(30_000);
    await reserve('b', tokens(90), { from: 'a' });

    await advance(PASSED_MS - 30_000);
    expect(await used(tokens(0))).toBe(90);
    await store.settle('b', [15]);
    expect(await used(tokens(0))).toBe(15);
  }),
  test('leaves with its source what a smaller draw does not take', async ({ reserve, store, used }) => {
    await reserve('a', tokens(80));

    await reserve('b', tokens(30), { from: 'a' });
    expect(await used(tokens(0))).toBe(80);
    await store.settle('a', [10]);
    expect(await used(tokens(0))).toBe(40);
    await store.settle('b', [0]);
    expect(await used(tokens(0))).toBe(10);
  }),
  test('fits a draw of no more than was held even over the limit, and nothing above', async ({ reserve, store, used }) => {
    await reserve('a', [tokens(50), calendar(50, 'day'), running(2)]);
    await reserve('b', [tokens(50), calendar(50, 'day'), running(2)]);
    await store.settle('b', [90, 90, 0]);

    const more = await reserve('c', [tokens(51), calendar(50, 'day'), running(0)], { from: 'a' });
    const same = await reserve('d', [tokens(50), calendar(50, 'day'), running(0)], { from: 'a' });

    expect(more).toMatchObject({ kind: 'full', full: [{ index: 0 }] });
    expect(same).toMatchObject({ kind: 'held', used: [140, 140, 1] });
    expect(await used(tokens(0))).toBe(140);
  }),
  test('draws nothing that has left its window', async ({ reserve, advance }) => {
    await reserve('a', tokens(80));
    await advance(PASSED_MS);
    await reserve('other', tokens(30));

    expect((await reserve('b', tokens(80), { from: 'a' })).kind).toBe('full');
    expect(await reserve('c', tokens(70), { from: 'a' })).toMatchObject({ kind: 'held', used: [100] });
  }),
  test('waits exactly although what is drawn leaves meanwhile', async (world) => {
    await world.reserve('a', tokens(40));
    await world.advance(5_300);
    await world.reserve('other', tokens(60));

    await expectExactWait(world, 'b', tokens(50), { from: 'a' });
  }),
  test('lets a source settle only what is left of it', async ({ reserve, store, used }) => {
    await reserve('a', [tokens(80), running()]);
    await reserve('b', [tokens(80), running()], { from: 'a' });

    await store.settle('a', [0, 0]);
    expect([await used(tokens(0)), await used(running())]).toEqual([80, 1]);
    await store.settle('b', [20, 0]);
    expect([await used(tokens(0)), await used(running())]).toEqual([20, 0]);
  }),
  test('charges what a drained source used after all', async ({ reserve, store, used }) => {
    await reserve('a', tokens(60));
    await reserve('b', tokens(60), { from: 'a' });

    await store.settle('a', [15]);

    expect(await used(tokens(0))).toBe(75);
  }),
  test('leaves alone the counters that only one of both is about', async ({ reserve, store }) => {
    const [model, mini] = [tokens(60, { counter: 'model|big' }), tokens(60, { counter: 'model|small' })];
    await reserve('a', [model, tokens(60)]);

    await reserve('b', [mini, tokens(60)], { from: 'a' });

    expect(await store.peek([model, mini, tokens(0)])).toEqual([60, 60, 60]);
    await store.settle('a', [0, 0]);
    expect(await store.peek([model, mini, tokens(0)])).toEqual([0, 60, 60]);
  }),
  test('never counts twice along a chain of draws', async ({ reserve, store, advance, used }) => {
    await reserve('0', [tokens(60), running()]);

    for (let n = 1; n <= 20; n++) {
      await advance(7_000);
      const answer = await reserve(`${n}`, [tokens(60 + n), running()], { from: `${n - 1}` });
      expect(answer).toMatchObject({ kind: 'held', used: [60 + n, 1] });
      await store.settle(`${n - 1}`, [0, 0]);
    }

    await store.settle('20', [5, 0]);
    expect([await used(tokens(0)), await used(running())]).toEqual([5, 0]);
  }),
  test('moves a running call with the lease of whoever drew it', async ({ reserve, store, advance, used }) => {
    await reserve('a', running(), { leaseMs: 5_000 });
    await reserve('b', running(), { from: 'a', leaseMs: 20_000 });

    await store.renew(['a'], 60_000);
    expect(await used(running())).toBe(1);
    await advance(19_999);
    expect((await reserve('c', running())).kind).toBe('full');
    await advance(1);
    expect((await reserve('d', running())).kind).toBe('held');
  }),
  test('draws some of the running calls of its source', async ({ reserve, store, used }) => {
    const both = { ...running(2), amount: 2 };
    await reserve('a', both);

    await reserve('b', running(2), { from: 'a' });
    expect(await used(both)).toBe(2);
    await store.settle('a', [0]);
    expect(await used(both)).toBe(1);
  }),
  test('draws no running call whose lease has ended', async ({ reserve, advance }) => {
    await reserve('a', running(), { leaseMs: 5_000 });
    await advance(5_000);
    await reserve('other', running());

    expect((await reserve('b', running(), { from: 'a' })).kind).toBe('full');
  }),
  test('draws nothing from an unknown or settled id', async ({ reserve, store }) => {
    await reserve('a', tokens(80));
    await store.settle('a', [80]);

    expect((await reserve('b', tokens(80), { from: 'a' })).kind).toBe('full');
    expect((await reserve('c', tokens(80), { from: 'nobody' })).kind).toBe('full');
  }),
];

const IDEMPOTENCE = [
  test('holds nothing more when a live reservation is sent again', async ({ reserve, used }) => {
    const items = [tokens(60), calendar(60, 'day'), running()];
    await reserve('a', items);

    const again = await reserve('a', items);

    expect(again).toMatchObject({ kind: 'held', used: [60, 60, 1] });
    expect(await used(tokens(0))).toBe(60);
  }),
  test('moves nothing more when a draw is sent again', async ({ reserve, store, used }) => {
    await reserve('a', tokens(80));
    await reserve('b', tokens(30), { from: 'a' });

    await reserve('b', tokens(30), { from: 'a' });

    await store.settle('a', [50]);
    expect(await used(tokens(0))).toBe(80);
  }),
  test('holds nothing when a settled reservation is sent again', async ({ reserve, store, advance, used }) => {
    await reserve('a', tokens(60));
    await store.settle('a', [20]);
    await advance(59_000);

    const again = await reserve('a', tokens(60));

    expect(again).toMatchObject({ kind: 'held', used: [20] });
    expect(await used(tokens(0))).toBe(20);
  }),
  test('acts on the first settlement only', async ({ reserve, store, used }) => {
    await reserve('a', tokens(60));

    await store.settle('a', [20]);
    await store.settle('a', [0]);
    await store.settle('a', [90]);

    expect(await used(tokens(0))).toBe(20);
  }),
  test('holds nothing when the settlement came before the reservation', async ({ reserve, store, used }) => {
    await store.settle('a', [0, 0]);

    const late = await reserve('a', [tokens(60), running()]);

    expect(late).toMatchObject({ kind: 'held', used: [0, 0] });
    expect([await used(tokens(0)), await used(running())]).toEqual([0, 0]);
  }),
  test('holds once what is sent many times in parallel', async ({ reserve, store, used }) => {
    await Promise.all(Array.from({ length: 20 }, () => reserve('a', [tokens(40), running()])));
    expect([await used(tokens(0)), await used(running())]).toEqual([40, 1]);

    await Promise.all(Array.from({ length: 20 }, () => store.settle('a', [10, 0])));
    expect([await used(tokens(0)), await used(running())]).toEqual([10, 0]);
  }),
  test('may hold an id that was refused before', async ({ reserve, store }) => {
    await reserve('a', tokens(100));
    await reserve('b', tokens(50));
    await store.settle('a', [10]);

    expect(await reserve('b', tokens(50))).toMatchObject({ kind: 'held', used: [60] });
  }),
];

const LEASES = [
  test('frees a running call when its lease has ended, and not before', async ({ reserve, advance }) => {
    await reserve('a', running(), { leaseMs: 30_000 });

    await advance(29_999);
    expect((await reserve('b', running())).kind).toBe('full');
    await advance(1);
    expect(await reserve('c', running())).toMatchObject({ kind: 'held', used: [1] });
  }),
  test('ends each lease at its own time', async ({ reserve, advance, used }) => {
    for (const seconds of [30, 10, 50, 20, 40]) await reserve(`${seconds}`, running(5), { leaseMs: seconds * 1_000 });

    const seen: number[] = [];
    for (let n = 0; n < 5; n++) {
      await advance(10_000);
      seen.push(await used(running()));
    }

    expect(seen).toEqual([4, 3, 2, 1, 0]);
  }),
  test('keeps the tokens of a reservation whose lease has ended, and still settles it', async (world) => {
    const { reserve, advance, store, used } = world;
    await reserve('a', [tokens(60), running()], { leaseMs: 10_000 });

    await advance(20_000);
    expect([await used(tokens(0)), await used(running())]).toEqual([60, 0]);
    await store.settle('a', [25, 0]);
    expect([await used(tokens(0)), await used(running())]).toEqual([25, 0]);
  }),
  test('prolongs leases from the time of the renewal', async ({ reserve, advance, store, used }) => {
    await reserve('a', running(2), { leaseMs: 30_000 });
    await reserve('b', running(2), { leaseMs: 30_000 });
    await advance(20_000);

    await store.renew(['a', 'b'], 30_000);

    await advance(29_999);
    expect(await used(running())).toBe(2);
    await advance(1);
    expect(await used(running())).toBe(0);
  }),
  test('takes a running call up again when it is renewed late, over the limit if need be', async (world) => {
    const { reserve, advance, store, used } = world;
    await reserve('a', running(), { leaseMs: 10_000 });
    await advance(15_000);
    await reserve('b', running());

    await store.renew(['a'], 10_000);

    expect(await used(running())).toBe(2);
    await store.settle('a', [0]);
    expect(await used(running())).toBe(1);
    expect((await reserve('c', running())).kind).toBe('full');
  }),
  test('passes over unknown and settled ids when renewing', async ({ reserve, store, used }) => {
    await reserve('a', running());
    await store.settle('a', [0]);

    await store.renew(['a', 'nobody'], 30_000);

    expect(await used(running())).toBe(0);
  }),
  test('knows an id for as long as it is renewed', async ({ reserve, store, advance, used }) => {
    const items = [calendar(60, 'month'), running()];
    await reserve('a', items, { leaseMs: 10_000 });

    for (let n = 0; n < 12; n++) {
      await advance(HOUR_MS);
      await store.renew(['a'], 10_000);
    }

    expect(await used(running())).toBe(1);
    await store.settle('a', [20, 0]);
    expect(await store.peek(items)).toEqual([20, 0]);
  }),
  test('forgets an id long after its lease has ended, and keeps what it charged', async (world) => {
    const { reserve, advance, used, store } = world;
    const day = calendar(60, 'day');
    await reserve('minute', tokens(60), { leaseMs: 10_000 });
    await reserve('day', day, { leaseMs: 10_000 });

    await advance(10_000 + PASSED_MS);
    expect(await reserve('minute', tokens(20))).toMatchObject({ kind: 'held', used: [20] });
    expect(await reserve('day', day)).toMatchObject({ kind: 'held', used: [60] });
    await advance(HOUR_MS);
    await store.settle('day', [0]);
    expect(await used(day)).toBe(60);
  }),
];

const PACE = [
  test('spreads a repeated burst over its window', async (world) => {
    const charges: { atMs: number; amount: number }[] = [];
    let id = 0;

    while (world.nowMs() < START_MS + 10 * MINUTE_MS) {
      const answer = await world.reserve(`paced-${id++}`, tokens(10, { paced: true }));
      if (answer.kind === 'held') charges.push({ atMs: world.nowMs(), amount: 10 });
      else await world.advance(Math.max(...waitsOf(answer)));
    }

    const gaps = charges.slice(1).map(({ atMs }, n) => atMs - (charges[n]?.atMs as number));
    const paceMs = (10 * MINUTE_MS) / (0.95 * 100);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(Math.floor(paceMs));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(Math.ceil(paceMs) + SECOND_MS);
    expect(charges.length).toBeGreaterThanOrEqual(93);
  }),
  test('waits exactly for the pace', async (world) => {
    await world.reserve('a', tokens(10, { paced: true }));

    const waitMs = await expectExactWait(world, 'b', tokens(1, { paced: true }));

    expect(waitMs).toBe(Math.ceil((10 * MINUTE_MS) / (0.95 * 100)));
  }),
  test('waits for the longer of pace and window', async (world) => {
    await world.reserve('a', tokens(50));
    await world.advance(30_000);
    await world.reserve('b', tokens(50, { paced: true }));

    expect(waitsOf(await world.reserve('c', tokens(50, { paced: true })))).toEqual([Math.ceil(50 * (MINUTE_MS / 95))]);
    expectMinute(await expectExactWait(world, 'd', tokens(51, { paced: true })));
  }),
  test('neither holds up nor is moved by what is not paced', async ({ reserve }) => {
    await reserve('a', tokens(10, { paced: true }));

    expect((await reserve('b', tokens(50))).kind).toBe('held');
    const waits = waitsOf(await reserve('c', tokens(10, { paced: true })));

    expect(waits).toEqual([Math.ceil((10 * MINUTE_MS) / (0.95 * 100))]);
  }),
  test('is not moved by a refusal', async ({ reserve }) => {
    await reserve('a', tokens(10, { paced: true }));

    const first = waitsOf(await reserve('b', tokens(10, { paced: true })));
    const second = waitsOf(await reserve('c', tokens(10, { paced: true })));

    expect(second).toEqual(first);
  }),
  test('gets back what a refund does not need', async ({ reserve, store }) => {
    await reserve('a', tokens(40, { paced: true }));
    await store.settle('a', [10]);

    const waits = waitsOf(await reserve('b', tokens(10, { paced: true })));

    expect(waits).toEqual([Math.ceil((10 * MINUTE_MS) / (0.95 * 100))]);
  }),
  test('gets nothing back from a refund whose window has passed', async ({ reserve, store, advance }) => {
    await reserve('a', tokens(40, { paced: true }));
    await advance(PASSED_MS);
    await reserve('b', tokens(10, { paced: true }));

    await store.settle('a', [0]);

    const waits = waitsOf(await reserve('c', tokens(10, { paced: true })));
    expect(waits).toEqual([Math.ceil((10 * MINUTE_MS) / (0.95 * 100))]);
  }),
  test('lets a pure draw pass, and counts only the difference of another', async ({ reserve, advance, store }) => {
    const paceOf = (amount: number) => Math.ceil((amount * MINUTE_MS) / (0.95 * 100));
    await reserve('a', tokens(20, { paced: true }));

    expect((await reserve('b', tokens(20, { paced: true }), { from: 'a' })).kind).toBe('held');
    expect(waitsOf(await reserve('c', tokens(21, { paced: true }), { from: 'b' }))).toEqual([paceOf(20)]);
    await advance(paceOf(20));
    expect((await reserve('d', tokens(30, { paced: true }), { from: 'b' })).kind).toBe('held');
    expect(waitsOf(await reserve('e', tokens(1, { paced: true })))).toEqual([paceOf(10)]);
    await store.settle('d', [0]);
    expect((await reserve('f', tokens(1, { paced: true }))).kind).toBe('held');
  }),
  test('never waits longer than the window over 0.95', async ({ reserve }) => {
    await reserve('a', tokens(100, { limit: 10, refuseAt: 1_000, paced: true }));

    const waits = waitsOf(await reserve('b', tokens(1, { limit: 10, refuseAt: 1_000, paced: true })));

    expect(waits).toEqual([Math.ceil(MINUTE_MS / 0.95)]);
  }),
];

const CALENDARS = [
  test(
    'begins a day at midnight in its time zone',
    async ({ reserve, advance, used }) => {
      const day = calendar(100, 'day', 'America/New_York');
      await reserve('a', day);

      await advance(HOUR_MS - 1);
      expect(await used(day)).toBe(100);
      await advance(1);
      expect(await used(day)).toBe(0);
    },
    Date.UTC(2026, 0, 15, 4),
  ),
  ...(
    [
      ['of 23 hours', [2026, 2, 8, 5], 23],
      ['of 25 hours', [2026, 10, 1, 4], 25],
      ['of 24 hours', [2026, 10, 2, 5], 24],
    ] as const
  ).map(([name, [year, month, day, hour], hours]) =>
    test(
      `waits exactly until the end of a day ${name}`,
      async (world) => {
        await world.reserve('a', calendar(60, 'day', 'America/New_York'));

        const waitMs = await expectExactWait(world, 'b', calendar(60, 'day', 'America/New_York'));

        expect(waitMs).toBe(hours * HOUR_MS);
      },
      Date.UTC(year, month, day, hour),
    ),
  ),
  ...(
    [
      ['of 28 days', [2026, 1], 28],
      ['of 29 days', [2028, 1], 29],
      ['of 31 days', [2026, 11], 31],
    ] as const
  ).map(([name, [year, month], days]) =>
    test(
      `waits exactly until the end of a month ${name}`,
      async (world) => {
        await world.reserve('a', calendar(60, 'month'));

        const waitMs = await expectExactWait(world, 'b', calendar(60, 'month'));

        expect(waitMs).toBe(days * DAY_MS);
      },
      Date.UTC(year, month, 1),
    ),
  ),
  test('settles in the day of the reservation after midnight', async ({ reserve, store, advance, used }) => {
    const day = calendar(50, 'day');
    await reserve('less', day, { leaseMs: 3 * DAY_MS });
    await reserve('more', day, { leaseMs: 3 * DAY_MS });
    await advance(DAY_MS);
    await reserve('today', calendar(30, 'day'));

    await store.settle('less', [0]);
    await store.settle('more', [500]);

    expect(await used(day)).toBe(30);
  }),
  test('drops a refund of the day before yesterday, and charges its overdraft today', async ({
    reserve,
    store,
    advance,
    used,
  }) => {
    const day = calendar(50, 'day');
    const how = { leaseMs: 3 * DAY_MS };
    await reserve('less', day, how);
    await reserve('more', day, how);
    await advance(2 * DAY_MS);
    await reserve('today', calendar(30, 'day'));

    await store.settle('less', [0]);
    expect(await used(day)).toBe(30);
    await store.settle('more', [60]);
    expect(await used(day)).toBe(40);
  }),
  test('draws nothing from the day before', async ({ reserve, advance, store, used }) => {
    const day = calendar(60, 'day');
    await reserve('a', day, { leaseMs: 3 * DAY_MS });
    await advance(DAY_MS);
    await reserve('other', calendar(50, 'day'));

    expect((await reserve('b', day, { from: 'a' })).kind).toBe('full');
    expect(await reserve('c', calendar(50, 'day'), { from: 'a' })).toMatchObject({ kind: 'held', used: [100] });
    await store.settle('a', [0]);
    expect(await used(day)).toBe(100);
  }),
];

const PEEKING = [
  test('tells what counters hold in the order asked for, and charges nothing', async ({ reserve, store }) => {
    const items = [running(), tokens(40), calendar(40, 'month'), tokens(1, { counter: 'never charged' })];
    await reserve('a', [tokens(40), running(), calendar(40, 'month')]);

    for (let n = 0; n < 5; n++) expect(await store.peek(items)).toEqual([1, 40, 40, 0]);

    expect(await reserve('b', tokens(60))).toMatchObject({ kind: 'held', used: [100] });
  }),
  test('closes as often as it is told to', async ({ store }) => {
    await store.close();

    await expect(store.close()).resolves.toBeUndefined();
  }),
];

const PARTS = [
  { name: 'reserving', cases: RESERVING },
  { name: 'sliding windows', cases: WINDOWS },
  { name: 'settling', cases: SETTLING },
  { name: 'draws', cases: DRAWS },
  { name: 'what is sent twice', cases: IDEMPOTENCE },
  { name: 'leases', cases: LEASES },
  { name: 'the pace', cases: PACE },
  { name: 'calendar windows', cases: CALENDARS },
  { name: 'peeking and closing', cases: PEEKING },
] as const;

const CASES: readonly Case[] = PARTS.flatMap(({ cases }): readonly Case[] => cases);
