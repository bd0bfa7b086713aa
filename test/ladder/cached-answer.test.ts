import express from 'express';
import { Redis } from 'ioredis';
import OpenAI from 'openai';
import request from 'supertest';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { spillway } from '../../adapters/express.js';
import type { AnswerCache } from '../../src/cache/answer-cache.js';
import type { CompleteAnswer } from '../../src/dialects/dialect.js';
import { type CachedAnswerOptions, cachedAnswer } from '../../src/ladder/cached-answer.js';
import type { SpillwayEvents } from '../../src/observe/events.js';
import { createSpillway } from '../../src/spillway.js';
import { redisAnswerCache } from '../../src/stores/redis/answer-cache.js';
import { callOf, fullOf, visitOf, walkOf } from '../support/builders.js';
import { chat, completion } from '../support/chat.js';
import { listen, until } from '../support/loopback.js';
import { ownPrefix, sharedRedis } from '../support/redis/shared.js';
import { createVirtualClock } from '../support/virtual-clock.js';

let client: Redis;
beforeAll(() => {
  client = new Redis(sharedRedis().url);
});
afterAll(() => client.disconnect());

/** Every place where answers may be kept. */
const CACHES: readonly (readonly [name: string, create: () => { readonly cache?: AnswerCache }])[] = [
  ['memory', () => ({})],
  ['Redis', () => ({ cache: redisAnswerCache(client, { prefix: ownPrefix(), timeoutMs: 5_000 }) })],
];

const usage = { inputTokens: 100, outputTokens: 5 };

function answerOf(text: string, answer: Partial<CompleteAnswer> = {}): CompleteAnswer {
  return { model: 'gpt-4o-2024-08-06', text, hasToolCalls: false, usage, body: { text }, ...answer };
}

function create(options: CachedAnswerOptions = {}) {
  const clock = createVirtualClock();
  const step = cachedAnswer({ clock, ...options });
  return {
    clock,
    step,
    learn: async (call: ReturnType<typeof callOf>, answer: CompleteAnswer) => step.learn?.(call, answer),
    find: (call: ReturnType<typeof callOf>) => step.attempt(walkOf({ call })),
  };
}

describe.each(CACHES)('cachedAnswer, in %s', (_, where) => {
  const createThere = (options: CachedAnswerOptions = {}) => create({ ...where(), ...options });

  it('gives what was learned from the same call, with its age', async () => {
    const { clock, learn, find } = createThere();
    await learn(callOf(), answerOf('hello'));
    await clock.advance(90_000);

    expect(await find(callOf())).toEqual({
      kind: 'cached',
      model: 'gpt-4o-2024-08-06',
      text: 'hello',
      body: { text: 'hello' },
      usage,
      ageMs: 90_000,
    });
  });

  it('gives nothing for another prompt, another identity or another place', async () => {
    const { learn, find } = createThere();
    await learn(callOf(), answerOf('hello'));

    expect(await find(callOf({ body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'x' }] } }))).toBeUndefined();
    expect(await find(callOf({ visit: visitOf({ identity: { user: 'bob' } }) }))).toBeUndefined();
    expect(await find(callOf({ visit: visitOf({ place: 'mount:chat' }) }))).toBeUndefined();
    expect(await find(callOf({ visit: visitOf({ identity: {} }) }))).toBeUndefined();
  });

  it('gives an answer to everyone when told so', async () => {
    const { learn, find } = createThere({ partition: 'everyone' });
    await learn(callOf(), answerOf('hello'));

    expect(await find(callOf({ visit: visitOf({ identity: { user: 'bob' } }) }))).toMatchObject({ text: 'hello' });
  });

  it('gives the newest', async () => {
    const { learn, find } = createThere();
    await learn(callOf(), answerOf('old'));
    await learn(callOf(), answerOf('new'));

    expect(await find(callOf())).toMatchObject({ text: 'new' });
  });

  it('gives no answer that is older than it may be', async () => {
    const { clock, learn, find } = createThere({ staleMs: 1_000 });
    await learn(callOf(), answerOf('hello'));

    await clock.advance(1_000);
    expect(await find(callOf())).toMatchObject({ ageMs: 1_000 });
    await clock.advance(1);
    expect(await find(callOf())).toBeUndefined();
  });

  it('takes an answer from the future for a new one, when the clock was set back', async () => {
    const { clock, learn, find } = createThere();
    await learn(callOf(), answerOf('hello'));
    clock.set(clock.now() - 60_000);

    expect(await find(callOf())).toMatchObject({ ageMs: 0 });
  });

  it('names the model that was asked for when the answer names none', async () => {
    const { learn, find } = createThere();
    await learn(callOf(), answerOf('hello', { model: undefined }));

    expect(await find(callOf())).toMatchObject({ model: 'gpt-4o' });
  });

  it('keeps no calls of tools unless asked to', async () => {
    const [without, with_] = [createThere(), createThere({ toolCalls: true })];
    for (const { learn } of [without, with_]) await learn(callOf(), answerOf('', { hasToolCalls: true }));

    expect(await without.find(callOf())).toBeUndefined();
    expect(await with_.find(callOf())).toMatchObject({ text: '' });
  });

  it('keeps no answer that is too long, and says so before one is collected', async () => {
    const { step, learn, find } = createThere({ maxAnswerBytes: 1_000 });
    await learn(callOf(), answerOf('x'.repeat(1_000)));

    expect(await find(callOf())).toBeUndefined();
    expect(step.learnBytes).toBe(1_000);
  });
});

describe('cachedAnswer', () => {
  it('forgets what was unused for longest once its bytes are used up', async () => {
    const { learn, find } = create({ maxBytes: 1_000 });
    const about = (content: string) => callOf({ body: { model: 'gpt-4o', messages: [{ role: 'user', content }] } });
    for (const topic of ['a', 'b']) learn(about(topic), answerOf('x'.repeat(100)));
    await find(about('a'));
    learn(about('c'), answerOf('x'.repeat(100)));

    expect(await find(about('a'))).toBeDefined();
    expect(await find(about('b'))).toBeUndefined();
    expect(await find(about('c'))).toBeDefined();
  });

  it('helps whatever was refused, and only calls that could be read', () => {
    const { step } = create();
    const closed = { reason: 'closed', full: [], waitMs: 1_000 } as const;

    expect(step.canHelp(fullOf({ a: 100 }), callOf())).toBe(true);
    expect(step.canHelp(closed, callOf())).toBe(true);
    expect(step.canHelp(closed, callOf({ draft: undefined }))).toBe(false);
    expect(step.canHelp(closed, callOf({ dialect: undefined }))).toBe(false);
  });

  it.each([
    [{ partitions: 'user' }, 'cachedAnswer.partitions is not an option; did you mean partition?'],
    [{ partition: 5 }, "cachedAnswer.partition must be 'identity', 'everyone' or the name of a scope"],
    [
      { cache: { get() {} } },
      'cachedAnswer.cache must be a cache, which has the methods get, set and delete, but lacks set, delete',
    ],
    [{ cache: null }, 'but lacks get, set, delete; give one like redisAnswerCache(client)'],
    [{ cache: { get() {}, set() {}, delete() {} }, maxBytes: 5 }, 'cachedAnswer.maxBytes bounds the memory of this process'],
  ])('refuses %j', (options, message) => {
    expect(() => cachedAnswer(options as never)).toThrow(message);
  });

  it.each(['staleMs', 'maxBytes', 'maxAnswerBytes'] as const)('refuses %s of 0', (option) => {
    expect(() => cachedAnswer({ [option]: 0 })).toThrow(`cachedAnswer.${option} must be a whole number above 0, got 0`);
  });
});

describe('a cache of the application', () => {
  const never = { get: async () => undefined, set: async () => {}, delete: async () => {} };

  it('is told neither prompts nor who asks, but for how long and how large', async () => {
    const set = vi.fn(async () => {});
    const { clock, learn } = create({ cache: { ...never, set }, staleMs: 5_000 });
    const call = callOf({ body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'secret' }] } });
    await learn(call, answerOf('hello'));

    const [hash, kept] = [expect.stringMatching(/^[\w-]{43}$/), { answer: answerOf('hello'), atMs: clock.now() }];
    expect(set.mock.calls).toEqual([[hash, hash, kept, { bytes: 272, ttlMs: 5_000 }]]);
  });

  it('that fails is a step that failed: the next one helps, and the answer stands', async () => {
    const skipped: SpillwayEvents['step-skipped'][] = [];
    const failing = vi.fn(() => Promise.reject(new Error('cache down')));
    const gate = createSpillway({
      scopes: { user: { budgets: [{ requests: 1, per: 'hour' }] } },
      ladder: [cachedAnswer({ cache: { ...never, get: failing, set: failing } })],
    });
    gate.on('step-skipped', (event) => skipped.push(event));
    const app = express();
    app.post('/', express.json(), spillway(gate, { identify: () => ({ user: 'ann' }) }), (_, res) => {
      res.json(completion());
    });

    expect((await request(app).post('/').send(chat())).status).toBe(200);
    await until(() => failing.mock.calls.length === 1);
    expect((await request(app).post('/').send(chat())).status).toBe(429);

    const failed = { step: 'cachedAnswer', why: 'failed', error: new Error('cache down') };
    expect(skipped).toMatchObject([failed, failed]);
    await gate.close();
  });
});

describe.each(CACHES)('on a mount, in %s', (_, where) => {
  it('an answer is kept for the path that gave it, and for no other path of the same mount', async () => {
    const gate = createSpillway({
      scopes: { user: { budgets: [{ requests: 2, per: 'hour' }] } },
      ladder: [cachedAnswer(where())],
    });
    const app = express();
    app.post('/bots/:bot', express.json(), spillway(gate, { identify: () => ({ user: 'ann' }) }), (req, res) => {
      res.json(completion({ text: `I am ${req.params.bot}.` }));
    });
    const post = async (path: string) => {
      const { body, headers } = await request(app).post(path).send(chat());
      return [headers['spillway-outcome'], body.choices?.[0].message.content];
    };

    expect(await post('/bots/ada')).toEqual(['passed', 'I am ada.']);
    expect(await post('/bots/bob')).toEqual(['passed', 'I am bob.']);

    expect(await post('/bots/ada')).toEqual(['cached', 'I am ada.']);
    expect(await post('/bots/bob')).toEqual(['cached', 'I am bob.']);
    expect(await post('/bots/cid')).toEqual(['shed', undefined]);
    await gate.close();
  });

  it('a JSON answer is replayed as a stream, and a stream as JSON, to the official SDK', async () => {
    const gate = createSpillway({
      scopes: { user: { budgets: [{ requests: 2, per: 'hour' }] } },
      ladder: [cachedAnswer(where())],
    });
    const app = express();
    app.post('/chat/completions', express.json(), spillway(gate, { identify: () => ({ user: 'ann' }) }), (req, res) => {
      const text = `About ${req.body.messages[0].content}.`;
      if (!req.body.stream) return void res.json(completion({ text }));
      res.type('text/event-stream');
      const chunk = (delta: object, finish_reason: string | null = null) =>
        res.write(
          `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o', choices: [{ index: 0, delta, finish_reason }] })}\n\n`,
        );
      for (const part of text.split(/(?= )/)) chunk({ role: 'assistant', content: part });
      chunk({}, 'stop');
      res.end('data: [DONE]\n\n');
    });
    const server = await listen(app);
    const openai = new OpenAI({ apiKey: 'none', baseURL: server.url, maxRetries: 0 });
    const ask = (content: string) => ({ model: 'gpt-4o', messages: [{ role: 'user' as const, content }] });
    const inJson = async (content: string) => {
      const { data, response } = await openai.chat.completions.create(ask(content)).withResponse();
      return [response.headers.get('spillway-outcome'), data.choices[0]?.message.content];
    };
    const inStream = async (content: string) => {
      const { data, response } = await openai.chat.completions.create({ ...ask(content), stream: true }).withResponse();
      let text = '';
      for await (const { choices } of data) text += choices[0]?.delta.content ?? '';
      return [response.headers.get('spillway-outcome'), text];
    };

    expect(await inJson('seas')).toEqual(['passed', 'About seas.']);
    expect(await inStream('hills')).toEqual(['passed', 'About hills.']);

    for (const ways of [inJson, inStream]) {
      expect(await ways('seas')).toEqual(['cached', 'About seas.']);
      expect(await ways('hills')).toEqual(['cached', 'About hills.']);
      await expect(ways('woods')).rejects.toThrow('429');
    }
    await server.close();
    await gate.close();
  });
});
