import { Cluster } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RedisCluster, startCluster } from './cluster.js';

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.stop());

/** They lie in the slots of three different nodes. */
const KEYS = ['b', 'c', 'a'];

describe('startCluster', () => {
  it('is whole for each of its nodes', async () => {
    const infos = await Promise.all(cluster.nodes.map((node) => node.cli('CLUSTER', 'INFO')));

    expect(infos).toHaveLength(3);
    for (const info of infos) expect(info).toMatch(/cluster_state:ok\r\n.*cluster_size:3\r\n/s);
  });

  it('knows the owner of a key, and every other node says that the key has moved', async () => {
    expect(await Promise.all(KEYS.map((key) => cluster.ownerOf(key)))).toEqual(cluster.nodes);

    for (const key of KEYS) {
      const owner = await cluster.ownerOf(key);
      expect(await owner.cli('SET', key, 1)).toBe('OK');
      for (const node of cluster.nodes.filter((each) => each !== owner)) {
        await expect(node.cli('GET', key)).rejects.toThrow(new RegExp(`^MOVED \\d+ 127\\.0\\.0\\.1:${owner.port}$`));
      }
    }
  });

  it('serves a client that begins at any node', async () => {
    const client = new Cluster([...cluster.addresses].reverse());
    try {
      for (const key of KEYS) await client.set(key, `${key}!`);

      expect(await Promise.all(KEYS.map((key) => client.get(key)))).toEqual(['b!', 'c!', 'a!']);
      await expect(client.mget(...KEYS)).rejects.toThrow('CROSSSLOT');
    } finally {
      client.disconnect();
    }
  });
});
