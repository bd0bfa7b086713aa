import { describe, expect, it, type TestContext } from 'vitest';
import { queue } from '../../src/index.js';
import { SDKS } from '../support/clients/sdks.js';
import {
  type ClientWorld,
  createClientWorld,
  type FrameworkName,
  MODES,
  PLACES,
  type SdkName,
  type WorldOptions,
} from '../support/clients/world.js';
import { WRAPPED, WRAPPERS } from '../support/clients/wrappers.js';
import { until } from '../support/loopback.js';

const QUESTION = 'How deep is the river?';
const OTHER = 'And how wide?';

/** These tests wait in real time, so they do it side by side, each with a world of its own. */
async function start(
  { onTestFinished }: TestContext,
  framework: FrameworkName,
  sdk: SdkName,
  options: NonNullable<WorldOptions['options']> = {},
): Promise<ClientWorld> {
  const world = await createClientWorld(framework, sdk, { options });
  onTestFinished(() => world.close());
  return world;
}

/** One request of each user in two seconds. */
const oneEach = { scopes: { user: { budgets: [{ requests: 1, per: 2_000 }] } } };

describe.concurrent.each(PLACES)('on %s, the SDK of %s, by create and stream', (...place) => {
  const { model, finished, errors } = SDKS[place[1]];

  it('gets the full answer after a wait in the queue', async (test) => {
    const world = await start(test, ...place, { ...oneEach, ladder: [queue({ waitMs: 10_000 })] });
    const asking = () => Promise.all(MODES.map((mode) => world.ask(mode, OTHER, { user: mode })));
    await asking();

    const heard = await asking();

    const text = expect.stringMatching(`^This is ${model} on "And how wide`);
    expect(heard).toEqual(Array(2).fill({ text, finish: finished, outcome: 'queued', model }));
    await world.expectNothingHeld();
    expect(world.providerCalls()).toBe(4);
  });

  it('gets the full answer when it comes back once, after the wait that it was told', async (test) => {
    const world = await start(test, ...place, { ...oneEach, ladder: [] });
    const asking = () => Promise.all(MODES.map((mode) => world.ask(mode, OTHER, { user: mode })));
    await asking();

    const heard = await asking();

    expect(heard.map(({ finish }) => finish)).toEqual([finished, finished]);
    await world.expectNothingHeld();
    expect(world.outcomes()).toEqual(['passed', 'passed', 'shed', 'shed', 'passed', 'passed']);
    expect(world.providerCalls()).toBe(4);
  });

  it('runs out of time in each of its attempts, which all end upstream', async (test) => {
    const world = await start(test, ...place);
    const { provider, settled } = world.outbound;
    provider.script(['hang', 'hang', 'hang', 'hang']);
    const client = world.client({ timeout: 1_000, maxRetries: 1 });

    const results = await Promise.all(MODES.map((mode) => client[mode](QUESTION).catch((error: unknown) => error)));

    for (const error of results) expect(error).toBeInstanceOf(errors.APIConnectionTimeoutError);
    await until(() => provider.stats().aborted === 4);
    await world.expectNothingHeld();
    expect(settled.filter(({ usage }) => usage).map(({ by }) => by)).toEqual(Array(4).fill('partial'));
    expect(world.providerCalls()).toBe(4);
  });
});

describe.concurrent.each(WRAPPED)('as a client of %s with %s, %s, by create and stream', (framework, sdk, name) => {
  const wrapper = WRAPPERS[name];

  it('gets the full answer after a short wait that it was told', async (test) => {
    const world = await start(test, framework, sdk, { ...oneEach, ladder: [] });
    const baseURL = `${world.origin}/v1`;
    const asking = () => Promise.all(MODES.map((mode) => wrapper.ask(mode, OTHER, { baseURL, user: mode })));
    await asking();

    const answers = await asking();

    expect(answers).toEqual(Array(2).fill(expect.stringMatching(/^This is gpt-4o on "And how/)));
    await world.expectNothingHeld();
    expect(world.outcomes().slice(0, 4)).toEqual(['passed', 'passed', 'shed', 'shed']);
    expect(world.providerCalls()).toBe(4);
  });

  it('ends in an error, without a further call of the provider, when the wait is long', async (test) => {
    const world = await start(test, framework, sdk, { models: { 'gpt-4o': { budgets: [{ requests: 1, per: 'hour' }] } } });
    const baseURL = `${world.origin}/v1`;
    await wrapper.ask('create', QUESTION, { baseURL });

    const thrown = await Promise.all(MODES.map((mode) => wrapper.ask(mode, OTHER, { baseURL }).catch((error: unknown) => error)));

    for (const error of thrown) {
      expect(error).toBeInstanceOf(Error);
      expect(String(error)).toContain('Used up for now: the request budget of this model. Please try again later.');
    }
    await world.expectNothingHeld();
    expect(world.outcomes()).toEqual(['passed', ...Array(2 * wrapper.attempts).fill('shed')]);
    expect(world.providerCalls()).toBe(1);
  });
});
