import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AnswerCache } from '../../src/cache/answer-cache.js';
import type { Partition } from '../../src/cache/cache-key.js';
import { memoryAnswerCache } from '../../src/cache/memory-answer-cache.js';
import type { Answer, Call, Identity } from '../../src/call.js';
import { cachedAnswer } from '../../src/ladder/cached-answer.js';
import { isAnswer } from '../../src/ladder/step.js';
import { redisAnswerCache } from '../../src/stores/redis/answer-cache.js';
import { callOf, visitOf, walkOf } from '../support/builders.js';
import { ownPrefix, sharedRedis } from '../support/redis/shared.js';

const RUNS = Number(process.env.SPILLWAY_RUNS ?? 200);
const SCOPES = ['organization', 'user', '__proto__'];

let client: Redis;
beforeAll(() => {
  client = new Redis(sharedRedis().url);
});
afterAll(() => client.disconnect());

/** Keys that run together when they are joined without care. */
const key = fc.oneof(
  fc.constantFrom('a', 'b', 'a"', 'a,b', '","', '*', 'everyone', '["user","a"]', '\ud800', '\udc00'),
  fc.string({ minLength: 1 }),
);
const identity: fc.Arbitrary<Identity> = fc
  .array(fc.tuple(fc.constantFrom(...SCOPES), key), { maxLength: 3 })
  .map((entries) => Object.freeze(Object.assign(Object.create(null), Object.fromEntries(entries))));
const content = fc.oneof(fc.constantFrom('hi', 'hi ', 'a'), fc.string());
const call: fc.Arbitrary<Call> = fc
  .record({
    identity,
    place: fc.constantFrom('call', 'mount:chat', 'mount:bot'),
    requestedModel: fc.constantFrom('gpt-4o', 'gpt-4o-mini', undefined),
    messages: fc.array(fc.record({ role: fc.constantFrom('user', 'system'), content }), { maxLength: 2 }),
    stream: fc.boolean(),
    user: key,
  })
  .map(({ identity, place, requestedModel, messages, stream, user }) =>
    callOf({
      visit: visitOf({ identity, scopes: SCOPES, place }),
      requestedModel,
      model: requestedModel,
      body: { model: requestedModel ?? 'odd', messages, stream, user },
    }),
  );
const partition: fc.Arbitrary<Partition> = fc.constantFrom('identity', 'everyone', 'user', 'organization');

/** Who a call is to a partition, said without the code under test; `undefined`: nobody who may have cached answers. */
function whoOf({ visit }: Call, partition: Partition): readonly string[] | undefined {
  const names = partition === 'everyone' ? [] : partition === 'identity' ? SCOPES : [partition];
  const keys = names.map((name) => (Object.hasOwn(visit.identity, name) ? visit.identity[name] : undefined));
  return keys.every((one) => one !== undefined) ? (keys as string[]) : undefined;
}

/** What shapes the answer. */
const askedOf = ({ visit, requestedModel, body }: Call) => [
  visit.place,
  requestedModel ?? null,
  (body as { messages: unknown }).messages,
];

describe.each<[string, () => AnswerCache]>([
  ['memory', () => memoryAnswerCache(10_000_000)],
  ['Redis', () => redisAnswerCache(client, { prefix: ownPrefix(), timeoutMs: 5_000 })],
])('in %s', (_, create) => {
  it('a cached answer is one to the same question of the same partition, the newest', async () => {
    let found = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(partition, call), { minLength: 1, maxLength: 12 }),
        fc.array(fc.tuple(partition, call), { maxLength: 12 }),
        async (learned, others) => {
          // One cache for all steps: as mounts of different partitions may share one.
          const cache = create();
          const steps = new Map<Partition, ReturnType<typeof cachedAnswer>>();
          const stepOf = (name: Partition) => {
            const step = steps.get(name) ?? cachedAnswer({ partition: name, cache });
            steps.set(name, step);
            return step;
          };
          const nameOf = (name: Partition, one: Call) => JSON.stringify([name, whoOf(one, name), askedOf(one)]);
          const newest = new Map<string, string>();

          for (const [index, [name, one]] of learned.entries()) {
            const answer = { model: 'm', text: `${index}`, hasToolCalls: false, usage: undefined, body: {} };
            await stepOf(name).learn?.(one, answer);
            if (whoOf(one, name)) newest.set(nameOf(name, one), answer.text);
          }
          for (const [name, one] of [...learned, ...others]) {
            const result = await stepOf(name).attempt(walkOf({ call: one }));
            const expected = whoOf(one, name) ? newest.get(nameOf(name, one)) : undefined;
            expect(result && isAnswer(result) ? (result as Answer).text : undefined).toBe(expected);
            if (result) found++;
          }
        },
      ),
      { numRuns: RUNS },
    );
    expect(found).toBeGreaterThan(RUNS);
  });
});
