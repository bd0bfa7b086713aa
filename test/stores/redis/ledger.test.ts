import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Tally } from '../../../src/observe/ledger.js';
import { createSpillway } from '../../../src/spillway.js';
import type { RedisClient } from '../../../src/stores/redis/client.js';
import { type RedisLedgerOptions, redisLedger } from '../../../src/stores/redis/ledger.js';
import type { StoreNotice } from '../../../src/stores/store.js';
import { until } from '../../support/loopback.js';
import { createFaultProxy } from '../../support/redis/fault-proxy.js';
import { freePort } from '../../support/redis/ports.js';
import { ownPrefix, sharedRedis } from '../../support/redis/shared.js';
import { createVirtualClock } from '../../support/virtual-clock.js';
import { CLIENTS } from './clients.js';

const RUNS = Number(process.env.SPILLWAY_RUNS ?? 100);
const HOUR_MS = 3_600_000;

let redis: Redis;
beforeAll(() => {
  redis = new Redis(sharedRedis().url);
});
afterAll(() => redis.disconnect());

function create(client: RedisClient = redis, options: RedisLedgerOptions = {}) {
  const clock = createVirtualClock();
  const ledger = redisLedger(client, { prefix: ownPrefix(), clock, ...options });
  const notices: StoreNotice['code'][] = [];
  ledger.onNotice?.(({ code }) => notices.push(code));
  return {
    clock,
    ledger,
    notices,
    use: (user: string, inputTokens = 1) => ledger.add({ user }, undefined, { inputTokens, outputTokens: 0 }, 2),
  };
}

/** A client of a server that never answers. */
function createSilent(): RedisClient & { readonly calls: number } {
  const evalsha = vi.fn(() => new Promise<unknown>(() => {}));
  return {
    evalsha,
    eval: evalsha,
    get calls() {
      return evalsha.mock.calls.length;
    },
  };
}

describe('usage in Redis', () => {
  it.each(CLIENTS)('is the sum of all instances of one prefix, and of no others, over %s', async (_, connect) => {
    const client = connect();
    const prefix = ownPrefix();
    const [one, two, other] = [create(redis, { prefix }), create(client, { prefix }), create()];

    for (let i = 0; i < 30; i++) for (const { use } of [one, two, other]) use(`u${i % 3}`, i);
    await Promise.all([one, two].map(({ ledger }) => ledger.usage({ scope: 'user' })));

    const rows = await one.ledger.usage({ scope: 'global' });
    expect(rows).toEqual(await two.ledger.usage({ scope: 'global' }));
    expect(rows).toMatchObject([{ calls: 60, inputTokens: 2 * 435, usd: 0.00012 }]);
    expect(await two.ledger.usage({ scope: 'user' })).toMatchObject([{ key: 'u2', calls: 20 }, { key: 'u1' }, { key: 'u0' }]);
    expect(await other.ledger.usage({ scope: 'global' })).toMatchObject([{ calls: 30 }]);
    client.disconnect();
  });

  it('tells so many keys of an hour apart, all instances together', async () => {
    const prefix = ownPrefix();
    const [one, two] = [create(redis, { prefix }), create(redis, { prefix })];
    for (let i = 0; i < 6_000; i++) {
      one.use(`one ${i}`);
      two.use(`two ${i}`);
    }
    await Promise.all([one, two].map(({ ledger }) => ledger.usage({ scope: 'user' })));

    const rows = await one.ledger.usage({ scope: 'user', top: 20_000 });

    expect(rows).toHaveLength(10_001);
    expect(rows[0]).toMatchObject({ key: '(others)', calls: 2_000, inputTokens: 2_000 });
  });

  it('is told once a second, and no timer runs while there is nothing to tell', async () => {
    const { clock, ledger, use } = create();
    expect(clock.timers).toBe(0);
    use('ann');
    use('ann');
    expect(clock.timers).toBe(1);

    await ledger.usage({ scope: 'user' });
    await clock.advance(1_000);
    await until(() => clock.timers === 0);

    expect(await ledger.usage({ scope: 'user' })).toMatchObject([{ calls: 2 }]);
  });

  it('lies under one hash tag, in keys that end by themselves, under encoded names', async () => {
    const prefix = ownPrefix();
    const { clock, ledger } = create(redis, { prefix });
    ledger.add({ 'odd scope': '{a key}' }, 'm', { inputTokens: 1, outputTokens: 1 }, 1);
    await ledger.usage({ scope: 'global' });

    const keys: string[] = [];
    let cursor = '0';
    do {
      const [next, found] = await redis.scan(cursor, 'MATCH', `{${prefix}}*`, 'COUNT', 1_000);
      keys.push(...found);
      cursor = next;
    } while (cursor !== '0');
    const hour = clock.now() / HOUR_MS;

    expect(keys.filter((key) => !key.includes('}uf:')).sort()).toEqual(
      ['global', 'model', 'odd%20scope'].map((scope) => `{${prefix}}u${hour}:${scope}`),
    );
    expect(keys.filter((key) => key.includes('}uf:'))).toHaveLength(1);
    expect(await redis.hkeys(`{${prefix}}u${hour}:odd%20scope`)).toEqual(['%7Ba%20key%7D']);
    for (const key of keys) {
      const ttl = await redis.pttl(key);
      expect(ttl).toBeGreaterThan(24 * HOUR_MS - 60_000);
      expect(ttl).toBeLessThanOrEqual(25 * HOUR_MS);
    }
  });

  it('shows a very long name as Redis knows it: it may be the text of a caller', async () => {
    const { ledger } = create();
    ledger.add({}, 'x'.repeat(513), { inputTokens: 1, outputTokens: 1 }, 1);

    expect(await ledger.usage({ scope: 'model' })).toMatchObject([{ key: expect.stringMatching(/^#[\w-]{43}$/) }]);
  });

  it('is read where it was said to be read', async () => {
    const evalsha = vi.fn((...args: Parameters<RedisClient['evalsha']>) => redis.evalsha(...args));
    const readClient: RedisClient = { evalsha, eval: (...args) => redis.eval(...args) };
    const { ledger, use } = create(redis, { readClient });
    use('ann');

    expect(await ledger.usage({ scope: 'user' })).toMatchObject([{ key: 'ann' }]);
    expect(evalsha).toHaveBeenCalledTimes(24);
  });
});

describe('when Redis fails', () => {
  it('each call is counted once, whatever is lost on the way, there or back, or comes late', { timeout: 60_000 }, async () => {
    const fate = fc.constantFrom('ok', 'lost', 'reply lost', 'late', 'unheard');
    const command = fc.oneof(
      fc.record({ user: fc.constantFrom('ann', 'bob', 'x'.repeat(70)), tokens: fc.integer({ min: 0, max: 1_000 }) }),
      fc.constant('ask' as const),
      fc.integer({ min: 0, max: 40_000 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 40 }), fc.array(fate, { maxLength: 25 }), async (commands, fates) => {
        const late: (() => Promise<unknown>)[] = [];
        let at = 0;
        let unheard = 0;
        const client: RedisClient = {
          evalsha: async (...args) => {
            const send = () => redis.evalsha(...args);
            switch (fates[at++] ?? 'ok') {
              case 'lost':
                throw new Error('lost');
              case 'reply lost':
                await send();
                throw new Error('reply lost');
              case 'late':
                late.push(send);
                throw new Error('late');
              case 'unheard':
                late.push(send);
                // The client may keep so many; with one more, nothing would be told any more.
                if (++unheard < 4) return new Promise(() => {});
                throw new Error('late');
              default:
                return send();
            }
          },
          eval: (...args) => redis.eval(...args),
        };
        const { clock, ledger } = create(client, { flushMs: 1_000, timeoutMs: 500 });
        const sums = new Map<string, [calls: number, tokens: number]>();

        for (const [index, given] of commands.entries()) {
          if (given === 'ask') {
            void ledger.usage({ scope: 'user' }).catch(() => {});
            await clock.advance(0);
          } else if (typeof given === 'number') await clock.advance(given);
          else {
            ledger.add({ user: given.user }, undefined, { inputTokens: given.tokens, outputTokens: 0 }, 0);
            const [calls, tokens] = sums.get(given.user) ?? [0, 0];
            sums.set(given.user, [calls + 1, tokens + given.tokens]);
          }
          if (index % 7 === 6) await late.shift()?.();
        }
        // All is well from now on.
        at = fates.length;
        await clock.advance(60_000);
        for (const send of late) await send();
        // One that is under way may have to time out first, and time stands still here.
        let rows: readonly Tally[] | undefined;
        await until(async () => {
          const asking = ledger.usage({ scope: 'user' }).catch(() => undefined);
          await Promise.race([asking, new Promise((resolve) => setTimeout(resolve, 50)).then(() => clock.advance(500))]);
          rows = await asking;
          return rows !== undefined;
        });

        expect(new Map(rows?.map(({ key, calls, inputTokens }) => [key, [calls, inputTokens]]))).toEqual(sums);
      }),
      { numRuns: RUNS },
    );
  });

  it('counting fails nobody, asking says so in time, and the client is given little to keep', async () => {
    const client = createSilent();
    const { clock, ledger, use } = create(client);

    for (let i = 0; i < 1_000; i++) {
      use(`u${i}`);
      await clock.advance(100);
    }
    const asking = ledger.usage({ scope: 'user' });
    const closing = clock.advance(1_000);

    await expect(asking).rejects.toMatchObject({ code: 'SPILLWAY_STORE_AWAY', message: expect.stringContaining('Redis') });
    await closing;
    expect(client.calls).toBe(4);
  });

  it('an operator hears once that it is away, that it is back, and what was lost', async () => {
    let isDown = true;
    const evalsha: RedisClient['evalsha'] = (...args) =>
      isDown ? Promise.reject(new Error('Connection is closed.')) : redis.evalsha(...args);
    const { clock, ledger, notices, use } = create({ evalsha, eval: (...args) => redis.eval(...args) });

    use('ann');
    await clock.advance(10 * 60_000);
    expect(notices).toEqual(['away']);
    await clock.advance(HOUR_MS);
    use('bob');
    await clock.advance(25 * HOUR_MS);
    use('cid');
    expect(notices).toEqual(['away', 'lost']);

    isDown = false;
    await until(async () => {
      await clock.advance(30_000);
      return notices.length === 3;
    });
    expect(notices).toEqual(['away', 'lost', 'back']);
    // Time passed faster than Redis answers: some commands may still be on their way.
    await expect.poll(() => ledger.usage({ scope: 'user' }).catch(() => 'away')).toMatchObject([{ key: 'cid' }]);
  });

  it('a closed port blocks nobody, and closing waits no longer than its time-out', async () => {
    const client = new Redis({ port: await freePort(), host: '127.0.0.1' });
    client.on('error', () => {});
    const ledger = redisLedger(client, { timeoutMs: 100 });
    const notices: string[] = [];
    ledger.onNotice?.(({ code, message }) => notices.push(`${code}: ${message}`));
    const beginMs = performance.now();

    ledger.add({ user: 'ann' }, 'm', { inputTokens: 1, outputTokens: 1 }, 1);
    await expect(ledger.usage({ scope: 'user' })).rejects.toMatchObject({ code: 'SPILLWAY_STORE_AWAY' });
    await ledger.close?.();
    await ledger.close?.();

    expect(performance.now() - beginMs).toBeLessThan(1_000);
    expect(notices).toEqual(['lost: Redis does not answer, and this instance ends: usage of 3 keys was not told to it']);
    client.disconnect();
  });

  it('what was used while the network was silent is told when it is back', async () => {
    const proxy = await createFaultProxy({ port: sharedRedis().port });
    const client = new Redis(proxy.url, { retryStrategy: () => 20 });
    client.on('error', () => {});
    const ledger = redisLedger(client, { prefix: ownPrefix(), timeoutMs: 100, flushMs: 10 });
    const use = () => ledger.add({ user: 'ann' }, undefined, { inputTokens: 1, outputTokens: 0 }, 0);
    use();
    await ledger.usage({ scope: 'user' });

    proxy.dropReplies();
    use();
    await expect(ledger.usage({ scope: 'user' })).rejects.toMatchObject({ code: 'SPILLWAY_STORE_AWAY' });
    proxy.halfOpen();
    use();
    await expect(ledger.usage({ scope: 'user' })).rejects.toMatchObject({ code: 'SPILLWAY_STORE_AWAY' });
    await proxy.heal();

    let rows: unknown;
    await until(async () => {
      rows = await ledger.usage({ scope: 'user' }).catch(() => undefined);
      return rows !== undefined;
    });
    expect(rows).toMatchObject([{ key: 'ann', calls: 3, inputTokens: 3 }]);
    await ledger.close?.();
    client.disconnect();
    await proxy.close();
  });
});

describe('a gate', () => {
  it('counts for all instances together, and tells the rest when it is closed', async () => {
    const prefix = ownPrefix();
    const gates = [1, 2].map(() =>
      createSpillway({
        scopes: { user: { budgets: [], optional: true } },
        ledger: redisLedger(redis, { prefix, flushMs: 60_000 }),
      }),
    );
    const body = { model: 'gpt-4o', messages: [] };
    for (const gate of gates)
      await gate
        .as({ user: 'ann' })
        .run({ dialect: 'openai-chat', body }, async () => ({ usage: { prompt_tokens: 5, completion_tokens: 2 } }));

    await gates[0]?.close();
    await until(async () => (await gates[1]?.usage({ scope: 'user' }))?.[0]?.calls === 2);

    expect(await gates[1]?.usage({ scope: 'user' })).toMatchObject([{ key: 'ann', calls: 2, inputTokens: 10, outputTokens: 4 }]);
    await gates[1]?.close();
  });
});

it('refuses options that are none, all at once', () => {
  const wrong = () => redisLedger(null as never, { prefix: '', flushMs: -1, timeoutMs: 1e9, readClient: {} as never });

  expect(wrong).toThrow('redisLedger(client) needs a client with evalsha and eval');
  expect(wrong).toThrow('readClient needs a client with evalsha and eval');
  expect(wrong).toThrow('prefix must be 1 to 64 characters');
  expect(wrong).toThrow('flushMs must be a whole number from 1 to 60,000, got -1');
  expect(wrong).toThrow('timeoutMs must be a whole number from 1 to 60,000, got 1000000000');
});
