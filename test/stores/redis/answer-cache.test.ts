import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { KeptAnswer } from '../../../src/cache/answer-cache.js';
import { cachedAnswer } from '../../../src/ladder/cached-answer.js';
import { staticAnswer } from '../../../src/ladder/static-answer.js';
import { createSpillway } from '../../../src/spillway.js';
import { redisAnswerCache } from '../../../src/stores/redis/answer-cache.js';
import type { RedisClient } from '../../../src/stores/redis/client.js';
import { until } from '../../support/loopback.js';
import { createFaultProxy } from '../../support/redis/fault-proxy.js';
import { freePort } from '../../support/redis/ports.js';
import { ownPrefix, sharedRedis } from '../../support/redis/shared.js';
import { createVirtualClock } from '../../support/virtual-clock.js';
import { CLIENTS } from './clients.js';

const DAY_MS = 86_400_000;
const how = (ttlMs = DAY_MS) => ({ bytes: 500, ttlMs });
const keptOf = (text: string): KeptAnswer => ({
  atMs: 1,
  answer: { model: 'm', text, hasToolCalls: false, usage: undefined, body: { text } },
});

let redis: Redis;
beforeAll(() => {
  redis = new Redis(sharedRedis().url);
});
afterAll(() => redis.disconnect());

const shared = (prefix: string, maxBytes?: number, client: RedisClient = redis) =>
  redisAnswerCache(client, { prefix, timeoutMs: 5_000, ...(maxBytes === undefined ? {} : { maxBytes }) });

/** Every key under a prefix, whatever else the server has. */
async function keysOf(prefix: string): Promise<string[]> {
  const found: string[] = [];
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', `{${prefix}}*`, 'COUNT', 1_000);
    found.push(...keys);
    cursor = next;
  } while (cursor !== '0');
  return found.sort();
}

describe('answers in Redis', () => {
  it.each(CLIENTS)('are shared by instances of one prefix, and by no others, over %s', async (_, connect) => {
    const client = connect();
    const prefix = ownPrefix();
    const [one, two, other] = [shared(prefix), shared(prefix, undefined, client), shared(ownPrefix())];

    await one.set('ann', 'k', keptOf('hello'), how());
    expect(await two.get('ann', 'k')).toEqual(keptOf('hello'));
    expect(await other.get('ann', 'k')).toBeUndefined();

    await two.delete('ann', 'k');
    expect(await one.get('ann', 'k')).toBeUndefined();
    expect(await keysOf(prefix)).toEqual([]);
    client.disconnect();
  });

  it('lie under one hash tag, in keys that end by themselves and name nobody', async () => {
    const prefix = ownPrefix();
    const cache = shared(prefix);
    await cache.set('partition-of-ann', 'key-of-prompt', keptOf('hello'), how(5_000));
    await cache.set('partition-of-bob', 'key-of-prompt', keptOf('hello'), how(60_000));
    await cache.set('partition-of-cid', 'key-of-prompt', keptOf('hello'), how(1_000));

    const keys = await keysOf(prefix);
    const ttls = await Promise.all(keys.map((key) => redis.pttl(key)));
    const fields = await redis.hkeys(`{${prefix}}a`);

    expect(keys).toEqual([`{${prefix}}a`, `{${prefix}}ax`]);
    for (const ttl of ttls) expect(ttl).toBeGreaterThan(50_000);
    for (const ttl of ttls) expect(ttl).toBeLessThanOrEqual(60_000);
    expect(fields).toHaveLength(4);
    expect(fields.join()).not.toMatch(/ann|bob|prompt/);
  });

  it('are not given when their time is over, and leave with the next one that is kept', async () => {
    const prefix = ownPrefix();
    const cache = shared(prefix);
    await cache.set('ann', 'short', keptOf('hello'), how(30));
    await cache.set('ann', 'long', keptOf('hello'), how());

    await until(async () => (await cache.get('ann', 'short')) === undefined);
    expect(await cache.get('ann', 'long')).toBeDefined();
    await cache.set('ann', 'another', keptOf('hello'), how());

    expect(await redis.zcard(`{${prefix}}ax`)).toBe(2);
    expect(await redis.hlen(`{${prefix}}a`)).toBe(3);
  });

  it('leave oldest first, all partitions together, to the byte that each instance allows', async () => {
    const prefix = ownPrefix();
    const cache = shared(prefix, 10_000);
    for (let i = 0; i < 30; i++) await cache.set(`user ${i % 7}`, `${i}`, keptOf('x'.repeat(200)), how());
    const has = () =>
      Promise.all(Array.from({ length: 31 }, async (_, i) => (await cache.get(`user ${i % 7}`, `${i}`)) !== undefined));
    const sizes = async () => {
      const { '#': total, ...values } = await redis.hgetall(`{${prefix}}a`);
      const real = Object.values(values).reduce((sum, value) => sum + Buffer.byteLength(value) + 256, 0);
      return [Number(total), real];
    };

    const many = (await has()).map((found, i) => (found ? i : -1)).filter((i) => i >= 0);
    const [total, real] = await sizes();
    expect(many).toEqual(Array.from({ length: many.length }, (_, i) => 30 - many.length + i));
    expect(many.length).toBeGreaterThan(5);
    expect(total).toBe(real);
    expect(total).toBeLessThanOrEqual(10_000);

    await shared(prefix, 3_000).set('user 2', '30', keptOf('x'.repeat(200)), how());
    const [less, realLess] = await sizes();
    expect((await has())[30]).toBe(true);
    expect(less).toBe(realLess);
    expect(less).toBeLessThanOrEqual(3_000);
  });

  it.each(['a', 'ax'])('begin anew when Redis has dropped the key %s alone', async (name) => {
    const prefix = ownPrefix();
    const cache = shared(prefix, 10_000);
    for (let i = 0; i < 5; i++) await cache.set('ann', `${i}`, keptOf('hello'), how());
    await redis.del(`{${prefix}}${name}`);

    expect(await cache.get('ann', '1')).toBeUndefined();
    await cache.set('ann', 'new', keptOf('new'), how());

    expect(await cache.get('ann', 'new')).toEqual(keptOf('new'));
    const { '#': total, ...values } = await redis.hgetall(`{${prefix}}a`);
    expect(Object.values(values).map((value) => Buffer.byteLength(value) + 256)).toEqual([Number(total)]);
    expect(await redis.zcard(`{${prefix}}ax`)).toBe(1);
  });

  it.each(['', 'no JSON', 'null', '5', '{"v":1}', '{"v":1,"atMs":5,"answer":null}', '{"v":2,"atMs":5,"answer":{"text":"x"}}'])(
    'that are none (%j) are misses',
    async (value) => {
      const prefix = ownPrefix();
      const cache = shared(prefix);
      await cache.set('ann', 'k', keptOf('hello'), how());
      const [field] = (await redis.hkeys(`{${prefix}}a`)).filter((name) => name !== '#');
      await redis.hset(`{${prefix}}a`, field as string, value);

      expect(await cache.get('ann', 'k')).toBeUndefined();
    },
  );

  it('are kept and found again by a server that has forgotten the scripts', async () => {
    const scripts = new Set<string>();
    const forgetful: RedisClient = {
      evalsha: () => Promise.reject(new Error('NOSCRIPT No matching script.')),
      eval(script, ...rest) {
        scripts.add(script);
        return redis.eval(script, ...rest);
      },
    };
    const cache = shared(ownPrefix(), undefined, forgetful);

    await cache.set('ann', 'k', keptOf('hello'), how());

    expect(await cache.get('ann', 'k')).toEqual(keptOf('hello'));
    expect(scripts.size).toBe(2);
  });
});

describe('without Redis', () => {
  it('there is no answer, none is kept, and nobody waits longer than the time-out', async () => {
    const client = new Redis({ port: await freePort(), host: '127.0.0.1' });
    client.on('error', () => {});
    const cache = redisAnswerCache(client, { timeoutMs: 40 });
    const beginMs = performance.now();

    const found = await Promise.all(Array.from({ length: 200 }, (_, i) => cache.get('ann', `${i}`)));
    await Promise.all(Array.from({ length: 200 }, (_, i) => cache.set('ann', `${i}`, keptOf('x'), how())));
    await cache.delete('ann', '1');
    const tookMs = performance.now() - beginMs;

    expect(new Set(found)).toEqual(new Set([undefined]));
    expect(tookMs).toBeLessThan(1_000);
    client.disconnect();
  });

  it('a gate goes on down its ladder', async () => {
    const client = new Redis({ port: await freePort(), host: '127.0.0.1' });
    client.on('error', () => {});
    const gate = createSpillway({
      scopes: { global: { budgets: [{ requests: 1, per: 'hour' }] } },
      ladder: [cachedAnswer({ cache: redisAnswerCache(client) }), staticAnswer('busy')],
    });
    const ask = () => gate.run({ dialect: 'openai-chat', body: { model: 'gpt-4o', messages: [] } }, async () => ({}));

    const beginMs = performance.now();
    const kinds = [];
    for (let i = 0; i < 20; i++) kinds.push((await ask()).kind);

    expect(kinds).toEqual(['passed', ...Array.from({ length: 19 }, () => 'static')]);
    expect(performance.now() - beginMs).toBeLessThan(2_000);
    client.disconnect();
    await gate.close();
  });

  it('it is asked now and then with something small, and used again once it answers', async () => {
    const proxy = await createFaultProxy({ port: sharedRedis().port });
    const client = new Redis(proxy.url, { retryStrategy: () => 20 });
    client.on('error', () => {});
    const cache = redisAnswerCache(client, { prefix: ownPrefix(), timeoutMs: 100 });
    await cache.set('ann', 'k', keptOf('hello'), how());
    expect(await cache.get('ann', 'k')).toBeDefined();

    proxy.halfOpen();
    const beginMs = performance.now();
    for (let i = 0; i < 50; i++) expect(await cache.get('ann', 'k')).toBeUndefined();
    expect(performance.now() - beginMs).toBeLessThan(5 * 100 + 1_500);
    await proxy.heal();

    await until(async () => (await cache.get('ann', 'k')) !== undefined);
    await cache.set('ann', 'k', keptOf('later'), how());
    expect(await cache.get('ann', 'k')).toEqual(keptOf('later'));
    client.disconnect();
    await proxy.close();
  });

  function createSilent(timeoutMs = 50) {
    const clock = createVirtualClock();
    const sent: string[] = [];
    const evalsha = vi.fn((_sha: string, _keys: number, ...args: string[]) => {
      sent.push(args.join());
      return new Promise<unknown>(() => {});
    });
    const cache = redisAnswerCache({ evalsha, eval: evalsha }, { clock, timeoutMs });
    return { clock, cache, sent, evalsha };
  }

  it('the client is given few commands to keep, and no answers', async () => {
    const { clock, cache, sent } = createSilent();
    const large = keptOf('x'.repeat(100_000));

    for (let i = 0; i < 60 * 20; i++) {
      void cache.set('ann', `${i}`, large, how());
      void cache.get('ann', `${i}`);
      await clock.advance(50);
    }

    // A minute: five failures, then two questions a second.
    expect(sent.length).toBeLessThanOrEqual(6 + 2 * 60);
    expect(sent.filter((args) => args.length > 100_000).length).toBeLessThanOrEqual(3);
    expect(clock.timers).toBe(0);
  });

  it('the client is given no more bytes at once than it may keep', async () => {
    const { clock, cache, sent } = createSilent();
    const large = keptOf('x'.repeat(100_000));

    const setting = Array.from({ length: 2_000 }, (_, i) => cache.set('ann', `${i}`, large, how()));
    const reading = Array.from({ length: 5_000 }, (_, i) => cache.get('ann', `${i}`));
    await clock.advance(50);
    await Promise.all([...setting, ...reading]);

    expect(sent.reduce((sum, args) => sum + args.length, 0)).toBeLessThan(18_000_000);
    expect(sent.length).toBeLessThanOrEqual(1_000);
  });

  it('a client that throws is one that does not answer', async () => {
    const thrown = () => {
      throw new Error('Connection is closed.');
    };
    const cache = redisAnswerCache({ evalsha: thrown, eval: thrown });

    await cache.set('ann', 'k', keptOf('x'), how());
    expect(await cache.get('ann', 'k')).toBeUndefined();
  });
});

it('refuses options that are none, all at once', () => {
  const wrong = () => redisAnswerCache({} as never, { prefix: '{x}', maxBytes: 0, timeoutMs: 0.5 });

  expect(wrong).toThrow('redisAnswerCache(client) needs a client with evalsha and eval');
  expect(wrong).toThrow('prefix must be 1 to 64 characters');
  expect(wrong).toThrow('maxBytes must be a whole number from 1 to 9,007,199,254,740,991, got 0');
  expect(wrong).toThrow('timeoutMs must be a whole number from 1 to 10,000, got 0.5');
});
