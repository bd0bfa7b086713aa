import { Cluster } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createExact } from '../../../src/stores/redis/exact.js';
import { type RedisCluster, startCluster } from '../../support/redis/cluster.js';
import { ownPrefix } from '../../support/redis/shared.js';
import { closeRigs, HOW, openStore, running, tokens } from './rig.js';

let cluster: RedisCluster;
let client: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
  client = new Cluster([...cluster.addresses]);
  client.on('error', () => {});
});
afterAll(async () => {
  client?.disconnect();
  await cluster?.stop();
});
afterEach(closeRigs);

describe('over a cluster of three', () => {
  it.each([0, 1, 2])('is exact under one hash tag, wherever that lies (%i)', async () => {
    const prefix = ownPrefix();
    const { store, notices } = openStore(0, { client: client as never, readClient: client as never, prefix });

    const calls = Array.from({ length: 50 }, (_, i) => store.reserve(`${i}`, [tokens(30), running(100)], HOW));
    const held = (await Promise.all(calls)).filter(({ kind }) => kind === 'held').length;
    await store.settle('0', [5, 0]);

    expect(held).toBe(33);
    expect(await store.peek([tokens(0), running()])).toEqual([32 * 30 + 5, 32]);
    expect(notices).toEqual([]);
  });

  it('charges once while its slot moves from one node to another', async () => {
    const prefix = ownPrefix();
    const { store } = openStore(0, { client: client as never, readClient: client as never, prefix });
    const key = `{${prefix.replace(/:/g, '%3A')}}`;
    const exact = createExact({ client: client as never, readClient: client as never, prefix, newEpoch: () => 1, now: Date.now });
    let spent = 0;
    let isOver = false;
    const calling = (async () => {
      for (let i = 0; !isOver; i++) {
        const { kind } = await store.reserve(`${i}`, [tokens(2), running(1_000)], HOW);
        if (kind === 'held') spent += 1;
        await store.settle(`${i}`, [1, 0]);
      }
    })();

    await move(await slotOf(store, key));
    isOver = true;
    await calling;

    await expect
      .poll(async () => [store.isAway, await exact.peek([tokens(0), running()])], { timeout: 8_000 })
      .toEqual([false, [spent, 0]]);
    expect(spent).toBeGreaterThan(3);
  });
});

/** The slot in which the store's keys really are. */
async function slotOf(store: ReturnType<typeof openStore>['store'], guess: string): Promise<number> {
  await store.reserve('where', [{ ...tokens(0), counter: 'where' }], HOW);
  for (const node of cluster.nodes) {
    const [found] = (await node.cli('KEYS', '*where')) as string[];
    if (found) return Number(await node.cli('CLUSTER', 'KEYSLOT', found));
  }
  throw new Error(`no key of ${guess} anywhere`);
}

/** Moves a slot to another node, key by key: until all are there, commands of several keys are told to try again. */
async function move(slot: number): Promise<void> {
  const ids = await Promise.all(cluster.nodes.map(async (node) => `${await node.cli('CLUSTER', 'MYID')}`));
  const from = cluster.nodes.findIndex((_, index) => slot < Math.floor(((index + 1) * 16_384) / 3));
  const to = (from + 1) % 3;
  const [source, target] = [cluster.nodes[from], cluster.nodes[to]] as const;
  if (!source || !target) throw new Error('no such node');
  await target.cli('CLUSTER', 'SETSLOT', slot, 'IMPORTING', ids[from] ?? '');
  await source.cli('CLUSTER', 'SETSLOT', slot, 'MIGRATING', ids[to] ?? '');
  for (let rounds = 0; rounds < 400; rounds++) {
    const keys = (await source.cli('CLUSTER', 'GETKEYSINSLOT', slot, 3)) as string[];
    if (keys.length === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 5));
    for (const key of keys) await source.cli('MIGRATE', '127.0.0.1', target.port, key, 0, 1_000).catch(() => {});
  }
  for (const node of [target, source]) await node.cli('CLUSTER', 'SETSLOT', slot, 'NODE', ids[to] ?? '');
}
