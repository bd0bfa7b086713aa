// One of the processes of bench/redis-soak.ts.
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { redisStore } from '../src/stores/redis/index.js';
import { callItems, DAY, HELD, HOW, itemOf, USERS } from './redis-budgets.js';

/** What it counted itself. */
export interface Told {
  readonly asked: number;
  readonly held: number;
  readonly tokens: number;
  readonly notices: number;
  readonly p99Ms: number;
}

const { url, perSecond, seconds, limit } = JSON.parse(process.argv[2] ?? '{}') as Record<string, number> & { url: string };
const count = (perSecond as number) * (seconds as number);
const client = new Redis(url);
const store = redisStore(client, { prefix: 'soak', timeoutMs: 10_000, expectedInstances: 4 });
let notices = 0;
store.onNotice(() => notices++);
await client.ping();

process.on('message', async () => {
  const told = { held: 0, tokens: 0 };
  const tookMs: number[] = [];
  const startedAt = performance.now();
  const running: Promise<void>[] = [];

  async function request(index: number): Promise<void> {
    const id = `${process.pid}-${index}`;
    const day = [itemOf('global|requests', DAY, 1, limit), itemOf('global|tokens', DAY, HELD)];
    const beganAt = performance.now();
    const answer = await store.reserve(id, [...day, ...callItems(index % USERS)], HOW);
    tookMs.push(performance.now() - beganAt);
    if (answer.kind === 'full') return;
    // Some use more than was held.
    const tokens = HELD - 300 + (index % 400);
    told.held++;
    told.tokens += tokens;
    await sleep(50);
    await store.settle(id, [1, tokens, 1, tokens, 1, tokens, 1, tokens]);
  }

  for (let index = 0; index < count; index++) {
    const aheadMs = (index * 1_000) / (perSecond as number) - (performance.now() - startedAt);
    if (aheadMs > 1) await sleep(aheadMs);
    running.push(request(index));
  }
  await Promise.all(running);
  tookMs.sort((one, other) => one - other);
  process.send?.({ ...told, asked: count, notices, p99Ms: tookMs[Math.floor(tookMs.length * 0.99)] ?? 0 } satisfies Told);
});
process.on('disconnect', async () => {
  await store.close();
  client.disconnect();
});
process.send?.('ready');
