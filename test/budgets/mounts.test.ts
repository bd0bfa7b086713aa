import Koa from 'koa';
import { afterEach, describe, expect, it } from 'vitest';
import { type BudgetOptions, memoryStore, type Options } from '../../src/index.js';
import { handler, type MakeApp, mount, router, type Turn } from '../conformance/adapter/app.js';
import { type Bench, onBench } from '../conformance/adapter/bench.js';
import { chat, completion } from '../support/chat.js';
import { expressApp } from '../support/express-app.js';
import { bodyOf, INPUT } from '../support/gate.js';
import { send } from '../support/http-client.js';
import { koaApp, newParser } from '../support/koa-app.js';
import { closeLimitedApps, createLimitedApp } from '../support/limited-app.js';
import { createVirtualClock } from '../support/virtual-clock.js';

afterEach(closeLimitedApps);

const PRICE = { input: 2, output: 10 };
const answer = (turn: Turn) => turn.json(completion({ input: INPUT, output: 97 }));

describe.each<[string, MakeApp]>([
  ['Express', expressApp],
  ['Koa', koaApp(Koa, newParser)],
])('a request past two mounts on %s', (_, makeApp) => {
  const test = (name: string, run: (bench: Bench) => Promise<void>) => it(name, () => onBench(makeApp, run));
  const world = (bench: Bench, options: Options<'user'> = {}) => {
    const clock = createVirtualClock();
    const made = bench.world({ overheadRatio: 0, ladder: [], defaultPrice: PRICE, clock, ...options }, memoryStore({ clock }));
    return { ...made, clock };
  };

  test('is charged once in every dimension, where there is room for it only once', async (bench) => {
    const usd = (INPUT * PRICE.input + 97 * PRICE.output) / 1_000_000;
    const once: readonly BudgetOptions[] = [
      { tokens: 100, per: 'minute' },
      { inputTokens: INPUT, per: 'minute' },
      { outputTokens: 97, per: 'hour' },
      { usd, per: 'day' },
      { requests: 1, per: 'month' },
      { concurrent: 1 },
    ];
    const { gate, sums, atRest } = world(bench, {
      models: { 'gpt-4o': { budgets: once, usdPerMillion: PRICE } },
      scopes: { user: { budgets: once } },
    });
    const url = await bench.serve(mount(gate, { route: 'all' }), mount(gate, { route: 'chat' }), handler(answer));

    const reply = await send(url, { body: bodyOf(100) });
    await atRest();

    expect(reply.status).toBe(200);
    const kinds = Object.entries({ tokens: 100, inputTokens: INPUT, outputTokens: 97, usd: usd * 1_000_000, requests: 1 });
    expect(await sums()).toEqual(
      Object.fromEntries(
        ['model gpt-4o', 'user ada'].flatMap((scope) => kinds.map(([kind, used]) => [`${scope} ${kind}`, used])),
      ),
    );
  });

  test('counts on the budgets of each, once, and is refused by the inner one without a trace in the outer', async (bench) => {
    const { gate, sums, atRest, clock } = world(bench);
    const outer = { route: 'all', budgets: { route: [{ requests: 5, per: 'hour' }], user: [{ usd: 1, per: 'day' }] } } as const;
    const inner = { route: 'chat', budgets: { route: [{ requests: 1, per: 'minute' }] } } as const;
    const url = await bench.serve(mount(gate, outer), router('/', mount(gate, inner)), handler(answer));

    const first = await send(url, { body: bodyOf(100) });
    await atRest();
    const after = await sums();
    const second = await send(url, { body: bodyOf(100) });
    await atRest();

    expect(first.status).toBe(200);
    expect(after).toMatchObject({
      'route all requests': 1,
      'route chat requests': 1,
      'user ada requests': 1,
      'user ada usd': 976,
    });
    expect(second.status).toBe(429);
    expect(JSON.parse(second.text).error.message).toBe(
      'Used up for now: the request budget of this route. Please try again later.',
    );
    expect(await sums()).toEqual(after);

    clock.set(clock.now() + 1_000 * Number(second.headers['retry-after']));
    expect((await send(url, { body: bodyOf(100) })).status).toBe(200);
    await atRest();
    expect(await sums()).toMatchObject({ 'route all requests': 2 });
  });

  test('is identified by each mount for itself: the inner one may name who the outer did not know', async (bench) => {
    const { gate, sums, atRest } = world(bench, {
      scopes: {
        user: {
          budgets: [
            { tokens: 1_000, per: 'minute' },
            { requests: 5, per: 'minute' },
          ],
          optional: true,
        },
      },
    });
    const url = await bench.serve(mount(gate, { identify: () => undefined }), mount(gate), handler(answer));

    await send(url, { body: bodyOf(100) });
    await atRest();

    expect(await sums()).toMatchObject({ 'user ada tokens': 100, 'user ada requests': 1, 'model gpt-4o tokens': 100 });
  });

  test('is charged by the word of its handler, once', async (bench) => {
    const { gate, sums, atRest } = world(bench);
    const url = await bench.serve(
      mount(gate),
      mount(gate),
      handler((turn) => {
        turn.passage().settle({ inputTokens: 70, outputTokens: 30 });
        turn.json({ said: 'something else' });
      }),
    );

    await send(url, { body: chat() });
    await atRest();

    expect(await sums()).toEqual({
      'model gpt-4o tokens': 100,
      'model gpt-4o requests': 1,
      'user ada tokens': 100,
      'user ada requests': 1,
    });
  });
});

describe('a refused request', () => {
  const call = bodyOf(100, 'gpt-4o', { max_tokens: 97 });
  type Place = 'model' | 'global' | 'organization' | 'user' | 'route';

  /** An application in which one budget has room for one call. */
  function createApp(place: Place, budget: BudgetOptions) {
    const [few, none] = [[budget], []];
    return createLimitedApp({
      budgets: place === 'user' ? few : none,
      gate: {
        models: { 'gpt-4o': { budgets: place === 'model' ? few : none } },
        defaultPrice: PRICE,
        scopes: {
          global: { budgets: place === 'global' ? few : none },
          organization: { budgets: place === 'organization' ? few : none, optional: true },
          user: { budgets: place === 'user' ? few : none, optional: true },
        },
      },
      mount: { budgets: { route: place === 'route' ? few : none } },
    });
  }
  const PLACES: readonly (readonly [Place, string])[] = [
    ['model', 'this model'],
    ['global', 'the whole service'],
    ['organization', 'this organization'],
    ['user', 'this user'],
    ['route', 'this route'],
  ];
  const KINDS: readonly (readonly [BudgetOptions, string])[] = [
    [{ tokens: 150, per: 'minute' }, 'token'],
    [{ inputTokens: INPUT + 1, per: 90_000 }, 'input token'],
    [{ outputTokens: 150, per: 'second' }, 'output token'],
    [{ requests: 1, per: 'hour' }, 'request'],
    [{ usd: 0.0015, per: 'day' }, 'money'],
    [{ tokens: 150, per: 'month', timeZone: 'Asia/Kathmandu' }, 'token'],
  ];

  it.each(PLACES.flatMap(([place, owner]) => KINDS.map(([budget, kind]) => ({ place, owner, budget, kind }))))(
    'is told that the $kind budget of $owner is full, and is let in after the wait it is told: $budget',
    async ({ place, owner, budget, kind }) => {
      const { post, clock } = createApp(place, budget);
      const ask = () => post('ada', call, { 'x-organization': 'acme' });
      expect((await ask()).status).toBe(200);

      const refused = await ask();

      expect(refused.status).toBe(429);
      expect(refused.body.error.message).toBe(`Used up for now: the ${kind} budget of ${owner}. Please try again later.`);
      const waitMs = Number(refused.headers['retry-after-ms'] ?? 1_000 * Number(refused.headers['retry-after']));
      clock.set(clock.now() + waitMs);
      expect((await ask()).status).toBe(200);
    },
  );

  it('of a key of one scope is no refusal of another', async () => {
    const { post } = createApp('user', { requests: 1, per: 'day' });
    await post('ada', call);

    expect([(await post('ada', call)).status, (await post('bob', call)).status]).toEqual([429, 200]);
  });

  it('is told of every budget that is full', async () => {
    const { post } = createLimitedApp({
      budgets: [{ requests: 1, per: 'minute' }],
      mount: { budgets: { route: [{ requests: 1, per: 'minute' }] } },
    });
    await post('ada', call);

    expect((await post('ada', call)).body.error.message).toBe(
      'Used up for now: the request budget of this user and the request budget of this route. Please try again later.',
    );
  });
});
