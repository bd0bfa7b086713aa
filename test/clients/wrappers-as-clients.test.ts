import { afterEach, describe, expect, it } from 'vitest';
import { cachedAnswer, cheaperModel, type Options, staticAnswer } from '../../src/index.js';
import { type ClientWorld, createClientWorld, MODES, type Mode } from '../support/clients/world.js';
import { WRAPPED, WRAPPERS } from '../support/clients/wrappers.js';

let world: ClientWorld;
afterEach(() => world.close());

const QUESTION = 'How deep is the river?';
const OTHER = 'And how wide?';

describe.each(WRAPPED)('as a client of %s with %s, %s', (framework, sdk, name) => {
  const wrapper = WRAPPERS[name];
  const ask = (mode: Mode, text: string, more: { user?: string; signal?: AbortSignal } = {}) =>
    wrapper.ask(mode, text, { baseURL: `${world.origin}/v1`, ...more });

  /** A budget of so many calls, and the ladder below it. */
  async function oneCallPer(per: 'hour' | number, ladder: Options['ladder'] = []): Promise<void> {
    const models = { 'gpt-4o': { budgets: [{ requests: 1, per }], cheaper: ['gpt-4o-mini'] }, 'gpt-4o-mini': {} };
    world = await createClientWorld(framework, sdk, { options: { models, ladder } });
  }

  it.each(MODES)('gets the full answer by %s', async (mode) => {
    world = await createClientWorld(framework, sdk);

    expect(await ask(mode, QUESTION)).toMatch(/^This is gpt-4o on "How deep/);
    await world.expectNothingHeld();
    expect(world.providerCalls()).toBe(1);
  });

  it.each(MODES)('gets a cached answer by %s', async (mode) => {
    await oneCallPer('hour', [cachedAnswer()]);
    const full = await ask(mode, QUESTION);
    await world.expectNothingHeld();

    expect(await ask(mode, QUESTION)).toBe(full);
    expect(world.outcomes()).toEqual(['passed', 'cached']);
    expect(world.providerCalls()).toBe(1);
  });

  it.each(MODES)('gets the answer of a cheaper model by %s', async (mode) => {
    await oneCallPer('hour', [cheaperModel()]);
    await ask(mode, QUESTION);

    expect(await ask(mode, OTHER)).toMatch(/^This is gpt-4o-mini on "And how/);
    await world.expectNothingHeld();
    expect(world.providerCalls()).toBe(2);
  });

  it.each(MODES)('gets a static answer by %s', async (mode) => {
    await oneCallPer('hour', [staticAnswer('We are busy.')]);
    await ask(mode, QUESTION);

    expect(await ask(mode, OTHER)).toBe('We are busy.');
    await world.expectNothingHeld();
    expect(world.providerCalls()).toBe(1);
  });
});
