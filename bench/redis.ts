// What counting in Redis costs, each figure beside its peer in the same run, on a server of its own.
// Run: npx tsx bench/redis.ts [part of a title]; SOAK=1 adds a minute of 500 requests/s over four processes.
import { Redis } from 'ioredis';
import { redisStore } from '../src/stores/redis/index.js';
import { createRedisStore } from '../src/stores/redis/redis-store.js';
import { startRedis } from '../test/support/redis/server.js';
import { createVirtualClock } from '../test/support/virtual-clock.js';
import { AMOUNTS, callItems, DAY, fillRings, HELD, HOW, itemOf, scopeItems, USED, USERS } from './redis-budgets.js';
import { sequentialLimiters, slidingLog } from './redis-peers.js';
import { soak } from './redis-soak.js';

const ROUNDS = 5;
const LATENCY_CALLS = 500;
const RATE_CALLS = 3_000;
const IN_FLIGHT = 64;
const LOG_ENTRIES = 3_000;

const server = await startRedis();
const client = new Redis(server.url);
const store = redisStore(client, { timeoutMs: 10_000 });
let nextId = 0;
const newId = () => `${process.pid}-${nextId++}`;

const wanted = process.argv[2] ?? '';
const YOUNG = 'rings that began a moment ago';
const FULL = 'something in each slot of each ring';
const parts: Record<string, () => Promise<void>> = {
  latency: () => latency(YOUNG),
  decisions: () => race(`${IN_FLIGHT} in flight; ${YOUNG}`, contenders()),
  'full latency': async () => {
    await fillAll();
    await latency(FULL);
  },
  'full decisions': async () => {
    await fillAll();
    await race(`${IN_FLIGHT} in flight; ${FULL}`, contenders());
  },
  log: besideLog,
  bytes,
};
try {
  for (const [title, part] of Object.entries(parts)) if (title.includes(wanted)) await part();
  if (process.env.SOAK) await soak(server);
} finally {
  await store.close();
  client.disconnect();
  await server.stop();
}

// ---- one at a time

async function latency(rings: string): Promise<void> {
  const three = sequentialLimiters(client, 3);
  const six = sequentialLimiters(client, 6);
  const micros = new Map<string, number[]>();
  async function time<T>(name: string, what: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const result = await what();
    const all = micros.get(name) ?? [];
    micros.set(name, [...all.slice(-ROUNDS * LATENCY_CALLS), (performance.now() - startedAt) * 1_000]);
    return result;
  }
  // All in turns: what else the machine does falls on each alike. The first round warms up.
  for (let call = 0; call < (ROUNDS + 1) * LATENCY_CALLS; call++) {
    if (call === LATENCY_CALLS) micros.clear();
    const id = newId();
    const user = call % USERS;
    await time('PING', () => client.ping());
    await time('reserve, 6 counters', () => store.reserve(id, callItems(user), HOW));
    await time('settle', () => store.settle(id, AMOUNTS));
    await time('reserve, 2 counters', () => store.reserve(`${id}-2`, scopeItems(`user|${user}`), HOW));
    await time('settle, 2 counters', () => store.settle(`${id}-2`, [1, USED]));
    await time('refusal, 6 counters', () => store.reserve(`${id}-0`, callItems(user, 1), HOW));
    await time('3 limiters in turn', () => three(`${user}`));
    await time('6 limiters in turn', () => six(`${user}`));
  }
  const p50 = (name: string) => median(micros.get(name) ?? []);
  title(`one in flight, p50; ${rings}`);
  for (const name of micros.keys())
    row(name, `${p50(name).toFixed(0)} us`, name === 'PING' ? '' : `${(p50(name) / p50('PING')).toFixed(1)} x PING`);
}

// ---- many at a time

interface Contender {
  readonly name: string;
  once(call: number): Promise<unknown>;
  /** After each round, and not in its figures. */
  after?(): Promise<void>;
}

interface Figures {
  readonly perSecond: number;
  readonly redisUs: number;
  readonly ownUs: number;
}

function contenders(): Contender[] {
  let held: string[] = [];
  const six = sequentialLimiters(client, 6);
  return [
    { name: 'rate-limiter-flexible, 6 in turn', once: (call) => six(`${call % USERS}`) },
    {
      name: 'reserve, 6 counters',
      async once(call) {
        const id = newId();
        held.push(id);
        await store.reserve(id, callItems(call % USERS), HOW);
      },
      async after() {
        await inFlight(held.length, (index) => store.settle(held[index] as string, AMOUNTS));
        held = [];
      },
    },
    {
      name: 'reserve and settle, 6 counters',
      async once(call) {
        const id = newId();
        await store.reserve(id, callItems(call % USERS), HOW);
        await store.settle(id, AMOUNTS);
      },
    },
    { name: 'refusal, 6 counters', once: (call) => store.reserve(newId(), callItems(call % USERS, 1), HOW) },
  ];
}

async function fillAll(): Promise<void> {
  await fillRings(
    client,
    Array.from({ length: USERS }, (_, user) => callItems(user)),
  );
}

/** Two counters of one key beside a sorted set with an entry for each call. */
async function besideLog(): Promise<void> {
  const log = await slidingLog(client);
  await fillRings(client, [scopeItems('user|logged')]);
  await inFlight(LOG_ENTRIES, () => log.ask('log', HELD));
  await race(
    `requests and tokens of one key that called ${LOG_ENTRIES.toLocaleString('en-US')} times this minute`,
    [
      { name: 'a sliding log in a sorted set', once: () => log.ask('log', HELD) },
      {
        name: 'reserve, 2 counters',
        async once() {
          await store.reserve(newId(), scopeItems('user|logged'), HOW);
        },
      },
    ],
    RATE_CALLS / 10,
  );
}

/** The first contender is what the others are measured beside. */
async function race(what: string, all: readonly Contender[], calls = RATE_CALLS): Promise<void> {
  const figures = new Map(all.map(({ name }) => [name, [] as Figures[]]));
  for (let round = -1; round < ROUNDS; round++) {
    for (const contender of all) {
      const measured = await measure(contender, calls);
      if (round >= 0) figures.get(contender.name)?.push(measured);
    }
  }
  const mid = (name: string, of: keyof Figures) => median((figures.get(name) ?? []).map((each) => each[of]));
  const first = (all[0] as Contender).name;
  title(what);
  for (const { name } of all) {
    const [rate, redis, own] = [mid(name, 'perSecond'), mid(name, 'redisUs'), mid(name, 'ownUs')];
    const ratio = name === first ? '' : `, ${(rate / mid(first, 'perSecond')).toFixed(2)} x as many`;
    row(
      name,
      `${Math.round(rate).toLocaleString('en-US')} /s`,
      `Redis ${redis.toFixed(0)} us, Node ${own.toFixed(0)} us${ratio}`,
    );
  }
}

async function measure(contender: Contender, calls: number): Promise<Figures> {
  const redisBefore = await redisMicros();
  const ownBefore = process.cpuUsage();
  const startedAt = performance.now();
  await inFlight(calls, (call) => contender.once(call));
  const seconds = (performance.now() - startedAt) / 1_000;
  const own = process.cpuUsage(ownBefore);
  const redisUs = ((await redisMicros()) - redisBefore) / calls;
  await contender.after?.();
  return { perSecond: calls / seconds, redisUs, ownUs: (own.user + own.system) / calls };
}

async function inFlight(calls: number, once: (call: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const work = async () => {
    while (next < calls) await once(next++);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
}

/** Processor time that Redis has used so far. */
async function redisMicros(): Promise<number> {
  const info = await client.info('cpu');
  const field = (name: string) => Number(new RegExp(`^used_cpu_${name}:(\\S+)`, 'm').exec(info)?.[1]);
  return (field('user') + field('sys')) * 1e6;
}

// ---- memory

/** What a user takes who has budgets of requests and tokens per minute and of tokens per day, after a minute of calls. */
async function bytes(): Promise<void> {
  title('bytes in Redis for a user with requests and tokens per minute and tokens per day');
  for (const calls of [1, 6, 20, 60]) {
    const clock = createVirtualClock(Date.now());
    const prefix = `bytes-${calls}`;
    const common = { client, readClient: client, timeoutMs: 10_000, expectedInstances: 1, maxKeys: 1_000 };
    const own = createRedisStore({ ...common, prefix, clock, serverNow: () => clock.now() });
    const user = 'customer-4711@example.com';
    const items = [...scopeItems(`user|${user}`), itemOf(`user|${user}|tokens|day@UTC`, DAY, HELD)];
    for (let call = 0; call < calls; call++) {
      const id = newId();
      await own.reserve(id, items, HOW);
      await own.settle(id, [1, USED - call, USED - call]);
      clock.set(clock.now() + 60_000 / calls);
    }
    const keys = await client.keys(`{${prefix}}*`);
    const sizes = await Promise.all(keys.map((key) => client.memory('USAGE', key, 'SAMPLES', 0)));
    const sum = (isWanted: (key: string) => boolean) =>
      keys.reduce((all, key, index) => all + (isWanted(key) ? (sizes[index] ?? 0) : 0), 0);
    const counters = sum((key) => key.includes(user));
    const records = sum((key) => key.startsWith(`{${prefix}}r:`)) / calls;
    row(
      `${calls} calls in the minute`,
      `${counters} B`,
      `and ${records.toFixed(0)} B for each call settled in the last two minutes`,
    );
    await own.close();
  }
}

// ---- print

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function title(text: string): void {
  console.log(`\n${text}`);
}

function row(what: string, figure: string, more: string): void {
  console.log(`  ${what.padEnd(34)} ${figure.padStart(12)}   ${more}`);
}
