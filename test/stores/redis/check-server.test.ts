import type { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { checkServer } from '../../../src/stores/redis/check-server.js';
import type { RedisClient } from '../../../src/stores/redis/client.js';
import { until } from '../../support/loopback.js';
import { type RedisServer, startRedis } from '../../support/redis/server.js';
import { closeRigs, connect, HOW, openStore, tokens } from './rig.js';

let server: RedisServer | undefined;
afterEach(async () => {
  await closeRigs();
  await server?.stop();
});

const client = (server: string, memory: string, rest: object = {}): RedisClient => ({
  evalsha: async () => undefined,
  eval: async () => undefined,
  info: async (section) => (section === 'server' ? server : memory),
  ...rest,
});
const GOOD = 'redis_version:7.2.4\r\nredis_mode:standalone\r\n';

describe('the check of a server', () => {
  it.each([
    ['a good one', GOOD, 'maxmemory:0\r\nmaxmemory_policy:noeviction\r\n', []],
    ['one that evicts, without a limit to its memory', GOOD, 'maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n', []],
    [
      'one that evicts',
      GOOD,
      'maxmemory:1000\r\nmaxmemory_policy:allkeys-lru\r\n',
      [/maxmemory-policy is allkeys-lru.*noeviction/],
    ],
    ['one that is full and does not', GOOD, 'maxmemory:1000\r\nmaxmemory_policy:noeviction\r\n', []],
    ['an old one', 'redis_version:5.0.14\r\nredis_mode:standalone\r\n', '', [/Redis 5\.0\.14 is too old/]],
    ['a cluster, without a client for one', 'redis_version:7.2.4\r\nredis_mode:cluster\r\n', '', [/Cluster client/]],
    ['one that says nothing', '', '', []],
  ])('finds in %s what is wrong', async (_, serverInfo, memoryInfo, faults) => {
    expect(await checkServer(client(serverInfo, memoryInfo))).toEqual(faults.map((fault) => expect.stringMatching(fault)));
  });

  it('asks nothing of a client that has no words for it', async () => {
    const { info: _, ...mute } = client('', '');

    expect(await checkServer(mute)).toEqual([]);
  });

  it('is made by the first use of a store, and told to its listener', async () => {
    server = await startRedis({ config: ['maxmemory 100mb', 'maxmemory-policy volatile-lru'] });
    const { store, notices } = openStore(server.port);
    const heard: string[] = [];
    store.onNotice(({ code, message }) => heard.push(`${code} ${message}`));

    await store.reserve('a', [tokens(1)], HOW);

    await until(() => heard.length > 0);
    expect(heard).toEqual([expect.stringMatching(/^setting .*volatile-lru/)]);
    expect(notices).toEqual([]);
  });

  it('is no fault of the store when the server does not answer it', async () => {
    server = await startRedis();
    const real: Redis = connect(server.port);
    const { store, notices } = openStore(server.port, {
      client: {
        evalsha: real.evalsha.bind(real),
        eval: real.eval.bind(real),
        info: () => Promise.reject(new Error('NOPERM')),
      } as never,
      readClient: real,
    });

    expect((await store.reserve('a', [tokens(1)], HOW)).kind).toBe('held');
    expect([notices, store.isAway]).toEqual([[], false]);
  });
});
