import express from 'express';
import request from 'supertest';
import { describe, expect, it } from 'vitest';
import { spillway } from '../../adapters/express.js';
import type { CompleteAnswer } from '../../src/dialects/dialect.js';
import { type CachedAnswerOptions, cachedAnswer } from '../../src/ladder/cached-answer.js';
import { createSpillway } from '../../src/spillway.js';
import { callOf, fullOf, visitOf, walkOf } from '../support/builders.js';
import { chat, completion } from '../support/chat.js';
import { createVirtualClock } from '../support/virtual-clock.js';

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
    learn: (call: ReturnType<typeof callOf>, answer: CompleteAnswer) => step.learn?.(call, answer),
    find: (call: ReturnType<typeof callOf>) => step.attempt(walkOf({ call })),
  };
}

describe('cachedAnswer', () => {
  it('gives what was learned from the same call, with its age', async () => {
    const { clock, learn, find } = create();
    learn(callOf(), answerOf('hello'));
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
    const { learn, find } = create();
    learn(callOf(), answerOf('hello'));

    expect(await find(callOf({ body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'x' }] } }))).toBeUndefined();
    expect(await find(callOf({ visit: visitOf({ identity: { user: 'bob' } }) }))).toBeUndefined();
    expect(await find(callOf({ visit: visitOf({ place: 'mount:chat' }) }))).toBeUndefined();
    expect(await find(callOf({ visit: visitOf({ identity: {} }) }))).toBeUndefined();
  });

  it('gives an answer to everyone when told so', async () => {
    const { learn, find } = create({ partition: 'everyone' });
    learn(callOf(), answerOf('hello'));

    expect(await find(callOf({ visit: visitOf({ identity: { user: 'bob' } }) }))).toMatchObject({ text: 'hello' });
  });

  it('gives the newest', async () => {
    const { learn, find } = create();
    learn(callOf(), answerOf('old'));
    learn(callOf(), answerOf('new'));

    expect(await find(callOf())).toMatchObject({ text: 'new' });
  });

  it('gives no answer that is older than it may be', async () => {
    const { clock, learn, find } = create({ staleMs: 1_000 });
    learn(callOf(), answerOf('hello'));

    await clock.advance(1_000);
    expect(await find(callOf())).toMatchObject({ ageMs: 1_000 });
    await clock.advance(1);
    expect(await find(callOf())).toBeUndefined();
  });

  it('takes an answer from the future for a new one, when the clock was set back', async () => {
    const { clock, learn, find } = create();
    learn(callOf(), answerOf('hello'));
    clock.set(clock.now() - 60_000);

    expect(await find(callOf())).toMatchObject({ ageMs: 0 });
  });

  it('names the model that was asked for when the answer names none', async () => {
    const { learn, find } = create();
    learn(callOf(), answerOf('hello', { model: undefined }));

    expect(await find(callOf())).toMatchObject({ model: 'gpt-4o' });
  });

  it('keeps no calls of tools unless asked to', async () => {
    const [without, with_] = [create(), create({ toolCalls: true })];
    for (const { learn } of [without, with_]) learn(callOf(), answerOf('', { hasToolCalls: true }));

    expect(await without.find(callOf())).toBeUndefined();
    expect(await with_.find(callOf())).toMatchObject({ text: '' });
  });

  it('keeps no answer that is too long, and says so before one is collected', async () => {
    const { step, learn, find } = create({ maxAnswerBytes: 1_000 });
    learn(callOf(), answerOf('x'.repeat(1_000)));

    expect(await find(callOf())).toBeUndefined();
    expect(step.learnBytes).toBe(1_000);
  });

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
  ])('refuses %j', (options, message) => {
    expect(() => cachedAnswer(options as never)).toThrow(message);
  });

  it.each(['staleMs', 'maxBytes', 'maxAnswerBytes'] as const)('refuses %s of 0', (option) => {
    expect(() => cachedAnswer({ [option]: 0 })).toThrow(`cachedAnswer.${option} must be a whole number above 0, got 0`);
  });
});

describe('on a mount', () => {
  it('an answer is kept for the path that gave it, and for no other path of the same mount', async () => {
    const gate = createSpillway({
      scopes: { user: { budgets: [{ requests: 2, per: 'hour' }] } },
      ladder: [cachedAnswer()],
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
});
