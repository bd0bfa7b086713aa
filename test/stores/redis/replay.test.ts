import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeKey } from '../../../src/identity.js';
import { memoryStore } from '../../../src/stores/memory.js';
import { createExact } from '../../../src/stores/redis/exact.js';
import { hammer, inOrder, type Reply } from '../../support/redis/replies.js';
import { ownPrefix, sharedRedis } from '../../support/redis/shared.js';
import { COUNTERS, itemOf } from '../../support/store-program.js';
import { createVirtualClock } from '../../support/virtual-clock.js';

let client: Redis;
beforeAll(() => {
  client = new Redis(sharedRedis().url);
});
afterAll(() => client.disconnect());

const keysOf = async (prefix: string) => (await client.keys(`{${encodeKey(prefix)}}*`)).sort();
const isRefusal = (reply: Reply) => reply.verb === 'reserve' && reply.kind === 'full';

describe('a history of eight processes', () => {
  it('is one that the memory store would have given, reply by reply', async () => {
    const prefix = ownPrefix();

    const history = inOrder((await hammer(sharedRedis(), prefix, { processes: 8, how: 'mixed', ms: 1_500 })).flat());

    const clock = createVirtualClock(0);
    const memory = memoryStore({ clock });
    for (const reply of history) {
      clock.set(reply.atMs);
      if (reply.verb === 'settle') await memory.settle(reply.id, reply.amounts);
      else {
        const { verb, id, items, from, leaseMs, seq, ...decision } = reply;
        expect({ id, seq, ...decision }).toEqual({ id, seq, ...(await memory.reserve(id, items, { from, leaseMs })) });
      }
    }
    const changes = new Set(history.map(({ seq }) => seq));
    expect(history.length).toBeGreaterThan(1_000);
    expect(Math.max(...changes) - Math.min(...changes)).toBe(changes.size - 1);
    expect(history.filter(isRefusal).length).toBeGreaterThan(100);
    expect(new Set(history.map(({ id }) => id.split('-')[0])).size).toBe(8);
    const exact = createExact({ client, readClient: client, prefix, newEpoch: () => 5, now: Date.now });
    // Nothing of these has left its window since the last reply.
    const long = [itemOf('minute', 0), itemOf('seen', 0), itemOf('day', 0)];
    expect(await exact.peek(long)).toEqual(await memory.peek(long));
  });
});

describe('200 reservations at once from four processes', () => {
  it('never pass a limit in any true window, and leave no key without an end', async () => {
    const prefix = ownPrefix();
    const { window, limit } = COUNTERS.second;
    const windowMs = 'ms' in window ? window.ms : 0;

    const replies = inOrder((await hammer(sharedRedis(), prefix, { processes: 4, how: 'burst', ms: 2_500 })).flat());

    const charges = replies.flatMap((reply) =>
      reply.verb === 'reserve' && reply.kind === 'held' ? [{ atMs: reply.atMs, amount: reply.items[0]?.amount ?? 0 }] : [],
    );
    const sums = charges.map(({ atMs: endMs }) =>
      charges.reduce((sum, { atMs, amount }) => (atMs > endMs - windowMs && atMs <= endMs ? sum + amount : sum), 0),
    );
    expect(Math.max(...sums)).toBeLessThanOrEqual(limit);
    // Used up: a limit that is never reached proves nothing.
    expect(Math.max(...sums)).toBeGreaterThan(limit - 5);
    expect(replies.filter(isRefusal).length).toBeGreaterThan(200);
    for (const key of await keysOf(prefix)) {
      const ttlMs = await client.pttl(key);
      if (key.endsWith('}q')) expect(ttlMs).toBe(-1);
      else expect({ key, ttlMs }).toEqual({ key, ttlMs: expect.toSatisfy((ms: number) => ms > 0) });
    }
  });
});

describe('a refusal', () => {
  it('changes no byte of any key', async () => {
    const prefix = ownPrefix();
    const exact = createExact({ client, readClient: client, prefix, newEpoch: () => 5, now: Date.now });
    const all = [itemOf('second', 1), itemOf('minute', 60), itemOf('seen', 9), itemOf('day', 100), itemOf('calls', 2)];
    const dump = async () => Promise.all((await keysOf(prefix)).map(async (key) => [key, `${await client.dumpBuffer(key)}`]));
    await exact.reserve('one', all, { leaseMs: 60_000 });
    const before = await dump();

    for (const [id, items] of [
      ['full', [itemOf('minute', 60)]],
      ['never', [itemOf('seen', 5), itemOf('minute', 101)]],
      ['last', [itemOf('second', 5), itemOf('seen', 5), itemOf('day', 5), itemOf('calls', 2)]],
      ['day', [itemOf('minute', 1), itemOf('day', 201)]],
      ['paced', [itemOf('calls', 1), itemOf('minute', 99, true)]],
    ] as const) {
      const from = id === 'full' ? 'nobody' : undefined;
      expect((await exact.reserve(id, items, { leaseMs: 60_000, from })).kind).toBe('full');
    }
    const drawing = await exact.reserve('drawing', [itemOf('minute', 101), itemOf('calls', 1)], { leaseMs: 60_000, from: 'one' });

    expect(drawing.kind).toBe('full');
    expect(await dump()).toEqual(before);
    expect(before.length).toBe(7);
  });

  it('is all that changes nothing: each other command leaves only keys with an end', async () => {
    const prefix = ownPrefix();
    const exact = createExact({ client, readClient: client, prefix, newEpoch: () => 5, now: Date.now });
    const items = [itemOf('minute', 5), itemOf('day', 5), itemOf('calls', 2)];
    const nowMs = Date.now();
    const { seq } = await exact.beat('me', 1_000);
    const epoch = Math.floor(seq / 2 ** 32);

    await exact.reserve('a', items, { leaseMs: 5_000 });
    await exact.renew(['a'], 5_000);
    await exact.adopt({ id: 'b', items, held: [5, 5, 2], leaseMs: 5_000, leaseEndMs: nowMs + 5_000, atMs: nowMs }, epoch);
    await exact.merge('c', [{ ...itemOf('odd', 0), parts: [[Math.floor((nowMs * 60) / 7_001), 3]] }], epoch);
    await exact.settle('a', [9, 9, 1]);
    await exact.settle('unknown', [1]);

    const ttls = await Promise.all(
      (await keysOf(prefix)).map(async (key) => [key.split('}')[1], await client.pttl(key)] as const),
    );
    expect(ttls.filter(([, ms]) => ms < 0)).toEqual([['q', -1]]);
    expect(ttls.length).toBe(10);
  });
});
