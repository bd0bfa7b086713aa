import { APIError, AuthenticationError, BadRequestError, NotFoundError, RateLimitError } from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import { cachedAnswer, cheaperModel, type Options, queue, staticAnswer } from '../src/index.js';
import { createSdkWorld, type Mode, type SdkWorld } from './support/sdk.js';

let world: SdkWorld;
afterEach(() => world.close());

const MODES: readonly Mode[] = ['create', 'stream'];
const PAIRS = MODES.flatMap((first) => MODES.map((then): [Mode, Mode] => [first, then]));
const providerCalls = () => world.outbound.provider.stats().calls;

/** One call on gpt-4o in this window, and the ladder below it. */
async function oneCallPer(per: 'hour' | number, ladder: Options['ladder'] = []): Promise<void> {
  world = await createSdkWorld({
    models: { 'gpt-4o': { budgets: [{ requests: 1, per }], cheaper: ['gpt-4o-mini'] }, 'gpt-4o-mini': {} },
    ladder,
  });
}

describe('the official SDK gets', () => {
  it.each(MODES)('the full answer by %s, with one call of the provider', async (mode) => {
    world = await createSdkWorld();

    expect(await world.ask(mode, 'How deep is the river?')).toEqual({
      text: expect.stringMatching(/^This is gpt-4o on/),
      finish: 'stop',
      outcome: 'passed',
      model: 'gpt-4o',
    });
    expect(providerCalls()).toBe(1);
  });

  it.each(MODES)('the full answer by %s after a wait in the queue', async (mode) => {
    await oneCallPer(1_000, [queue({ waitMs: 5_000 })]);
    await world.ask(mode, 'How deep is the river?');

    expect(await world.ask(mode, 'And how wide?')).toMatchObject({
      text: expect.stringMatching(/^This is gpt-4o on "And how wide/),
      finish: 'stop',
      outcome: 'queued',
    });
    expect(providerCalls()).toBe(2);
  });

  it.each(PAIRS)('a cached answer: learned by %s, replayed by %s', async (first, then) => {
    await oneCallPer('hour', [cachedAnswer({ partition: 'identity' }), staticAnswer('not this')]);
    const full = await world.ask(first, 'How deep is the river?');
    await world.outbound.sums();

    expect(await world.ask(then, 'How deep is the river?')).toEqual({ ...full, outcome: 'cached' });
    expect(await world.ask(then, 'And how wide?')).toMatchObject({ text: 'not this', outcome: 'static' });
    expect(providerCalls()).toBe(1);
  });

  it.each(MODES)('nobody else’s cached answer by %s', async (mode) => {
    await oneCallPer('hour', [cachedAnswer({ partition: 'identity' }), staticAnswer('not this')]);
    await world.ask(mode, 'How deep is the river?');
    await world.outbound.sums();
    const bob = world.client({ defaultHeaders: { 'x-user': 'bob' } });

    const { choices } = await bob.chat.completions.create({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'How deep is the river?' }],
    });

    expect(choices[0]?.message.content).toBe('not this');
  });

  it.each(MODES)('the answer of a cheaper model by %s', async (mode) => {
    await oneCallPer('hour', [cheaperModel()]);
    await world.ask(mode, 'How deep is the river?');

    expect(await world.ask(mode, 'How deep is the river?')).toEqual({
      text: expect.stringMatching(/^This is gpt-4o-mini on/),
      finish: 'stop',
      outcome: 'cheaper',
      model: 'gpt-4o-mini',
    });
    expect(providerCalls()).toBe(2);
  });

  it.each(MODES)('a static answer by %s', async (mode) => {
    await oneCallPer('hour', [staticAnswer('We are busy.')]);
    await world.ask(mode, 'How deep is the river?');

    expect(await world.ask(mode, 'How deep is the river?')).toEqual({
      text: 'We are busy.',
      finish: 'stop',
      outcome: 'static',
      model: 'spillway-static',
    });
    expect(providerCalls()).toBe(1);
  });

  it.each(MODES)('a RateLimitError by %s, at once when the wait is long: it does not come back', async (mode) => {
    await oneCallPer('hour');
    await world.ask(mode, 'How deep is the river?');

    const error = await world.ask(mode, 'And how wide?').catch((error: unknown) => error);

    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ status: 429, code: 'rate_limit_exceeded', type: 'requests', param: null });
    expect(error).toMatchObject({ message: '429 Used up for now: the request budget of this model. Please try again later.' });
    expect(world.answered.map(({ outcome }) => outcome)).toEqual(['passed', 'shed']);
    expect(providerCalls()).toBe(1);
  });

  it.each(MODES)('the full answer by %s when it comes back once, after the wait that it was told', async (mode) => {
    await oneCallPer(2_000);
    await world.ask(mode, 'How deep is the river?');

    expect(await world.ask(mode, 'And how wide?')).toMatchObject({ finish: 'stop', outcome: 'passed' });
    expect(world.answered.map(({ outcome }) => outcome)).toEqual(['passed', 'shed', 'passed']);
    expect(providerCalls()).toBe(2);
  });
});

describe('the official SDK throws, without a second attempt and without a call of the provider,', () => {
  it.each(MODES)('413 by %s for a prompt that never fits', async (mode) => {
    world = await createSdkWorld({ models: { 'gpt-4o': { budgets: [{ tokens: 20, per: 'hour' }] } } });

    const error = await world.ask(mode, 'How deep is the river? '.repeat(20)).catch((error: unknown) => error);

    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ status: 413, code: 'request_too_large', type: 'invalid_request_error' });
    expect(world.answered).toHaveLength(1);
    expect(providerCalls()).toBe(0);
  });

  it.each(MODES)('413 by %s for a body that the parser refuses', async (mode) => {
    world = await createSdkWorld();

    const error = await world.ask(mode, 'x'.repeat(200_000)).catch((error: unknown) => error);

    expect(error).toMatchObject({ status: 413, message: '413 request entity too large' });
    expect(providerCalls()).toBe(0);
  });

  it('AuthenticationError for nobody', async () => {
    world = await createSdkWorld();
    const asked = world.client({ defaultHeaders: {} }).chat.completions.create({ model: 'gpt-4o', messages: [] });

    const error = await asked.catch((error: unknown) => error);

    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error).toMatchObject({ code: 'missing_identity' });
    expect(providerCalls()).toBe(0);
  });

  it.each(MODES)('BadRequestError by %s for a model that is not allowed', async (mode) => {
    world = await createSdkWorld({ models: { 'gpt-4o': {} }, unknownModel: 'refuse' });

    const error = await world.ask(mode, 'Hello?', { model: 'o9' }).catch((error: unknown) => error);

    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ code: 'model_not_found', param: 'model', message: expect.stringContaining('gpt-4o') });
    expect(providerCalls()).toBe(0);
  });
});

describe('errors of the provider reach the official SDK as they are:', () => {
  it.each(MODES)('a model that it does not have by %s', async (mode) => {
    world = await createSdkWorld();

    const error = await world.ask(mode, 'Hello?', { model: 'o9' }).catch((error: unknown) => error);

    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({ code: 'model_not_found', message: expect.stringContaining('`o9` does not exist') });
    expect(providerCalls()).toBe(1);
  });
});
