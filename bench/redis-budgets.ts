// What the benches of Redis count: requests and tokens per minute in three scopes.
import type { Redis } from 'ioredis';
import { createRedisStore } from '../src/stores/redis/redis-store.js';
import type { Item, Window } from '../src/stores/store.js';
import { createVirtualClock } from '../test/support/virtual-clock.js';

export const MINUTE: Window = { kind: 'sliding', ms: 60_000 };
export const DAY: Window = { kind: 'calendar', unit: 'day', timeZone: 'UTC' };
export const HOW = { leaseMs: 30_000 };
/** Never full. */
export const WIDE = 1e12;
export const HELD = 1_200;
export const USED = 1_100;
export const USERS = 500;
const ORGANIZATIONS = 50;

export function itemOf(counter: string, window: Window, amount: number, limit = WIDE): Item {
  return { counter, window, amount, limit, refuseAt: limit };
}

/** Requests and tokens per minute of one scope. */
export function scopeItems(scope: string, limit = WIDE): Item[] {
  return [itemOf(`${scope}|requests|60000`, MINUTE, 1, limit), itemOf(`${scope}|tokens|60000`, MINUTE, HELD, limit)];
}

/** All that a call of a user falls under: six counters. */
export function callItems(user: number, limit = WIDE): Item[] {
  return ['model|gpt-4o', `organization|${user % ORGANIZATIONS}`, `user|${user}`].flatMap((scope) => scopeItems(scope, limit));
}

/** What six counters come to. */
export const AMOUNTS: readonly number[] = [1, USED, 1, USED, 1, USED];

/** As after a busy minute: something in each slot of each ring. */
export async function fillRings(client: Redis, callers: readonly (readonly Item[])[]): Promise<void> {
  const clock = createVirtualClock(Date.now() - 60_000);
  const filling = createRedisStore({
    client,
    readClient: client,
    prefix: 'spillway',
    timeoutMs: 10_000,
    expectedInstances: 1,
    maxKeys: 1_000,
    clock,
    serverNow: () => clock.now(),
  });
  for (let slot = 0; slot < 60; slot++) {
    await Promise.all(callers.map((items, caller) => filling.reserve(`fill-${clock.now()}-${caller}`, items, HOW)));
    clock.set(clock.now() + 1_000);
  }
  await filling.close();
}
