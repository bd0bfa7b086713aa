import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Reservation } from '../../src/call.js';
import { createKeeper, type Keeper } from '../../src/stores/reservation.js';
import type { Store } from '../../src/stores/store.js';
import { callOf, chargeOf } from '../support/builders.js';
import { createVirtualClock, settled, type VirtualClock } from '../support/virtual-clock.js';

const LEASE_MS = 30_000;
const STALL_MS = 2_000;

let clock: VirtualClock;
let store: { [name in 'reserve' | 'settle' | 'renew' | 'peek' | 'close']: ReturnType<typeof vi.fn<Store[name]>> };
let errors: unknown[];
let keeper: Keeper;

beforeEach(() => {
  clock = createVirtualClock();
  store = { reserve: vi.fn(), settle: vi.fn(async () => {}), renew: vi.fn(async () => {}), peek: vi.fn(), close: vi.fn() };
  errors = [];
  const onStoreError = (operation: string, error: unknown) => void errors.push([operation, error]);
  keeper = createKeeper({ store, clock, leaseMs: LEASE_MS, stallMs: STALL_MS, onStoreError });
});

const keep = (id: string): Reservation =>
  keeper.keep({ id, call: callOf(), charges: [chargeOf(), chargeOf()], used: [1, 2], rides: [] });

describe('a reservation', () => {
  it('is settled once, whatever comes after', async () => {
    const reservation = keep('a');

    await Promise.all([reservation.settle([5, 6]), reservation.settle([7, 8]), reservation.cancel()]);
    await reservation.settle([9, 9]);

    expect(store.settle.mock.calls).toEqual([['a', [5, 6]]]);
  });

  it('is cancelled by nothing of each charge', async () => {
    await keep('a').cancel();

    expect(store.settle.mock.calls).toEqual([['a', [0, 0]]]);
  });

  it('is live until it is settled, though the store fails then', async () => {
    const failure = new Error('connection refused');
    store.settle.mockRejectedValue(failure);
    const reservation = keep('a');
    expect(keeper.live).toBe(1);

    await reservation.settle([5, 6]);

    expect(keeper.live).toBe(0);
    expect(errors).toEqual([['settle', failure]]);
  });
});

describe('leases', () => {
  it('are prolonged thrice in their time, all together', async () => {
    keep('a');
    await clock.advance(4_000);
    const second = keep('b');

    await clock.advance(6_000);
    expect(store.renew.mock.calls).toEqual([[['a', 'b'], LEASE_MS]]);
    await second.settle([0, 0]);
    await clock.advance(10_000);

    expect(store.renew.mock.calls.slice(1)).toEqual([[['a'], LEASE_MS]]);
  });

  it('need no timer once nothing is live, and one again after that', async () => {
    await keep('a').settle([0, 0]);
    await clock.advance(LEASE_MS);
    expect(clock.timers).toBe(0);

    keep('b');
    await clock.advance(LEASE_MS / 3);

    expect(store.renew.mock.calls).toEqual([[['b'], LEASE_MS]]);
  });

  it('are not prolonged any more when the keeper is closed, but what runs can still be settled', async () => {
    const reservation = keep('a');
    keeper.close();
    keep('b');

    await clock.advance(LEASE_MS);
    await reservation.settle([5, 6]);

    expect(store.renew).not.toHaveBeenCalled();
    expect(store.settle).toHaveBeenCalledTimes(1);
    expect(clock.timers).toBe(0);
  });
});

describe('an id that the store gave no answer about', () => {
  it('is settled at nothing, and a failure of that is nobody’s concern', async () => {
    store.settle.mockRejectedValueOnce(new Error('still down')).mockImplementationOnce(() => {
      throw new Error('still down');
    });

    keeper.forget('a', 3);
    keeper.forget('b', 1);
    await settled();

    expect(store.settle.mock.calls).toEqual([
      ['a', [0, 0, 0]],
      ['b', [0]],
    ]);
    expect(errors).toEqual([]);
    expect(keeper.live).toBe(0);
  });
});

describe('watchers', () => {
  it('are asked four times in a stall, until they are taken off', async () => {
    const watcher = vi.fn();
    const off = keeper.watch(watcher);

    await clock.advance(STALL_MS);
    expect(watcher).toHaveBeenCalledTimes(4);
    off();
    await clock.advance(LEASE_MS);

    expect(watcher).toHaveBeenCalledTimes(4);
    expect(store.renew).not.toHaveBeenCalled();
    expect(clock.timers).toBe(0);
  });
});
