import { Redis, type RedisOptions } from 'ioredis';
import { type Clock, systemClock } from '../../../src/clock.js';
import { createExact } from '../../../src/stores/redis/exact.js';
import { createRedisStore, type RedisStore } from '../../../src/stores/redis/redis-store.js';
import type { Item, OnStoreError } from '../../../src/stores/store.js';
import { ownPrefix } from '../../support/redis/shared.js';

/** The timers of stores under test run so much faster than those of others: outages need not be long. */
export const HASTE = 5;
/** How long stores under test wait for an answer, by the wall. */
export const TIMEOUT_MS = 100;
export const HOW = { leaseMs: 60_000 };

export const hasty: Clock = { ...systemClock, after: (ms, fn, keepAlive) => systemClock.after(ms / HASTE, fn, keepAlive) };

export interface Rig {
  readonly store: RedisStore;
  readonly client: Redis;
  /** Codes, in their order. */
  readonly notices: string[];
}

const open: (() => unknown)[] = [];

/** For `afterEach`: closes stores and clients. */
export async function closeRigs(): Promise<void> {
  for (const close of open.splice(0).reverse()) await close();
}

export function connect(port: number, options: RedisOptions = {}): Redis {
  const client = new Redis({ port, host: '127.0.0.1', retryStrategy: () => 20, ...options });
  client.on('error', () => {});
  open.push(() => client.disconnect());
  return client;
}

export type StoreParts = Partial<Parameters<typeof createRedisStore>[0]>;

/** A store over a client of its own. */
export function openStore(port: number, parts: StoreParts = {}): Rig {
  const client = (parts.client as Redis | undefined) ?? connect(port);
  const notices: string[] = [];
  const store = createRedisStore({
    prefix: ownPrefix(),
    timeoutMs: TIMEOUT_MS * HASTE,
    expectedInstances: 1,
    maxKeys: 10_000,
    clock: hasty,
    readClient: client,
    ...parts,
    client,
  });
  store.onNotice(({ code }) => notices.push(code));
  open.push(() => store.close());
  return { store, client, notices };
}

/** What Redis itself counts, asked over a connection of its own. */
export function countsIn(port: number, prefix: string) {
  const client = connect(port);
  const exact = createExact({ client, readClient: client, prefix, newEpoch: () => 1, now: Date.now });
  return async (...items: readonly Item[]) => [...(await exact.peek(items))];
}

export function tokens(amount: number, onStoreError?: OnStoreError, limit = 1_000): Item {
  const window = { kind: 'sliding', ms: 60_000 } as const;
  return { counter: 'tokens', window, amount, limit, refuseAt: limit, ...(onStoreError && { onStoreError }) };
}

export function running(limit = 10): Item {
  return { counter: 'running', window: { kind: 'concurrent' }, amount: 1, limit, refuseAt: limit };
}

export function money(amount: number, limit = 1_000): Item {
  const window = { kind: 'calendar', unit: 'day', timeZone: 'UTC' } as const;
  return { counter: 'money', window, amount, limit, refuseAt: limit, onStoreError: 'last-seen' };
}
