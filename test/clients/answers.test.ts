import { afterEach, describe, expect, it } from 'vitest';
import { cachedAnswer, cheaperModel, type Options, staticAnswer } from '../../src/index.js';
import { MAXIMUM, SDKS } from '../support/clients/sdks.js';
import { type ClientWorld, createClientWorld, MODES, type Mode, PLACES } from '../support/clients/world.js';

let world: ClientWorld;
afterEach(() => world.close());

const PAIRS = MODES.flatMap((first) => MODES.map((then): [Mode, Mode] => [first, then]));
const QUESTION = 'How deep is the river?';
const OTHER = 'And how wide?';

/** A day that began hours ago and does not end for hours, whenever this runs. */
const timeZone = new Date().getUTCHours() < 12 ? 'UTC' : 'Etc/GMT+12';
const DOLLAR_A_TOKEN = { input: 0, output: 1_000_000 };

describe.each(PLACES)('on %s, the SDK of %s gets', (...place) => {
  const { model, cheaper, finished, spent, errors } = SDKS[place[1]];

  /** A budget of so many calls, and the ladder below it. */
  async function callsPer(requests: number, per: 'hour' | number, ladder: Options['ladder'] = []): Promise<void> {
    const models = { [model]: { budgets: [{ requests, per }], cheaper: [cheaper] }, [cheaper]: {} };
    world = await createClientWorld(...place, { options: { models, ladder } });
  }

  it.each(MODES)('the full answer by %s, with one call of the provider', async (mode) => {
    world = await createClientWorld(...place);

    const heard = await world.ask(mode, QUESTION);

    const text = expect.stringMatching(`^This is ${model} on "How deep`);
    expect(heard).toEqual({ text, finish: finished, outcome: 'passed', model });
    await world.expectNothingHeld();
    expect(world.providerCalls()).toBe(1);
    const usages = world.outbound.settled.flatMap(({ usage }) => usage ?? []);
    expect(usages).toMatchObject([{ outputTokens: MAXIMUM }]);
  });

  it.each(PAIRS)('a cached answer: learned by %s, replayed by %s', async (first, then) => {
    await callsPer(1, 'hour', [cachedAnswer(), staticAnswer('not this')]);
    const full = await world.ask(first, QUESTION);
    await world.expectNothingHeld();

    expect(await world.ask(then, QUESTION)).toEqual({ ...full, outcome: 'cached' });
    expect(await world.ask(then, OTHER)).toMatchObject({ text: 'not this', outcome: 'static' });
    await world.expectNothingHeld();
    expect(world.providerCalls()).toBe(1);
  });

  it.each(MODES)('the answer of a cheaper model by %s', async (mode) => {
    await callsPer(1, 'hour', [cheaperModel()]);
    await world.ask(mode, QUESTION);

    const heard = await world.ask(mode, QUESTION);

    const text = expect.stringMatching(`^This is ${cheaper} on "How deep`);
    expect(heard).toEqual({ text, finish: finished, outcome: 'cheaper', model: cheaper });
    await world.expectNothingHeld();
    expect(world.providerCalls()).toBe(2);
  });

  it.each(MODES)('a static answer by %s', async (mode) => {
    await callsPer(1, 'hour', [staticAnswer('We are busy.')]);
    await world.ask(mode, QUESTION);

    const heard = await world.ask(mode, OTHER);

    expect(heard).toEqual({ text: 'We are busy.', finish: finished, outcome: 'static', model: 'spillway-static' });
    await world.expectNothingHeld();
    expect(world.providerCalls()).toBe(1);
  });

  it.each(MODES)('a RateLimitError by %s, at once when the wait is long: it does not come back', async (mode) => {
    await callsPer(1, 'hour');
    await world.ask(mode, QUESTION);

    const error = await world.ask(mode, OTHER).catch((error: unknown) => error);

    expect(error).toBeInstanceOf(errors.RateLimitError);
    expect((error as Error).message).toContain('Used up for now: the request budget of this model. Please try again later.');
    await world.expectNothingHeld();
    expect(world.outcomes()).toEqual(['passed', 'shed']);
    expect(world.providerCalls()).toBe(1);
  });

  it.each(MODES)('a RateLimitError by %s, only once, when the dollars of its day are used up', async (mode) => {
    world = await createClientWorld(...place, {
      options: {
        models: { [model]: { usdPerMillion: DOLLAR_A_TOKEN } },
        unknownModel: 'refuse',
        scopes: { user: { budgets: [{ usd: 1.5 * MAXIMUM, per: 'day', timeZone }] } },
      },
    });
    await world.ask(mode, QUESTION);

    const error = await world.ask(mode, OTHER).catch((error: unknown) => error);
    const others = await world.ask(mode, OTHER, { user: 'bob' });

    expect(error).toBeInstanceOf(errors.RateLimitError);
    expect(error).toMatchObject(spent);
    expect((error as Error).message).toContain('Used up for now: the money budget of this user. Please try again later.');
    expect(others).toMatchObject({ finish: finished, outcome: 'passed' });
    await world.expectNothingHeld();
    expect(world.outcomes()).toEqual(['passed', 'shed', 'passed']);
    expect(world.providerCalls()).toBe(2);
    expect(await world.outbound.sums()).toEqual({ 'user ada usd': MAXIMUM * 1_000_000, 'user bob usd': MAXIMUM * 1_000_000 });
  });
});
