import { Redis as Redis6 } from 'ioredis6';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.js';
import { OptionsError } from '../../../src/errors.js';
import { redisStore } from '../../../src/stores/redis/index.js';
import { createRedisStore, type RedisStore } from '../../../src/stores/redis/redis-store.js';
import { SCRIPTS } from '../../../src/stores/redis/scripts.js';
import { until } from '../../support/loopback.js';
import { createFaultProxy, type FaultProxy } from '../../support/redis/fault-proxy.js';
import { type RedisServer, startRedis } from '../../support/redis/server.js';
import { ownPrefix } from '../../support/redis/shared.js';
import { createVirtualClock } from '../../support/virtual-clock.js';
import { closeRigs, connect, countsIn, HOW, money, openStore, type Rig, running, TIMEOUT_MS, tokens } from './rig.js';

let server: RedisServer;
let proxy: FaultProxy;
let prefix: string;
let counts: ReturnType<typeof countsIn>;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server?.stop());
beforeEach(async () => {
  proxy = await createFaultProxy(server);
  prefix = ownPrefix();
  counts = countsIn(server.port, prefix);
});
afterEach(async () => {
  await closeRigs();
  await proxy.close();
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function goAway({ store }: Rig): Promise<void> {
  proxy.halfOpen();
  for (let i = 0; !store.isAway; i++) await store.reserve(`lost${i}`, [{ ...tokens(0), counter: 'nothing' }], HOW);
}

async function comeBack({ store }: Rig): Promise<void> {
  await proxy.heal();
  await until(() => !store.isAway);
}

describe('options', () => {
  it('are all checked at once, each with its mend', () => {
    const options = { prefix: 'a b', timeoutMs: 0, expectedInstances: 1.5, maxKeys: Number.NaN, readClient: {} };

    expect(() => redisStore({} as never, options as never)).toThrow(OptionsError);
    try {
      redisStore({} as never, options as never);
    } catch (error) {
      expect((error as OptionsError).faults).toEqual([
        expect.stringMatching(/^redisStore\(client\) needs a client with evalsha and eval/),
        expect.stringMatching(/^readClient needs a client/),
        expect.stringMatching(/prefix must be 1 to 64 characters/),
        'timeoutMs must be a whole number from 1 to 10,000, got 0',
        'expectedInstances must be a whole number from 1 to 10,000, got 1.5',
        'maxKeys must be a whole number from 1 to 10,000,000, got NaN',
      ]);
    }
  });

  it.each(['', 'x'.repeat(65), '{a}', 'é', 'a b'])('refuse the prefix %j', (given) => {
    expect(() => redisStore(connect(server.port), { prefix: given })).toThrow('prefix must be');
  });
});

describe('instances', () => {
  it('are counted: three see three, and none sees those with another prefix', async () => {
    const rigs = Array.from({ length: 3 }, () => openStore(server.port, { prefix }));
    const stranger = openStore(server.port);
    for (const { store } of [...rigs, stranger]) await store.reserve('a', [tokens(0)], HOW);

    await until(() => rigs.every(({ store }) => store.instances === 3));
    expect(stranger.store.instances).toBe(1);
  });

  it('are never fewer than expected', async () => {
    const { store } = openStore(server.port, { prefix, expectedInstances: 5 });

    expect(store.instances).toBe(5);
    await store.reserve('a', [tokens(0)], HOW);
    await until(async () => Number(await server.cli('ZCARD', ((await server.cli('KEYS', '*}i')) as string[])[0] ?? '')) > 0);
    await pause(30);
    expect(store.instances).toBe(5);
  });
});

describe('while Redis is away', () => {
  it('answers from its own counts, at once', async () => {
    const rig = openStore(proxy.port, { prefix });
    await rig.store.reserve('a', [tokens(100), running()], HOW);
    await goAway(rig);
    const beganAtMs = performance.now();

    await rig.store.renew(['a'], 1_000);
    const used = await rig.store.peek([tokens(0), running()]);
    await rig.store.settle('a', [40, 0]);

    expect(used).toEqual([100, 1]);
    expect(await rig.store.peek([tokens(0), running()])).toEqual([40, 0]);
    expect(performance.now() - beganAtMs).toBeLessThan(TIMEOUT_MS / 2);
    await comeBack(rig);
    expect(rig.notices).toEqual(['away', 'back']);
  });

  it('answers a look that fails from its own counts too', async () => {
    const dead = connect(1, { maxRetriesPerRequest: 0 });
    const { store } = openStore(server.port, { prefix, readClient: dead });
    await store.reserve('a', [tokens(100)], HOW);

    expect(await store.peek([tokens(0)])).toEqual([100]);
    expect(store.isAway).toBe(false);
  });

  it('stops what is closed, at once, and grants money by the last look', async () => {
    const rig = openStore(proxy.port, { prefix });
    await rig.store.reserve('seen', [money(200)], HOW);
    await goAway(rig);

    const grant = (id: string, amount: number) => rig.store.reserve(id, [money(amount)], HOW).then(({ kind }) => kind);
    expect([await grant('a', 300), await grant('b', 100), await grant('c', 1)]).toEqual(['held', 'held', 'full']);
    const closed = rig.store.reserve('d', [tokens(1, 'closed')], HOW);
    await expect(closed).rejects.toMatchObject({ code: 'SPILLWAY_STORE_AWAY', name: 'SpillwayError' });
    await expect(rig.store.reserve('e', [{ ...money(1), counter: 'unseen' }], HOW)).rejects.toThrow('closed without it');

    await comeBack(rig);
    await until(async () => (await counts(money(0)))[0] === 600);
  });

  it('hands a draw on: Redis takes from the outer reservation what the inner one took', async () => {
    const rig = openStore(proxy.port, { prefix });
    await rig.store.reserve('outer', [tokens(200), running()], HOW);
    await goAway(rig);
    await rig.store.reserve('inner', [tokens(150), running()], { ...HOW, from: 'outer' });
    await rig.store.reserve('innermost', [tokens(100), running()], { ...HOW, from: 'inner' });
    await rig.store.reserve('done', [tokens(50)], { ...HOW, from: 'outer' });
    await rig.store.settle('done', [20]);

    await comeBack(rig);
    // Until the outer one is settled it may hold what was drawn by one that is done: too much, never too little.
    const [sum = 0, calls = 0] = await counts(tokens(0), running());
    expect([sum >= 170, sum <= 220, calls]).toEqual([true, true, 1]);
    await rig.store.settle('innermost', [90, 0]);
    await rig.store.settle('inner', [10, 0]);
    await rig.store.settle('outer', [0, 0]);

    expect(await counts(tokens(0), running())).toEqual([120, 0]);
  });

  it('keeps leases: they are prolonged when it is back, and not those that ran out', async () => {
    const rig = openStore(proxy.port, { prefix });
    const leaseMs = 1_200;
    const beganAtMs = performance.now();
    await rig.store.reserve('renewed', [running()], { leaseMs });
    await rig.store.reserve('left', [running()], { leaseMs });
    await goAway(rig);
    await rig.store.reserve('alone', [running()], { leaseMs });
    await rig.store.reserve('alone and left', [running()], { leaseMs: 100 });
    while (performance.now() - beganAtMs < leaseMs + 50) {
      await pause(50);
      await rig.store.renew(['renewed', 'alone'], leaseMs);
    }
    expect(await counts(running())).toEqual([0]);

    await comeBack(rig);
    await until(async () => (await counts(running()))[0] === 2);
  });

  it('is told what is settled while the reservation itself is on its way', async () => {
    const rig = openStore(proxy.port, { prefix });
    await rig.store.reserve('first', [tokens(1)], HOW);
    await goAway(rig);
    await rig.store.reserve('alone', [tokens(100), running()], HOW);

    await proxy.heal();
    proxy.set({ replies: { delayMs: 40 } });
    await until(async () => (await counts(tokens(0)))[0] === 101);
    await rig.store.settle('alone', [30, 0]);

    await until(async () => `${await counts(tokens(0), running())}` === '31,0');
    proxy.set({ replies: 'pass' });
    await until(() => !rig.store.isAway);
    await pause(150);
    expect(await counts(tokens(0), running())).toEqual([31, 0]);
  });

  it('remembers settlements of what others hold, and cancellations of nothing do not pile up', async () => {
    const other = openStore(server.port, { prefix });
    const rig = openStore(proxy.port, { prefix });
    await other.store.reserve('job', [tokens(100), running()], HOW);
    await goAway(rig);

    await rig.store.settle('job', [30, 0]);
    await rig.store.settle('job', [90, 0]);
    for (let i = 0; i < 50; i++) await rig.store.settle(`refused${i}`, [0]);
    await comeBack(rig);

    await until(async () => `${await counts(tokens(0), running())}` === '30,0');
    expect(await server.cli('KEYS', '*refused*')).toEqual([]);
  });

  it('forgets in time what passed out of its window meanwhile', async () => {
    const rig = openStore(proxy.port, { prefix });
    const second = { ...tokens(10), window: { kind: 'sliding', ms: 300 } as const };
    await rig.store.reserve('first', [second], HOW);
    await goAway(rig);
    await rig.store.reserve('early', [second], HOW);
    await rig.store.settle('early', [10]);
    await pause(400);
    await rig.store.reserve('late', [second], HOW);

    await comeBack(rig);
    expect((await counts(second))[0]).toBeLessThanOrEqual(10);
  });
});

describe('getting ready', () => {
  it('makes the server know what it will be asked, over a client that has yet to connect', async () => {
    const own = await startRedis();
    const { store, client } = openStore(own.port);

    await store.ready?.();

    expect(await client.call('SCRIPT', 'EXISTS', SCRIPTS.decide.sha)).toEqual([1]);
    expect(store.isAway).toBe(false);
    await own.stop();
  });

  it('ends when nobody answers, and waits on nothing then', async () => {
    const own = await startRedis();
    await own.stop();
    const { store } = openStore(own.port);

    await expect(store.ready?.()).resolves.toBeUndefined();
  });
});

describe('counts that were lost', () => {
  it('grant no money: what is left is taken from the last look before', async () => {
    const own = await startRedis();
    const stores = [0, 1].map(() => openStore(own.port, { prefix, expectedInstances: 2 }).store);
    const [one, other] = stores as [RedisStore, RedisStore];
    const all = money(10);
    expect((await one.reserve('all', [{ ...all, amount: all.limit }], HOW)).kind).toBe('held');
    expect((await other.reserve('none', [all], HOW)).kind).toBe('full');

    await own.cli('FLUSHALL');
    const answers: string[] = [];
    for (let round = 0; round < 10; round++)
      for (const store of stores) answers.push((await store.reserve(`again-${answers.length}`, [all], HOW)).kind);

    // One decision of each may go by the empty counts: it is how they notice.
    expect(answers.filter((kind) => kind === 'held').length).toBeLessThanOrEqual(2);
    await own.stop();
  });
});

describe('a process that is busy', () => {
  const work = (ms: number) => {
    const endMs = performance.now() + ms;
    while (performance.now() < endMs);
  };

  it('hears what Redis answered in time, however late it looks', async () => {
    const { store, notices } = openStore(server.port, { prefix, timeoutMs: 20, clock: systemClock });
    await store.ready?.();

    for (let round = 0; round < 8; round++) {
      const asked = Array.from({ length: 5 }, (_, at) => store.reserve(`${round}-${at}`, [tokens(1)], HOW));
      work(100);
      await Promise.all(asked);
    }

    expect({ isAway: store.isAway, notices }).toEqual({ isAway: false, notices: [] });
    expect(await counts(tokens(0))).toEqual([40]);
  });
});

describe('a store', () => {
  it('does not keep what is settled before its reservation comes back', async () => {
    const rig = openStore(server.port, { prefix });
    const reserving = rig.store.reserve('a', [tokens(100), running()], HOW);
    await rig.store.settle('a', [0, 0]);
    await reserving;

    await server.cli('DEL', ...((await server.cli('KEYS', `*`)) as string[]));
    await rig.store.reserve('b', [tokens(1)], HOW);
    await until(() => rig.notices.includes('lost'));
    await pause(150);

    expect(await counts(tokens(0), running())).toEqual([1, 0]);
  });

  it('settles what another client reserved under the same id with other items', async () => {
    const one = openStore(server.port, { prefix });
    const other = openStore(server.port, { prefix });
    await one.store.reserve('same', [tokens(50), running()], HOW);
    await other.store.reserve('same', [tokens(70)], HOW);

    await other.store.settle('same', [20]);

    expect(await counts(tokens(0), running())).toEqual([20, 0]);
    expect(other.store.isAway).toBe(false);
  });

  it('tells on closing what Redis has yet to hear', async () => {
    const rig = openStore(proxy.port, { prefix });
    await rig.store.reserve('a', [tokens(100)], HOW);
    proxy.set({ requests: 'hold' });
    await rig.store.settle('a', [30]);
    await proxy.heal();
    await rig.store.settle('a', [30]);

    await rig.store.close();

    expect(await counts(tokens(0))).toEqual([30]);
  });

  it('survives a listener that throws', async () => {
    const rig = openStore(proxy.port, { prefix });
    rig.store.onNotice(() => {
      throw new Error('mine');
    });
    await rig.store.reserve('a', [tokens(1)], HOW);

    await goAway(rig);
    await comeBack(rig);
  });

  it('leaves no timer when it is closed, and starts none after', async () => {
    const clock = createVirtualClock(Date.now());
    const client = connect(server.port);
    const parts = { client, readClient: client, prefix, timeoutMs: 1_000, expectedInstances: 1, maxKeys: 100, clock };
    const store = createRedisStore(parts);
    expect(clock.timers).toBe(0);
    await store.reserve('a', [tokens(1)], HOW);
    expect(clock.timers).toBeGreaterThan(0);

    await store.close();
    await until(() => clock.timers === 0);
    expect((await store.reserve('b', [tokens(1)], HOW)).kind).toBe('held');
    await store.settle('b', [1]);
    expect(clock.timers).toBe(0);
  });

  it.each([
    ['forwards', 2 * 86_400_000, [0, 0]],
    ['back', -2 * 86_400_000, [10, 0]],
  ])('goes by the clock of a server that jumps %s', async (_, jumpMs, after) => {
    let serverMs = Date.UTC(2026, 5, 15, 12);
    const client = connect(server.port);
    const { store, notices } = openStore(server.port, { client, readClient: client, prefix, serverNow: () => serverMs });
    await store.reserve('a', [tokens(10), money(10)], HOW);

    serverMs += jumpMs;

    expect(await store.peek([tokens(0), money(0)])).toEqual(after);
    expect((await store.reserve('b', [tokens(5), money(5)], HOW)).kind).toBe('held');
    await store.settle('a', [10, 10]);
    await store.settle('b', [5, 5]);
    expect(await store.peek([tokens(0), money(0)])).toEqual([(after[0] as number) + 5, 5]);
    expect(notices).toEqual([]);
  });

  it('is the same over ioredis 6', async () => {
    const client = new Redis6(proxy.url, { retryStrategy: () => 20 });
    client.on('error', () => {});
    const rig = openStore(proxy.port, { prefix, client: client as never, readClient: client as never });
    await rig.store.reserve('a', [tokens(100)], HOW);
    await goAway(rig);
    await rig.store.reserve('b', [tokens(50)], HOW);
    await rig.store.settle('b', [20]);
    await rig.store.settle('a', [60]);

    await comeBack(rig);
    await until(async () => (await counts(tokens(0)))[0] === 80);
    client.disconnect();
  });
});
