import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createBatch } from '../../../src/stores/redis/batch.js';
import { createExact, type Exact } from '../../../src/stores/redis/exact.js';
import { type RedisServer, startRedis, startReplica } from '../../support/redis/server.js';
import { ownPrefix } from '../../support/redis/shared.js';
import { closeRigs, connect, countsIn, HOW, running, tokens } from './rig.js';

let server: RedisServer;
let prefix: string;
let exact: Exact;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server?.stop());
beforeEach(() => {
  prefix = ownPrefix();
  exact = exactAt(server.port);
});
afterEach(closeRigs);

function exactAt(port: number): Exact {
  const client = connect(port);
  return createExact({ client, readClient: client, prefix, newEpoch: () => 1, now: Date.now });
}

async function scriptsRun(): Promise<number> {
  const stats = (await server.cli('INFO', 'commandstats')) as unknown as string;
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(`${stats}`)?.[1] ?? 0);
}

const reserveMany = (count: number, name = 'r') =>
  Promise.all(Array.from({ length: count }, (_, index) => exact.reserve(`${name}${index}`, [tokens(10), running(1_000)], HOW)));

describe('decisions of one turn', () => {
  it('go in one script, up to a bound, and each has its own place in the history', async () => {
    await exact.reserve('warm', [], HOW);

    const before = await scriptsRun();
    const decisions = await reserveMany(20);
    const settled = await Promise.all(decisions.map((_, index) => exact.settle(`r${index}`, [7, 0])));
    expect((await scriptsRun()) - before).toBe(2);
    const sequence = [...decisions, ...settled].map(({ seq }) => seq);
    expect(sequence).toEqual(sequence.map((_, index) => (sequence[0] as number) + index));
    expect(decisions.map(({ used }) => used[0])).toEqual(decisions.map((_, index) => 10 * (index + 1)));
    expect(await countsIn(server.port, prefix)(tokens(0), running())).toEqual([140, 0]);

    const beforeMany = await scriptsRun();
    await reserveMany(100, 'many');
    expect((await scriptsRun()) - beforeMany).toBe(4);
  });

  it('are decided in their order: the limit falls between two of them', async () => {
    const decisions = await reserveMany(105);

    expect(decisions.findIndex(({ kind }) => kind === 'full')).toBe(100);
    expect(decisions.slice(100).every(({ kind }) => kind === 'full')).toBe(true);
  });

  it('may settle and draw on what the same turn has reserved', async () => {
    const held = exact.reserve('first', [tokens(600)], HOW);
    const drawn = exact.reserve('second', [tokens(900)], { ...HOW, from: 'first' });
    const settled = exact.settle('second', [50]);
    const after = exact.reserve('third', [tokens(900)], HOW);

    expect((await Promise.all([held, drawn, after])).map(({ kind }) => kind)).toEqual(['held', 'held', 'held']);
    await settled;
    expect(await countsIn(server.port, prefix)(tokens(0))).toEqual([950]);
  });

  it('fail alone where a counter of theirs is none, and write over what is no count', async () => {
    const broken = [
      { ...tokens(1), counter: 'garbage' },
      { ...running(), counter: 'list' },
    ];
    await server.cli('SET', `{${prefix}}s60000:garbage`, 'x');
    await server.cli('LPUSH', `{${prefix}}c:list`, 'x');

    const decisions = await Promise.allSettled([
      exact.reserve('a', [tokens(10)], HOW),
      ...broken.map((item, index) => exact.reserve(`b${index}`, [tokens(10), item], HOW)),
      exact.reserve('c', [tokens(10)], HOW),
    ]);

    expect(decisions.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(await countsIn(server.port, prefix)(tokens(0), { ...tokens(0), counter: 'garbage' })).toEqual([30, 1]);
  });

  it('fail all as Redis says it where nothing may be written, so that clients hear of it', async () => {
    const master = await startRedis();
    const replica = await startReplica(master);
    const over = exactAt(replica.port);

    const decisions = await Promise.allSettled([
      over.reserve('a', [tokens(10)], HOW),
      over.settle('b', []),
      over.reserve('c', [], HOW),
    ]);

    for (const decision of decisions)
      expect(decision).toMatchObject({ status: 'rejected', reason: { name: 'ReplyError', message: /^READONLY/ } });
    await Promise.all([replica.stop(), master.stop()]);
  });
});

describe('a batch', () => {
  it('waits for nobody beyond the turn, and keeps the order', async () => {
    const sent: (readonly number[])[] = [];
    const add = createBatch<number>((together) => sent.push(together));

    for (let one = 0; one < 40; one++) add(one);
    expect(sent).toEqual([]);
    await new Promise((resolve) => setImmediate(resolve));
    add(40);
    await new Promise((resolve) => setImmediate(resolve));

    expect(sent.map(({ length }) => length)).toEqual([32, 8, 1]);
    expect(sent.flat()).toEqual(Array.from({ length: 41 }, (_, one) => one));
  });
});
