import { describe, expect, it, vi } from 'vitest';
import { type MemoryStoreOptions, memoryStore } from '../../src/stores/memory.js';
import type { Item, StoreNotice, Window } from '../../src/stores/store.js';
import { storeConformance } from '../conformance/store.js';
import { createVirtualClock } from '../support/virtual-clock.js';

const MINUTE_MS = 60_000;
const PASSED_MS = 61_000;
const HOUR_MS = 3_600_000;
const HOW = { leaseMs: 30_000 };
const MINUTE: Window = { kind: 'sliding', ms: MINUTE_MS };
const DAY: Window = { kind: 'calendar', unit: 'day', timeZone: 'UTC' };
const CONCURRENT: Window = { kind: 'concurrent' };

storeConformance('memoryStore', {
  create(nowMs) {
    const clock = createVirtualClock(nowMs);
    return { store: memoryStore({ clock }), advance: (ms) => clock.set(clock.now() + ms) };
  },
});

function setUp(options: Omit<MemoryStoreOptions, 'clock'> = {}) {
  const clock = createVirtualClock();
  const store = memoryStore({ clock, ...options });
  const notices: StoreNotice[] = [];
  store.onNotice((notice) => void notices.push(notice));
  let id = 0;
  return {
    clock,
    store,
    notices,
    advance: (ms: number) => clock.set(clock.now() + ms),
    used: async (item: Item) => (await store.peek([item]))[0],
    /** Reserves and settles at the same amounts. */
    async charge(...items: Item[]) {
      const answer = await store.reserve(`charge-${id}`, items, HOW);
      if (answer.kind === 'held')
        await store.settle(
          `charge-${id}`,
          items.map(({ amount }) => amount),
        );
      id++;
      return answer;
    },
  };
}

function item(counter: string, amount: number, limit = 100, window: Window = MINUTE): Item {
  return { counter, window, amount, limit, refuseAt: limit };
}

describe('the suite of every store', () => {
  const create = () => ({ store: memoryStore(), advance: () => {} });

  it('takes no exception for a test that it does not have', () => {
    const skip = [{ test: 'does what nobody asked for', reason: 'time belongs to the server' }];

    expect(() => storeConformance('any', { create, skip })).toThrow(
      'skip names no test of the suite: "does what nobody asked for"',
    );
  });

  it('takes no exception without a reason', () => {
    const skip = [{ test: 'closes as often as it is told to', reason: ' ' }];

    expect(() => storeConformance('any', { create, skip })).toThrow(
      'skip gives no reason for "closes as often as it is told to"',
    );
  });
});

describe('memoryStore with more keys than it may have', () => {
  it('lets new keys share one counter for each window and limit', async () => {
    const { charge } = setUp({ maxKeys: 2 });
    await charge(item('first', 90), item('second', 1));

    expect(await charge(item('third', 60))).toMatchObject({ kind: 'held', used: [60] });
    expect(await charge(item('fourth', 60))).toMatchObject({ kind: 'full', full: [{ index: 0, waitMs: PASSED_MS }], used: [60] });
    expect(await charge(item('fifth', 40))).toMatchObject({ kind: 'held', used: [100] });
    expect(await charge(item('sixth', 400, 1_000))).toMatchObject({ kind: 'held', used: [400] });
    expect(await charge(item('seventh', 70, 100, DAY))).toMatchObject({ kind: 'held', used: [70] });
    expect(await charge(item('first', 10))).toMatchObject({ kind: 'held', used: [100] });
  });

  it('stays at a million keys, of which none over its limit is forgiven', async () => {
    const { store, charge, used } = setUp();
    await charge(item('tokens|0', 100));

    for (let key = 1; key < 1_001_000; key++) await charge(item(`tokens|${key}`, 1));

    expect(store.size).toBe(1_000_000);
    expect(await used(item('tokens|0', 0))).toBe(100);
    expect(await charge(item('tokens|0', 1))).toMatchObject({ kind: 'full', used: [100] });
    expect(await charge(item('tokens|1000999', 1))).toMatchObject({ kind: 'full', used: [100] });
    expect(store.settled).toBeLessThanOrEqual(200_000);
  });

  it('tells so once a minute while it lasts', async () => {
    const { charge, notices, advance } = setUp({ maxKeys: 1 });
    await charge(item('first', 1));
    expect(notices).toEqual([]);

    for (let second = 0; second < 150; second++) {
      await charge(item(`new-${second}`, 1));
      await charge(item('first', 1));
      advance(1_000);
    }

    expect(notices.map(({ code }) => code)).toEqual(['overflow', 'overflow', 'overflow']);
    expect(notices[0]?.message).toContain('maxKeys');
  });

  it('holds all items although the listener throws', async () => {
    const { store, charge } = setUp({ maxKeys: 1 });
    store.onNotice(() => {
      throw new Error('of the application');
    });
    await charge(item('first', 1));

    expect(await charge(item('second', 30), item('third', 30, 200))).toMatchObject({ kind: 'held', used: [30, 30] });
  });

  it('adds up the items of one reservation that share a counter', async () => {
    const { charge } = setUp({ maxKeys: 1 });
    await charge(item('first', 1));

    expect(await charge(item('second', 60), item('third', 60))).toMatchObject({
      kind: 'full',
      full: [{ index: 1 }],
      used: [0, 0],
    });
    expect(await charge(item('second', 50), item('third', 50))).toMatchObject({ kind: 'held', used: [100, 100] });
  });

  it('draws, refunds and charges overdrafts in the shared counter', async () => {
    const { store, charge } = setUp({ maxKeys: 1 });
    await charge(item('first', 1));
    await store.reserve('a', [item('second', 60)], HOW);

    await store.reserve('b', [item('second', 50)], { ...HOW, from: 'a' });
    await store.settle('a', [20]);
    await store.settle('b', [45]);

    expect(await charge(item('third', 1))).toMatchObject({ used: [66] });
  });

  it('draws nothing from another key that shares the counter', async () => {
    const { store, charge } = setUp({ maxKeys: 1 });
    await charge(item('first', 1));
    await store.reserve('a', [item('second', 60)], HOW);

    const answer = await store.reserve('b', [item('third', 60)], { ...HOW, from: 'a' });

    expect(answer).toMatchObject({ kind: 'full', used: [60] });
  });

  it('does not forgive a key what it charged there when there is room again', async () => {
    const { store, charge, advance } = setUp({ maxKeys: 4 });
    const [calls, days] = [item('calls', 1, 1, CONCURRENT), item('days', 80, 100, DAY)];
    for (let key = 0; key < 4; key++) await charge(item(`before-${key}`, 1, 100, { kind: 'sliding', ms: 1_000 }));
    await charge(item('tokens', 80), days);
    await store.reserve('runs', [calls], { leaseMs: HOUR_MS });
    advance(10_000);
    for (let n = 0; n < 20; n++) await charge(item('before-0', 0, 100, { kind: 'sliding', ms: 1_000 }));
    expect(store.size).toBeLessThanOrEqual(1);

    const answer = await store.reserve('again', [item('tokens', 30), { ...days, amount: 30 }, calls], HOW);

    expect(answer).toMatchObject({ kind: 'full', full: [{ index: 0 }, { index: 1 }, { index: 2 }] });
    expect(await charge(item('tokens', 20))).toMatchObject({ kind: 'held', used: [100] });
    expect(await charge(item('tokens', 1))).toMatchObject({ kind: 'full', used: [100] });
    expect(await charge({ ...days, amount: 20 })).toMatchObject({ kind: 'held', used: [100] });
    expect(await charge({ ...days, amount: 1 })).toMatchObject({ kind: 'full', used: [100] });
    expect(await charge({ ...calls, amount: 0 })).toMatchObject({ kind: 'held', used: [1] });
    expect(await charge(calls)).toMatchObject({ kind: 'full', used: [1] });
  });

  it('gives keys their own counters again when idle ones have left', async () => {
    const { store, charge, advance } = setUp({ maxKeys: 10 });
    for (let key = 0; key < 20; key++) await charge(item(`old-${key}`, 10));
    expect(store.size).toBe(10);
    advance(PASSED_MS);

    for (let key = 0; key < 5; key++) expect(await charge(item(`new-${key}`, 100))).toMatchObject({ kind: 'held', used: [100] });

    expect(store.size).toBeLessThanOrEqual(10);
  });

  it.each([0, -1, 1.5, Number.NaN, Infinity, 10_000_001])('refuses to be built for %s keys', (maxKeys) => {
    expect(() => memoryStore({ maxKeys })).toThrow(/maxKeys must be a whole number from 1 to 10,000,000/);
  });
});

describe('memoryStore over time', () => {
  it('lets idle keys of every kind of window leave, again and again, and keeps those that hold something', async () => {
    const { store, charge, advance, used } = setUp();
    await store.reserve('runs', [item('running', 1, 100, CONCURRENT)], { leaseMs: 100 * HOUR_MS });

    for (let round = 0; round < 3; round++) {
      for (let key = 0; key < 300; key++) {
        await charge(item(`minute-${key}`, 1), item(`day-${key}`, 1, 100, DAY), item(`calls-${key}`, 1, 100, CONCURRENT));
        await charge(item(`odd-${key}`, 1, 100, { kind: 'sliding', ms: 1_000 + key }));
      }
      expect(store.size).toBeGreaterThan(900);
      advance(25 * HOUR_MS);
      await charge(item('today', 1, 100, DAY), item('this minute', 1));
      for (let n = 0; n < 2_500; n++) await charge(item('busy', 0));
      expect(store.size).toBeLessThanOrEqual(4);
    }

    expect(await used(item('today', 0, 100, DAY))).toBe(1);
    expect(await used(item('this minute', 0))).toBe(1);
    expect(await used(item('running', 0, 100, CONCURRENT))).toBe(1);
  });

  it('makes no keys of refusals and looks', async () => {
    const { store, charge } = setUp();

    for (let key = 0; key < 100; key++) {
      await charge(item(`user-${key}`, 1), item('global', 101));
      await store.peek([item(`user-${key}`, 1), item(`calls-${key}`, 1, 1, CONCURRENT)]);
    }

    expect(store.size).toBe(0);
  });

  it('charges an overdraft although its key has left meanwhile', async () => {
    const { store, charge, advance, used } = setUp();
    await store.reserve('late', [item('user', 10)], { leaseMs: HOUR_MS });
    advance(PASSED_MS);
    for (let n = 0; n < 50; n++) await charge(item('busy', 0));
    expect(store.size).toBeLessThanOrEqual(1);

    await store.settle('late', [70]);

    expect(await used(item('user', 0))).toBe(60);
  });

  it('takes up a running call although its key has left meanwhile', async () => {
    const { store, charge, advance, used } = setUp();
    const calls = item('calls', 1, 1, CONCURRENT);
    await store.reserve('slow', [calls], { leaseMs: 1_000 });
    advance(1_500);
    for (let n = 0; n < 50; n++) await charge(item('busy', 0));

    await store.renew(['slow'], 1_000);

    expect(await used(calls)).toBe(1);
    await store.settle('slow', [0]);
    expect(await used(calls)).toBe(0);
  });

  it('starts no timer, whatever it does', async () => {
    const spies = [vi.spyOn(globalThis, 'setTimeout'), vi.spyOn(globalThis, 'setInterval'), vi.spyOn(globalThis, 'setImmediate')];
    const { store, clock, charge, advance } = setUp({ maxKeys: 5 });

    for (let key = 0; key < 10; key++) {
      await charge(item(`user-${key}`, 1), item(`calls-${key}`, 1, 1, CONCURRENT));
      await store.reserve(`left-${key}`, [{ ...item('paced', 1), paced: true }], HOW);
      await store.renew([`left-${key}`], 1_000);
      advance(40_000);
    }
    await store.close();

    expect(clock.timers).toBe(0);
    for (const spy of spies) expect(spy).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });

  it('remembers no more than two generations of settled ids', async () => {
    const { store, advance } = setUp();

    for (let id = 0; id < 450_000; id++) await store.settle(`${id}`, []);
    expect(store.settled).toBe(150_000);
    advance(60_000);
    await store.settle('later', []);
    expect(store.settled).toBe(50_001);
    advance(120_000);
    await store.settle('last', []);

    expect(store.settled).toBe(1);
  });

  it('forgets reservations that nobody settles', async () => {
    const { store, charge, advance } = setUp();
    for (let id = 0; id < 100; id++) await store.reserve(`lost-${id}`, [item('user', 1)], HOW);
    await store.reserve('lost for longer', [item('user', 0, 100, DAY)], HOW);
    expect(store.unsettled).toBe(101);

    advance(HOW.leaseMs + PASSED_MS);
    for (let n = 0; n < 200; n++) await charge(item('busy', 0));
    expect(store.unsettled).toBe(1);
    advance(HOUR_MS);
    for (let n = 0; n < 5; n++) await charge(item('busy', 0));

    expect(store.unsettled).toBe(0);
  });
});

describe('memoryStore with a clock that is set', () => {
  it('keeps counting where it was when the clock goes back a little', async () => {
    const { charge, advance } = setUp();
    await charge(item('user', 60));
    advance(-90_000);

    expect(await charge(item('user', 50))).toMatchObject({ kind: 'full', full: [{ waitMs: 151_000 }] });
    expect(await charge(item('user', 40))).toMatchObject({ kind: 'held', used: [100] });
    advance(150_999);
    expect(await charge(item('user', 1))).toMatchObject({ kind: 'full' });
    advance(1);
    expect(await charge(item('user', 100))).toMatchObject({ kind: 'held', used: [100] });
  });

  it('is not wedged when the clock was far ahead, and forgives nothing', async () => {
    const { store, charge, advance, used } = setUp();
    advance(30 * 24 * HOUR_MS);
    await charge(item('user', 50));
    await store.reserve('then', [{ ...item('user', 40), paced: true }], HOW);
    advance(-30 * 24 * HOUR_MS);

    expect(await charge(item('user', 20))).toMatchObject({ kind: 'full', full: [{ waitMs: PASSED_MS }], used: [90] });
    expect(await charge({ ...item('user', 10), paced: true })).toMatchObject({ kind: 'held', used: [100] });
    await store.settle('then', [0]);
    expect(await used(item('user', 0))).toBe(100);
    advance(PASSED_MS);
    expect(await charge(item('user', 100))).toMatchObject({ kind: 'held', used: [100] });
  });

  it('refunds nothing that was charged before it started again, even when that time comes', async () => {
    const { store, charge, advance, used } = setUp();
    advance(130_000);
    await store.reserve('then', [item('user', 40)], { leaseMs: HOUR_MS });
    advance(-130_000);
    await charge(item('user', 10));
    advance(130_000);
    await charge(item('user', 60));

    await store.settle('then', [0]);

    expect(await used(item('user', 0))).toBe(60);
  });

  it('counts in the day that the clock says, there and back', async () => {
    const { charge, advance, used } = setUp();
    const day = item('user', 60, 100, DAY);
    await charge(day);
    advance(40 * 24 * HOUR_MS);
    await charge({ ...day, amount: 90 });
    advance(-40 * 24 * HOUR_MS);

    expect(await used(day)).toBe(60);
    expect(await charge(day)).toMatchObject({ kind: 'full', full: [{ waitMs: 24 * HOUR_MS }] });
    expect(await charge({ ...day, amount: 40 })).toMatchObject({ kind: 'held', used: [100] });
  });

  it('waits for the end of the day after when the clock had filled tomorrow already', async () => {
    const { store, charge, advance } = setUp();
    const day = item('user', 60, 100, DAY);
    await charge({ ...day, amount: 40 });
    await store.reserve('today', [{ ...day, amount: 50 }], { leaseMs: 48 * HOUR_MS });
    advance(24 * HOUR_MS);
    await charge(day);
    advance(-24 * HOUR_MS);

    expect(await charge(day)).toMatchObject({ kind: 'full', full: [{ waitMs: 48 * HOUR_MS }] });
    const drawn = await store.reserve('drawn', [{ ...day, amount: 70 }], { ...HOW, from: 'today' });
    expect(drawn).toMatchObject({ kind: 'full', full: [{ waitMs: 48 * HOUR_MS }] });
  });

  it('waits whole milliseconds although the clock gives fractions', async () => {
    const { charge, advance } = setUp();
    advance(0.7);
    await charge(item('user', 100));

    const answer = await charge(item('user', 1));

    expect(answer).toMatchObject({ kind: 'full', full: [{ waitMs: PASSED_MS }] });
    advance(PASSED_MS);
    expect(await charge(item('user', 1))).toMatchObject({ kind: 'held' });
  });
});

describe('memoryStore given nonsense', () => {
  it.each([Number.NaN, -5, Infinity, -Infinity])('counts an amount of %s as 0', async (amount) => {
    const { store, used } = setUp();
    await store.reserve('a', [item('user', amount)], HOW);
    expect(await used(item('user', 0))).toBe(0);

    await store.reserve('b', [item('user', 50)], HOW);
    await store.settle('b', [amount]);

    expect(await used(item('user', 0))).toBe(0);
  });

  it('rounds fractions up', async () => {
    const { charge } = setUp();

    expect(await charge(item('user', 99.01))).toMatchObject({ kind: 'held', used: [100] });
    expect(await charge(item('user', 0.01))).toMatchObject({ kind: 'full' });
  });

  it('keeps its pace when nothing is admitted under a limit of 0', async () => {
    const { charge } = setUp();
    await charge({ ...item('user', 0, 0), paced: true });

    expect(await charge({ ...item('user', 10), paced: true })).toMatchObject({ kind: 'held' });
    expect(await charge({ ...item('user', 10), paced: true })).toMatchObject({ kind: 'full', full: [{ waitMs: 6_316 }] });
  });

  it('takes what a settlement leaves out as 0, and passes over what it has too much', async () => {
    const { store } = setUp();
    const items = [item('user', 50), item('organization', 50)];
    await store.reserve('short', items, HOW);
    await store.reserve('long', items, HOW);

    await store.settle('short', [20]);
    await store.settle('long', [5, 6, 7, 8]);

    expect(await store.peek(items)).toEqual([25, 6]);
  });

  it('refuses what has no meaningful refuseAt, and holds nothing', async () => {
    const { charge } = setUp();

    expect(await charge({ ...item('user', 1), refuseAt: Number.NaN })).toMatchObject({
      kind: 'full',
      full: [{ waitMs: Infinity }],
    });
    expect(await charge({ ...item('user', 1), refuseAt: -1 })).toMatchObject({ kind: 'full', full: [{ waitMs: Infinity }] });
  });

  it('rejects for a time zone that does not exist, and holds nothing', async () => {
    const { store, used } = setUp();
    const nowhere = item('day', 1, 100, { kind: 'calendar', unit: 'day', timeZone: 'Nowhere/Land' });

    await expect(store.reserve('a', [item('user', 50), nowhere], HOW)).rejects.toThrow(RangeError);

    expect(await used(item('user', 0))).toBe(0);
  });
});
