// Decisions per second and bytes per key of the memory store, beside nine counters asked one by one. Run: node --expose-gc --import tsx bench/memory-store.ts
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { type MemoryStore, memoryStore } from '../src/stores/memory.js';
import type { Item, Window } from '../src/stores/store.js';

const MINUTE: Window = { kind: 'sliding', ms: 60_000 };
const DAY: Window = { kind: 'calendar', unit: 'day', timeZone: 'UTC' };
const CONCURRENT: Window = { kind: 'concurrent' };
const ORGANIZATIONS = 100;
const RUNS = 300_000;
const KEYS = 200_000;
const HOW = { leaseMs: 30_000 };

await nineCounters('100 users', 100);
await nineCounters('10,000 users', 10_000);
await decisions('100 users', 100, Number.MAX_SAFE_INTEGER);
await decisions('10,000 users', 10_000, Number.MAX_SAFE_INTEGER);
await decisions('100 users, all refused', 100, 1);
await bytes('sliding window', MINUTE);
await bytes('calendar window', DAY);
await bytes('running call, with its reservation', CONCURRENT);

/** 3 scopes x (requests, tokens, concurrency), one caller, reserved and settled. */
async function decisions(name: string, users: number, refuseAt: number): Promise<void> {
  const store = memoryStore();
  const model = itemsOf('model|gpt-4o', refuseAt);
  const organizations = Array.from({ length: ORGANIZATIONS }, (_, key) => itemsOf(`organization|${key}`, refuseAt));
  const callers = Array.from({ length: users }, (_, key) => [
    ...model,
    ...(organizations[key % ORGANIZATIONS] as Item[]),
    ...itemsOf(`user|${key}`, refuseAt),
  ]);
  const amounts = [1, 1_000, 0, 1, 1_000, 0, 1, 1_000, 0];
  let best = 0;
  for (let round = 0; round < 5; round++) {
    const startedAt = performance.now();
    for (let run = 0; run < RUNS; run++) {
      const id = `${round}-${run}`;
      const answer = await store.reserve(id, callers[run % users] as Item[], HOW);
      if (answer.kind === 'held') await store.settle(id, amounts);
    }
    best = Math.max(best, RUNS / ((performance.now() - startedAt) / 1_000));
  }
  print(
    `9 items reserved and settled, ${name}`,
    `${Math.round(best).toLocaleString('en-US')} /s`,
    `${(1e6 / best).toFixed(2)} us each`,
  );
}

/** The same questions to nine counters of rate-limiter-flexible, with what is running given back: they know no reservation. */
async function nineCounters(name: string, users: number): Promise<void> {
  const counters = Array.from({ length: 9 }, () => new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: 60 }));
  const keys = Array.from({ length: users }, (_, key) => [`model|gpt-4o`, `organization|${key % ORGANIZATIONS}`, `user|${key}`]);
  const points = [1, 1_200, 1];
  let best = 0;
  for (let round = 0; round < 5; round++) {
    const startedAt = performance.now();
    for (let run = 0; run < RUNS / 3; run++) {
      const scopes = keys[run % users] as string[];
      await Promise.all(counters.map((counter, at) => counter.consume(scopes[Math.floor(at / 3)] as string, points[at % 3])));
      await Promise.all([2, 5, 8].map((at) => counters[at]?.reward(scopes[Math.floor(at / 3)] as string, 1)));
    }
    best = Math.max(best, RUNS / 3 / ((performance.now() - startedAt) / 1_000));
  }
  print(
    `rate-limiter-flexible, 9 counters, ${name}`,
    `${Math.round(best).toLocaleString('en-US')} /s`,
    `${(1e6 / best).toFixed(2)} us each`,
  );
}

function itemsOf(prefix: string, refuseAt: number): Item[] {
  const common = { limit: 1_000_000, refuseAt };
  return [
    { ...common, counter: `${prefix}|requests|60000`, window: MINUTE, amount: 1 },
    { ...common, counter: `${prefix}|tokens|60000`, window: MINUTE, amount: 1_200 },
    { ...common, counter: `${prefix}|concurrent`, window: CONCURRENT, amount: 1 },
  ];
}

/** What a key with one charge takes: counter, name and entry. Remembered ids are bounded, and no part of it. */
async function bytes(name: string, window: Window): Promise<void> {
  if (!globalThis.gc) return print(`bytes per key, ${name}`, 'unknown', 'needs --expose-gc');
  const isRunning = window.kind === 'concurrent';
  const charged = await heapOf(async (store, key) => {
    const item: Item = { counter: `user|customer-${key}|tokens|60000`, window, amount: 1_200, limit: 1e6, refuseAt: 1e6 };
    await store.reserve(`${key}`, [item], HOW);
    if (!isRunning) await store.settle(`${key}`, [1_100]);
  });
  const remembered = isRunning ? 0 : await heapOf((store, key) => store.settle(`${key}`, []));
  print(`bytes per key, ${name}`, ((charged - remembered) / KEYS).toFixed(0), `${KEYS.toLocaleString('en-US')} keys`);
}

async function heapOf(fill: (store: MemoryStore, key: number) => Promise<void>): Promise<number> {
  const store = memoryStore();
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  for (let key = 0; key < KEYS; key++) await fill(store, key);
  globalThis.gc?.();
  const after = process.memoryUsage().heapUsed;
  await store.close();
  return after - before;
}

function print(what: string, figure: string, more: string): void {
  console.log(`${what.padEnd(58)} ${figure.padStart(16)}   ${more}`);
}
