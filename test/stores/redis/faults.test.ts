import { fork } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.js';
import { SpillwayError } from '../../../src/errors.js';
import { createExact } from '../../../src/stores/redis/exact.js';
import { ROOT } from '../../support/docs.js';
import { until } from '../../support/loopback.js';
import { createFaultProxy, type FaultProxy } from '../../support/redis/fault-proxy.js';
import { type RedisServer, startRedis, startReplica } from '../../support/redis/server.js';
import { ownPrefix } from '../../support/redis/shared.js';
import { closeRigs, connect, countsIn, HOW, money, openStore, running, TIMEOUT_MS, tokens } from './rig.js';

let server: RedisServer;
let proxy: FaultProxy;
let prefix: string;
const servers: RedisServer[] = [];

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server?.stop());
beforeEach(async () => {
  proxy = await createFaultProxy(server);
  prefix = ownPrefix();
});
afterEach(async () => {
  server.resume();
  await closeRigs();
  await proxy.close();
  await Promise.all(servers.splice(0).map((each) => each.stop()));
});

function keep(each: RedisServer): RedisServer {
  servers.push(each);
  return each;
}

const ids = (count: number, name = 'r') => Array.from({ length: count }, (_, index) => `${name}${index}`);

/** Whoever asks sees that Redis is away. */
async function loseIt(store: { readonly isAway: boolean; reserve: ReturnType<typeof openStore>['store']['reserve'] }) {
  for (let i = 0; !store.isAway; i++) await store.reserve(`lost${i}`, [{ ...tokens(0), counter: 'nothing' }], HOW);
}

describe('a lost reply', () => {
  it('is no second charge when the client sends its commands again by itself', async () => {
    const client = connect(proxy.port);
    const exact = createExact({ client, readClient: client, prefix, newEpoch: () => 1, now: Date.now });
    const counts = countsIn(server.port, prefix);
    const { seq } = await exact.reserve('before', [tokens(1)], HOW);
    const epoch = Math.floor(seq / 2 ** 32);
    const nowMs = Date.now();
    const items = [tokens(100), running()];
    const lease = { leaseMs: 60_000, leaseEndMs: nowMs + 60_000, atMs: nowMs };
    // A script that the server does not know runs only once its sender has heard so.
    await Promise.all([exact.adopt({ id: '', items: [], held: [], ...lease }, epoch), exact.merge('', [], epoch)]);

    proxy.dropReplies();
    const answers = Promise.all([
      exact.reserve('a', items, HOW),
      exact.adopt({ id: 'b', items, held: [50, 1], ...lease }, epoch),
      exact.merge('c', [{ ...tokens(0), parts: [[Math.floor(nowMs / 1_000), 25]] }], epoch),
    ]);
    answers.catch(() => {});
    await until(async () => (await counts(tokens(0)))[0] === 176);
    await proxy.heal();

    expect((await answers)[0]).toMatchObject({ kind: 'held' });
    expect(await counts(tokens(0), running())).toEqual([176, 2]);
    await exact.settle('unknown', []);
    proxy.dropReplies();
    const settling = exact.settle('a', [10, 0]);
    await until(async () => (await counts(tokens(0)))[0] === 86);
    await proxy.heal();
    await settling;
    expect(await counts(tokens(0), running())).toEqual([86, 1]);
  });

  it('is no second charge when this instance had to decide by itself meanwhile', async () => {
    const { store } = openStore(proxy.port, { prefix });
    const counts = countsIn(server.port, prefix);
    await store.reserve('before', [tokens(1)], HOW);

    proxy.dropReplies();
    const decisions = await Promise.all(['a', 'b', 'c'].map((id) => store.reserve(id, [tokens(100), running()], HOW)));
    await store.settle('b', [10, 0]);
    await store.settle('c', [0, 0]);
    await proxy.heal();

    expect(decisions.map(({ kind }) => kind)).toEqual(['held', 'held', 'held']);
    expect(store.isAway).toBe(false);
    await until(async () => `${await counts(tokens(0), running())}` === '111,1');
    await store.settle('a', [60, 0]);
    expect(await counts(tokens(0), running())).toEqual([71, 0]);
  });

  it('gives back what Redis holds of a call that was stopped for want of an answer', async () => {
    const { store } = openStore(proxy.port, { prefix });
    const counts = countsIn(server.port, prefix);
    await store.reserve('before', [tokens(1, 'closed')], HOW);

    proxy.dropReplies();
    const refused = store.reserve('a', [tokens(100, 'closed')], HOW);
    await expect(refused).rejects.toMatchObject({ code: 'SPILLWAY_STORE_AWAY' });
    expect(await counts(tokens(0))).toEqual([101]);
    await store.settle('a', [0]);
    await proxy.heal();

    await until(async () => (await counts(tokens(0)))[0] === 1);
  });

  it('of a merge is no second merge', async () => {
    const { store, notices } = openStore(proxy.port, { prefix });
    const counts = countsIn(server.port, prefix);
    await store.reserve('before', [tokens(1)], HOW);
    proxy.halfOpen();
    await loseIt(store);
    for (const id of ids(5)) {
      await store.reserve(id, [tokens(100)], HOW);
      await store.settle(id, [20]);
    }
    await store.reserve('live', [tokens(100)], HOW);

    await proxy.heal();
    // Its answers get lost from the moment at which they tell of the merge.
    while ((await counts(tokens(0)))[0] === 1) await new Promise((resolve) => setTimeout(resolve, 1));
    proxy.dropReplies();
    await new Promise((resolve) => setTimeout(resolve, 4 * TIMEOUT_MS));
    await proxy.heal();

    await until(() => notices.includes('back'));
    await until(async () => (await counts(tokens(0)))[0] === 201);
    await store.settle('live', [10]);
    expect(await counts(tokens(0))).toEqual([111]);
  });
});

describe('a server that stands still', () => {
  it('costs each of the first callers one time-out, and nobody after them', async () => {
    const timeoutMs = 50;
    const { store, notices } = openStore(server.port, { prefix, timeoutMs, clock: systemClock });
    const counts = countsIn(server.port, prefix);
    await store.reserve('before', [tokens(1)], HOW);
    const tookMs: number[] = [];
    const timed = async (id: string) => {
      const beganAtMs = performance.now();
      await store.reserve(id, [tokens(1)], HOW);
      tookMs.push(performance.now() - beganAtMs);
    };

    server.pause();
    await Promise.all(ids(20, 'together').map(timed));
    const together = tookMs.splice(0);
    for (const id of ids(200)) {
      await timed(id);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    server.resume();

    expect(Math.max(...together)).toBeLessThan(2 * timeoutMs);
    expect(Math.max(...tookMs)).toBeLessThan(timeoutMs / 2);
    await until(() => !store.isAway);
    await until(async () => (await counts(tokens(0)))[0] === 221);
    expect(notices).toEqual(['away', 'back']);
  });
});

describe('a server that was killed', () => {
  it('and comes back empty is told anew what was spent and is held', async () => {
    const own = keep(await startRedis());
    const { store, notices } = openStore(own.port, { prefix });
    const counts = countsIn(own.port, prefix);
    await store.reserve('done', [tokens(100), money(100)], HOW);
    await store.settle('done', [70, 60]);
    await store.reserve('outer', [tokens(200), running()], HOW);
    await store.reserve('inner', [tokens(150), running()], { ...HOW, from: 'outer' });

    await own.kill9();
    await loseIt(store);
    await store.reserve('alone', [tokens(40), running()], HOW);
    await store.reserve('alone and done', [tokens(40)], HOW);
    await store.settle('alone and done', [5]);
    await own.restart();

    await until(() => notices.includes('back'));
    expect(await counts(tokens(0), money(0), running())).toEqual([70 + 200 + 40 + 5, 60, 2]);
    await store.settle('outer', [0, 0]);
    await store.settle('inner', [110, 0]);
    await store.settle('alone', [30, 0]);
    expect(await counts(tokens(0), money(0), running())).toEqual([70 + 110 + 30 + 5, 60, 0]);
    expect(notices).toEqual(['away', 'lost', 'back']);
  });

  it('and comes back from its file still has everything, once', async () => {
    const own = keep(await startRedis({ config: ['appendonly yes', 'appendfsync always'] }));
    const { store, notices } = openStore(own.port, { prefix });
    const counts = countsIn(own.port, prefix);
    await store.reserve('done', [tokens(100)], HOW);
    await store.settle('done', [70]);
    await store.reserve('held', [tokens(200)], HOW);

    await own.kill9();
    await loseIt(store);
    await store.settle('held', [150]);
    await own.restart();

    await until(() => notices.includes('back'));
    await until(async () => (await counts(tokens(0)))[0] === 220);
    await store.reserve('next', [tokens(1)], HOW);
    expect(await counts(tokens(0))).toEqual([221]);
  });
});

describe('FLUSHALL', () => {
  it('makes every instance tell what it spent; until all have, no limit is passed', async () => {
    const own = keep(await startRedis());
    const stores = [openStore(own.port, { prefix }), openStore(own.port, { prefix }), openStore(own.port, { prefix })] as const;
    const counts = countsIn(own.port, prefix);
    const [one, other, idle] = stores;
    // This one spent it all, and says no more until its next beat.
    for (const { store } of stores)
      await store.reserve(`first of ${stores.findIndex((each) => each.store === store)}`, [tokens(0)], HOW);
    await idle.store.reserve('all', [tokens(1_000)], HOW);
    await idle.store.settle('all', [900]);
    await until(() => stores.every(({ store }) => store.instances === 3));

    await own.cli('FLUSHALL');
    let granted = 0;
    for (let i = 0; stores.some(({ notices }) => !notices.includes('back')); i++) {
      for (const { store } of [one, other]) {
        const id = `${granted}-${i}-${store === one.store}`;
        const { kind } = await store.reserve(id, [tokens(50)], HOW);
        if (kind === 'held') granted += 50;
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }

    expect(stores.map(({ notices }) => notices)).toEqual(Array(3).fill(['lost', 'back']));
    expect(await counts(tokens(0))).toEqual([900 + granted]);
    // The share of each of the two, and the one reservation that found the counts empty.
    expect(granted).toBeLessThanOrEqual(2 * Math.floor(1_000 / 3) + 50);
    expect(granted).toBeGreaterThan(100);
  });

  it('of scripts alone changes nothing, under load', async () => {
    const own = keep(await startRedis());
    const { store, notices } = openStore(own.port, { prefix });
    const counts = countsIn(own.port, prefix);

    const flushing = (async () => {
      for (let i = 0; i < 20; i++) await own.cli('SCRIPT', 'FLUSH');
    })();
    for (const batch of ids(20)) {
      await Promise.all(
        ids(20, `${batch}-`).map(async (id) => {
          await store.reserve(id, [tokens(2)], HOW);
          await store.settle(id, [1]);
        }),
      );
    }
    await flushing;

    expect(await counts(tokens(0))).toEqual([400]);
    expect(notices).toEqual([]);
  });
});

describe('a failover to a replica that lags behind', () => {
  it('is told what the replica has not heard: reservations, settlements and merges', async () => {
    const master = keep(await startRedis());
    const link = await createFaultProxy(master);
    const replica = keep(await startReplica(link));
    const to = { port: master.port };
    const front = await createFaultProxy(to);
    const { store, notices } = openStore(front.port, { prefix });
    const counts = countsIn(replica.port, prefix);
    await store.reserve('settled late', [tokens(100), running()], HOW);
    await store.reserve('outer', [tokens(80), running()], HOW);
    await until(async () => (await counts(tokens(0)))[0] === 180);

    link.set({ replies: 'hold' });
    await store.settle('settled late', [30, 0]);
    await store.reserve('inner', [tokens(60), running()], { ...HOW, from: 'outer' });
    await store.reserve('live', [tokens(40)], HOW);
    await store.reserve('done', [tokens(100)], HOW);
    await store.settle('done', [7]);
    // Spent while nobody answered, told to the master, and lost with it.
    front.halfOpen();
    await loseIt(store);
    await store.reserve('alone', [tokens(20)], HOW);
    await store.settle('alone', [11]);
    await front.heal();
    await until(() => notices.includes('back'));
    await until(async () => (await countsIn(master.port, prefix)(tokens(0)))[0] === 30 + 80 + 40 + 7 + 11);

    await master.kill9();
    await replica.cli('REPLICAOF', 'NO', 'ONE');
    to.port = replica.port;
    front.cut();

    await until(() => notices.includes('lost'));
    await store.settle('inner', [50, 0]);
    await store.settle('outer', [0, 0]);
    await until(async () => `${await counts(tokens(0), running())}` === `${30 + 50 + 40 + 7 + 11},0`);
    await front.close();
    await link.close();
  });

  it('is noticed though the new counts have come further than the old ones', async () => {
    const master = keep(await startRedis());
    const link = await createFaultProxy(master);
    const replica = keep(await startReplica(link));
    const to = { port: master.port };
    const front = await createFaultProxy(to);
    const { store, notices } = openStore(front.port, { prefix });
    const other = openStore(replica.port, { prefix });
    const counts = countsIn(replica.port, prefix);
    await store.reserve('before', [tokens(1)], HOW);
    await until(async () => (await counts(tokens(0)))[0] === 1);
    link.set({ replies: 'hold' });
    await store.reserve('lost', [tokens(10)], HOW);

    await master.kill9();
    await replica.cli('REPLICAOF', 'NO', 'ONE');
    for (const id of ids(30)) await other.store.reserve(id, [tokens(1)], HOW);
    to.port = replica.port;
    front.cut();

    await until(() => notices.includes('lost'));
    await until(async () => (await counts(tokens(0)))[0] === 41);
    await front.close();
    await link.close();
  });
});

describe('a server that refuses to write', () => {
  it('for want of memory writes nothing by halves, and works again when it has some', async () => {
    const own = keep(await startRedis({ config: ['maxmemory-policy noeviction'] }));
    const { store, notices } = openStore(own.port, { prefix });
    const counts = countsIn(own.port, prefix);
    await store.reserve('before', [tokens(100), running()], HOW);
    const dump = async () => `${((await own.cli('KEYS', '*')) as string[]).sort()} ${await counts(tokens(0), running())}`;
    await own.cli('CONFIG', 'SET', 'maxmemory', 1);
    const before = await dump();

    const decisions = await Promise.all(ids(10).map((id) => store.reserve(id, [tokens(10), running(100)], HOW)));
    await store.settle('before', [50, 0]);

    expect(decisions.every(({ kind }) => kind === 'held')).toBe(true);
    expect(await dump()).toBe(before);
    expect(notices).toEqual(['away']);

    await own.cli('CONFIG', 'SET', 'maxmemory', 0);
    await until(() => notices.includes('back'));
    expect(await counts(tokens(0), running())).toEqual([150, 10]);
  });

  it('because it is a replica: each decides by its share, and nothing is lost', async () => {
    const master = keep(await startRedis());
    const replica = keep(await startReplica(master));
    const { store, notices } = openStore(replica.port, { prefix });
    const counts = countsIn(replica.port, prefix);

    const decisions = await Promise.all(ids(10).map((id) => store.reserve(id, [tokens(10)], HOW)));
    expect(decisions.every(({ kind }) => kind === 'held')).toBe(true);
    expect(await counts(tokens(0))).toEqual([0]);
    await replica.cli('REPLICAOF', 'NO', 'ONE');

    await until(() => notices.includes('back'));
    expect(await counts(tokens(0))).toEqual([100]);
  });

  it.each([
    'LOADING Redis is loading the dataset in memory',
    'MASTERDOWN Link with MASTER is down',
    'CLUSTERDOWN The cluster is down',
    'TRYAGAIN Multiple keys request during rehashing of slot',
    'MOVED 3999 127.0.0.1:6381',
    "READONLY You can't write against a read only replica.",
  ])('with %s', async (message) => {
    const client = connect(server.port);
    let isBroken = true;
    const broken = {
      evalsha: async (...args: Parameters<typeof client.evalsha>) => {
        if (isBroken) throw new Error(message);
        return client.evalsha(...args);
      },
      eval: (...args: Parameters<typeof client.eval>) => client.eval(...args),
    };
    const { store, notices } = openStore(server.port, { prefix, client: broken as never, readClient: client });
    const counts = countsIn(server.port, prefix);

    const { kind } = await store.reserve('a', [tokens(10)], HOW);
    const closed = store.reserve('b', [tokens(10, 'closed')], HOW).catch((error) => error);

    expect(kind).toBe('held');
    expect(SpillwayError.is(await closed)).toBe(true);
    isBroken = false;
    await until(async () => (await counts(tokens(0)))[0] === 10);
    expect(notices).toEqual([]);
  });
});

describe('an instance that is killed while it holds leases', () => {
  it('gives its concurrency back within the lease, and its tokens stay', async () => {
    const counts = countsIn(server.port, prefix);
    const leaseMs = 900;
    const child = fork('test/support/redis/children/holds.ts', [`${server.port}`, prefix, `${leaseMs}`], {
      cwd: ROOT,
      execArgv: ['--import', 'tsx'],
    });
    await once(child, 'message');
    // Longer than the lease: it is renewed.
    await new Promise((resolve) => setTimeout(resolve, leaseMs * 1.3));
    expect(await counts(tokens(0), running())).toEqual([300, 3]);

    child.kill('SIGKILL');
    await once(child, 'exit');
    const killedAtMs = performance.now();

    await until(async () => (await counts(running()))[0] === 0);
    expect(performance.now() - killedAtMs).toBeLessThan(leaseMs + 150);
    expect(await counts(tokens(0))).toEqual([300]);
  });
});

describe('a process that closes its store', () => {
  it.each(['well', 'away'])('ends by itself while Redis is %s', async (how) => {
    const port = how === 'well' ? server.port : 1;
    const child = fork('test/support/redis/children/closes.ts', [`${port}`, prefix], {
      cwd: ROOT,
      execArgv: ['--import', 'tsx'],
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    child.disconnect();
    let said = '';
    child.stdout?.on('data', (bytes) => {
      said += bytes;
    });
    const [code] = await once(child, 'exit');

    expect([code, JSON.parse(said)]).toEqual([0, { isAway: how === 'away' }]);
  });
});
