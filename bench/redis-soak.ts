// A minute of load on one Redis from several processes: no count may be lost, none counted twice.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { redisStore } from '../src/stores/redis/index.js';
import type { RedisServer } from '../test/support/redis/server.js';
import { DAY, itemOf } from './redis-budgets.js';
import type { Told } from './redis-instance.js';

const INSTANCES = 4;
const PER_SECOND = 500;
const SECONDS = Number(process.env.SOAK_SECONDS ?? 60);
/** Of the requests: the others find the day's budget full. */
const ADMITTED_RATIO = 0.8;

export async function soak(server: RedisServer): Promise<void> {
  const asked = PER_SECOND * SECONDS;
  const limit = Math.floor(asked * ADMITTED_RATIO);
  const children = Array.from({ length: INSTANCES }, () => start(server, limit));
  await Promise.all(children.map((child) => once(child, 'message')));
  const client = new Redis(server.url);
  try {
    const before = await cpuSeconds(client);
    const startedAt = performance.now();
    const told = Promise.all(children.map(async (child) => (await once(child, 'message'))[0] as Told));
    for (const child of children) child.send('go');
    const all = await told;
    const seconds = (performance.now() - startedAt) / 1_000;
    const cpu = (await cpuSeconds(client)) - before;
    const sum = (of: keyof Told) => all.reduce((so, each) => so + each[of], 0);

    const store = redisStore(client, { prefix: 'soak', timeoutMs: 10_000 });
    const [requests, tokens] = await store.peek([itemOf('global|requests', DAY, 0), itemOf('global|tokens', DAY, 0)]);
    await store.close();
    console.log(`\n${PER_SECOND} requests/s for ${seconds.toFixed(0)} s from ${INSTANCES} processes`);
    console.log(`  asked ${sum('asked')}, admitted ${sum('held')} of at most ${limit}, in Redis ${requests}`);
    console.log(`  tokens settled ${sum('tokens')}, in Redis ${tokens}`);
    console.log(`  p99 of a reserve ${Math.max(...all.map(({ p99Ms }) => p99Ms)).toFixed(1)} ms, in the slowest process`);
    console.log(`  Redis used ${((cpu / seconds) * 100).toFixed(1)} % of one core`);
    if (sum('notices') > 0) throw new Error('Redis was away for a while: this machine is too busy to compare sums');
    if (sum('held') !== limit || requests !== limit || tokens !== sum('tokens')) throw new Error('the sums differ');
  } finally {
    client.disconnect();
    for (const child of children) child.disconnect();
  }
}

function start(server: RedisServer, limit: number): ChildProcess {
  const settings = { url: server.url, perSecond: PER_SECOND / INSTANCES, seconds: SECONDS, limit };
  return fork(fileURLToPath(new URL('./redis-instance.ts', import.meta.url)), [JSON.stringify(settings)], {
    execArgv: ['--import', 'tsx'],
  });
}

async function cpuSeconds(client: Redis): Promise<number> {
  const info = await client.info('cpu');
  return ['user', 'sys'].reduce((sum, name) => sum + Number(new RegExp(`^used_cpu_${name}:(\\S+)`, 'm').exec(info)?.[1]), 0);
}
