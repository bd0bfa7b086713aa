import { afterEach, describe, expect, it } from 'vitest';
import { cheaperModel, type Options, queue, staticAnswer } from '../../src/index.js';
import { type ClientWorld, createClientWorld, MODES, type Mode } from '../support/clients/world.js';
import { WRAPPED, WRAPPERS } from '../support/clients/wrappers.js';
import { until } from '../support/loopback.js';

let world: ClientWorld;
afterEach(() => world.close());

describe.each(WRAPPED)('in a handler on %s for %s, %s', (framework, sdk, name) => {
  const wrapper = WRAPPERS[name];
  let thrown: unknown[];
  let attempts: number;
  let ended: number;

  async function start(options: Partial<Options<'user'>>): Promise<void> {
    thrown = [];
    attempts = 0;
    ended = 0;
    world = await createClientWorld(framework, sdk, {
      options,
      handler:
        ({ gate, provider }) =>
        async (body) => {
          const { mode, text } = body as { mode: Mode; text: string };
          const counted: typeof gate.fetch = (input, init) => {
            attempts++;
            return gate.fetch(input, init);
          };
          try {
            return Response.json({ reply: await wrapper.ask(mode, text, { baseURL: provider.url, fetch: counted }) });
          } catch (error) {
            thrown.push(error);
            throw error;
          } finally {
            ended++;
          }
        },
    });
  }
  async function ask(mode: Mode, text: string, init: RequestInit = {}) {
    const response = await fetch(world.origin, {
      ...init,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-user': 'ada' },
      body: JSON.stringify({ mode, text }),
    });
    return { status: response.status, outcome: response.headers.get('spillway-outcome'), ...(await response.json()) };
  }
  /** A budget of so many calls, and the ladder below it. */
  const callsPer = (requests: number, per: 'hour' | number, ladder: Options['ladder'] = []) =>
    start({ models: { 'gpt-4o': { budgets: [{ requests, per }], cheaper: ['gpt-4o-mini'] }, 'gpt-4o-mini': {} }, ladder });

  it.each(MODES)('gets the full answer by %s, and its usage is what is settled', async (mode) => {
    await start({ scopes: { user: { budgets: [{ tokens: 1_000_000, per: 'hour' }] } } });

    const answer = await ask(mode, 'How deep is the river?');

    expect(answer).toEqual({ status: 200, outcome: 'passed', reply: expect.stringMatching(/^This is gpt-4o on "How deep/) });
    await world.expectNothingHeld();
    const { inputTokens = 0, outputTokens = 0 } = world.outbound.provider.stats().models['gpt-4o'] ?? {};
    expect(await world.outbound.sums()).toEqual({ 'user ada tokens': inputTokens + outputTokens });
    expect(outputTokens).toBeGreaterThan(0);
    expect(world.providerCalls()).toBe(1);
  });

  it.each(MODES)('gets the answer of a cheaper model by %s', async (mode) => {
    await callsPer(1, 'hour', [cheaperModel()]);
    await ask(mode, 'How deep is the river?');

    const answer = await ask(mode, 'And how wide?');

    expect(answer).toMatchObject({ outcome: 'cheaper', reply: expect.stringMatching(/^This is gpt-4o-mini on "And how/) });
    expect(world.providerCalls()).toBe(2);
  });

  it.each(MODES)('gets a static answer by %s', async (mode) => {
    await callsPer(1, 'hour', [staticAnswer('We are busy.')]);
    await ask(mode, 'How deep is the river?');

    const answer = await ask(mode, 'And how wide?');

    expect(answer).toEqual({ status: 200, outcome: 'static', reply: 'We are busy.' });
    expect(world.providerCalls()).toBe(1);
  });

  it.each<[string, 'hour' | number]>([
    ['an hour', 'hour'],
    ['30 seconds, for which it would sleep if it were told', 30_000],
  ])('ends above a call that is refused for %s, without a further call of the provider, by create and stream', async (_, per) => {
    await callsPer(1, per, [queue({ waitMs: 100 })]);
    const beganMs = Date.now();
    await ask('create', 'How deep is the river?');

    const answers = await Promise.all(MODES.map((mode) => ask(mode, 'And how wide?')));

    expect(answers).toMatchObject(Array(2).fill({ outcome: 'shed', error: { message: expect.any(String) } }));
    expect(thrown).toHaveLength(2);
    for (const error of thrown) expect(String(error)).toContain('Used up for now: the request budget of this model.');
    await world.expectNothingHeld();
    expect(world.refused).toHaveLength(2 * wrapper.attempts);
    expect(world.providerCalls()).toBe(1);
    expect(Date.now() - beganMs).toBeLessThan(30_000);
  });

  it.each(MODES)(
    'makes no further call of the provider by %s when the client of its handler has left, though it knows of no signal',
    async (mode) => {
      await start({});
      world.outbound.provider.script(['hang']);
      const controller = new AbortController();
      const left = ask(mode, 'How deep is the river?', { signal: controller.signal }).catch((error: unknown) => error);
      await until(() => world.outbound.provider.stats().accepted === 1);

      controller.abort();

      await left;
      await until(() => world.outbound.provider.stats().aborted === 1);
      await until(() => ended === 1 || attempts === 2);
      await world.expectNothingHeld();
      expect(world.providerCalls()).toBe(1);
    },
  );
});
