import express, { type Request } from 'express';
import fc from 'fast-check';
import request from 'supertest';
import { afterEach, describe, expect, it } from 'vitest';
import { spillway, spillwayOf } from '../../adapters/express.js';
import { type BudgetOptions, cachedAnswer, type MountOptions, memoryStore, queue, staticAnswer } from '../../src/index.js';
import { completion } from '../support/chat.js';
import { answerOf, bodyOf } from '../support/gate.js';
import { closeLimitedApps, createLimitedApp as createApp, limitsIn, USER } from '../support/limited-app.js';
import { until } from '../support/loopback.js';
import { checkAll, parseList } from '../support/ratelimit.js';

describe('the headers about limits, on Express:', () => {
  afterEach(closeLimitedApps);

  it('one call tells what its own budgets have left, and nothing of those that others share', async () => {
    const { post } = createApp();

    const { status, headers } = await post('ada');

    expect(status).toBe(200);
    expect(limitsIn(headers)).toEqual({
      'ratelimit-policy': '"user-tokens-minute";q=10000;qu="tokens";w=60, "user-requests-minute";q=3;w=60',
      ratelimit: '"user-tokens-minute";r=9900;t=61, "user-requests-minute";r=2;t=61',
      'x-ratelimit-limit-requests': '3',
      'x-ratelimit-remaining-requests': '2',
      'x-ratelimit-reset-requests': '1m1s',
      'x-ratelimit-limit-tokens': '10000',
      'x-ratelimit-remaining-tokens': '9900',
      'x-ratelimit-reset-tokens': '1m1s',
    });
    expect(JSON.stringify(headers)).not.toMatch(/777|888|999/);
  });

  it('a body of Anthropic gets the headers of Anthropic', async () => {
    const { post } = createApp({ mount: { dialect: 'anthropic-messages' } });

    const { headers } = await post('ada', bodyOf(100));

    expect(headers).toMatchObject({
      'anthropic-ratelimit-requests-limit': '3',
      'anthropic-ratelimit-requests-remaining': '2',
      'anthropic-ratelimit-requests-reset': '2026-01-01T00:01:01Z',
      'anthropic-ratelimit-tokens-limit': '10000',
    });
    expect(Object.keys(headers).filter((name) => name.startsWith('x-ratelimit'))).toEqual([]);
  });

  it('two users are told their own numbers', async () => {
    const { post } = createApp();

    await post('ada');
    const [ada, bob] = [await post('ada', bodyOf(300)), await post('bob')];

    expect(ada.headers.ratelimit).toBe('"user-tokens-minute";r=9600;t=61, "user-requests-minute";r=1;t=61');
    expect(bob.headers.ratelimit).toBe('"user-tokens-minute";r=9900;t=61, "user-requests-minute";r=2;t=61');
  });

  it("a budget of the mount for each user is the caller's own too, under another name", async () => {
    const { post } = createApp({
      budgets: [USER[1] as BudgetOptions],
      mount: { budgets: { user: [{ requests: 2, per: 'minute' }] } },
    });

    const { headers } = await post('ada');

    expect(headers.ratelimit).toBe('"user-requests-minute";r=2;t=61, "user-requests-minute-2";r=1;t=61');
    expect(headers['x-ratelimit-remaining-requests']).toBe('1');
  });

  it('a refusal tells the wait of what is full, and retry-after is no earlier', async () => {
    const { clock, post } = createApp({ budgets: [{ requests: 50, per: 'day' }, ...USER] });
    for (let times = 0; times < 3; times++) await post('ada');
    await clock.advance(30_000);

    const { status, headers } = await post('ada');

    expect(status).toBe(429);
    expect(headers.ratelimit).toBe('"user-requests-day";r=47, "user-tokens-minute";r=9700, "user-requests-minute";r=0;t=31');
    expect(headers).toMatchObject({ 'retry-after': '31', 'retry-after-ms': '31000', 'x-ratelimit-reset-requests': '31s' });
    checkAll(headers, clock.now());
  });

  it('a refusal by a budget that others share tells what the caller has left, and not whose limit it was', async () => {
    const { post } = createApp({ gate: { models: { 'gpt-4o': { budgets: [{ requests: 1, per: 'hour' }] } } } });
    await post('bob');

    const { status, headers } = await post('ada');

    expect(status).toBe(429);
    expect(headers.ratelimit).toBe('"user-tokens-minute";r=10000, "user-requests-minute";r=3');
    expect(headers).toMatchObject({ 'retry-after': '3660', 'x-should-retry': 'false' });
    expect(headers).not.toHaveProperty('retry-after-ms');
  });

  it('a mount around the one that refused tells no reset that is later than its retry-after', async () => {
    const { gate, clock } = createApp({
      budgets: [
        { requests: 50, per: 'day' },
        { requests: 1, per: 'minute' },
      ],
    });
    const app = express();
    const mounted = (route: string) => spillway(gate, { route, identify: (req: Request) => ({ user: req.get('x-user') }) });
    const inner = { budgets: { user: [{ requests: 1, per: 'second' as const }] }, route: 'inner' };
    app.use(mounted('outer'), spillway(gate, { ...inner, identify: () => ({ user: 'ada' }) }), (_req, res) => void res.json({}));
    const post = () => request(app).post('/chat').set('x-user', 'ada').send(bodyOf(100));
    await post();
    await clock.advance(61_000);
    await post();
    await clock.advance(100);

    const { status, headers } = await post();

    expect(status).toBe(429);
    expect(parseList(headers.ratelimit as string).filter(({ params }) => params.t !== undefined)).not.toEqual([]);
    checkAll(headers, clock.now());
  });

  it('a mount around one that knows more of the caller does not take its numbers away', async () => {
    const { gate } = createApp();
    const app = express();
    app.use(spillway(gate, { route: 'outer', identify: () => ({}) }));
    app.use(spillway(gate, { route: 'inner', identify: () => ({ user: 'ada' }) }), (_req, res) => void res.json({}));

    const { headers } = await request(app).post('/chat').send(bodyOf(100));

    expect(headers.ratelimit).toBe('"user-tokens-minute";r=9900;t=61, "user-requests-minute";r=2;t=61');
  });

  it('a call that never fits is told its limits, and no wait', async () => {
    const { post } = createApp({ budgets: [{ inputTokens: 2, per: 'minute' }] });

    const { status, headers } = await post('ada');

    expect(status).toBe(413);
    expect(limitsIn(headers)).toEqual({ 'ratelimit-policy': '"user-input-tokens-minute";q=2;qu="tokens";w=60' });
    expect(headers).not.toHaveProperty('retry-after');
  });

  it('a call that is kept out by others in line is told its limits, and no numbers that nobody asked for', async () => {
    const { gate, clock, post } = createApp({
      budgets: [{ requests: 1, per: 'minute' }],
      gate: { ladder: [queue({ waitMs: 120_000, maxRequests: 1 })] },
    });
    await post('ada');
    const waiting = post('ada');
    await until(async () => (await gate.snapshot()).queueDepth === 1);

    const { status, headers } = await post('ada');
    await clock.advance(62_000);

    expect(status).toBe(429);
    expect(limitsIn(headers)).toEqual({ 'ratelimit-policy': '"user-requests-minute";q=1;w=60' });
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(61);
    expect((await waiting).headers).toMatchObject({
      'spillway-outcome': 'queued',
      ratelimit: '"user-requests-minute";r=0;t=61',
    });
  });

  it('a store that is gone leaves the numbers out, and the wait in', async () => {
    const store = memoryStore();
    store.reserve = () => Promise.reject(new Error('gone'));
    const { post } = createApp({ gate: { store } });

    const { status, headers } = await post('ada');

    expect(status).toBe(503);
    expect(limitsIn(headers)).toEqual({});
    expect(headers).toMatchObject({ 'retry-after': '1', 'retry-after-ms': '1000' });
  });

  it.each([
    ['static', staticAnswer('Later, please.')],
    ['cached', cachedAnswer()],
  ])('a %s answer tells how long the budget stays full', async (outcome, step) => {
    const { post } = createApp({ budgets: [{ requests: 1, per: 'minute' }], gate: { ladder: [step] } });
    const ask = () => post('ada', bodyOf(100), { 'x-organization': 'acme' });
    await ask();

    const { status, headers } = await ask();

    expect({ status, outcome: headers['spillway-outcome'] }).toEqual({ status: 200, outcome });
    expect(headers).toMatchObject({ ratelimit: '"user-requests-minute";r=0;t=61', 'x-ratelimit-remaining-requests': '0' });
  });

  it('an error status of the handler is answered with the numbers of the call inside that was refused', async () => {
    const { post } = createApp({
      budgets: [{ tokens: 200, per: 'minute' }],
      gate: { ladder: [staticAnswer('Later, please.')] },
      handler: async (req, res) => {
        const { kind } = await spillwayOf(req).run({ body: bodyOf(150, 'gpt-4o-mini') }, async () => answerOf(150));
        res.status(kind === 'shed' ? 500 : 200).json({ kind });
      },
    });

    const { headers } = await post('ada');

    expect(headers).toMatchObject({ 'spillway-outcome': 'static', ratelimit: '"user-tokens-minute";r=100;t=61' });
  });

  it('a body of its own shape is told the tokens of the call that its handler made', async () => {
    const { post } = createApp({
      handler: async (req, res) => {
        await spillwayOf(req).run({ body: bodyOf(400) }, async () => answerOf(400));
        res.json({ reply: 'Over the wall.' });
      },
    });

    const { headers } = await post('ada', { message: 'Where does the water go?' });

    expect(headers.ratelimit).toBe('"user-requests-minute";r=2;t=61, "user-tokens-minute";r=9600;t=61');
  });

  it('a call that the handler makes in another name is no business of the caller', async () => {
    const { gate, post } = createApp({
      handler: async (_req, res, own) => {
        await own.as({ organization: 'acme' }).run({ body: bodyOf(400) }, async () => answerOf(400));
        res.json(completion());
      },
      gate: {
        scopes: {
          global: { budgets: [] },
          organization: { budgets: [{ tokens: 5_555, per: 'minute' }], optional: true },
          user: { budgets: USER, optional: true },
        },
      },
    });
    const seen: unknown[] = [];
    gate.on('call-admitted', ({ scopes }) => seen.push(Object.keys(scopes)));

    const { headers } = await post('ada', { message: 'Where does the water go?' });

    expect(seen).toContainEqual(expect.arrayContaining(['organization']));
    expect(JSON.stringify(headers)).not.toMatch(/5555|5155|organization/);
    expect(headers.ratelimit).toContain('"user-requests-minute";r=2;t=61');
  });

  it.each<[string, MountOptions['headers'], RegExp[]]>([
    ['all, when the option is left out', undefined, [/^ratelimit/, /^x-ratelimit-/, /^spillway-/]],
    ['all, when it is true', true, [/^ratelimit/, /^x-ratelimit-/, /^spillway-/]],
    ['none, when it is false', false, []],
    ['all but ietf', { ietf: false }, [/^x-ratelimit-/, /^spillway-/]],
    ['all but dialect', { dialect: false }, [/^ratelimit/, /^spillway-/]],
    ['all but outcome', { outcome: false }, [/^ratelimit/, /^x-ratelimit-/]],
  ])('headers are written: %s', async (_, headers, expected) => {
    const { post } = createApp({ budgets: [{ requests: 1, per: 'minute' }], mount: headers === undefined ? {} : { headers } });

    for (const status of [200, 429]) {
      const response = await post('ada');
      const names = Object.keys(response.headers);

      expect(response.status).toBe(status);
      for (const family of [/^ratelimit/, /^x-ratelimit-/, /^spillway-/])
        expect({ family, isThere: names.some((name) => family.test(name)) }).toEqual({
          family,
          isThere: expected.some(({ source }) => source === family.source),
        });
      expect('retry-after' in response.headers).toBe(status === 429);
    }
  });

  it('nothing of a body or of a key is in them, and all of them parse, whatever is asked when', async () => {
    const marker = fc.string({ minLength: 10, maxLength: 16, unit: fc.constantFrom(...'ghijkmpqvwxyz') });
    const budget = fc.record({
      amount: fc.integer({ min: 150, max: 900 }),
      per: fc.constantFrom('second' as const, 'minute' as const, 'day' as const, 90_000, 1_500),
      isTokens: fc.boolean(),
    });
    const steps = fc.array(fc.record({ afterMs: fc.integer({ min: 0, max: 40_000 }), isFirst: fc.boolean() }), {
      minLength: 3,
      maxLength: 6,
    });
    let refused = 0;

    await fc.assert(
      fc.asyncProperty(
        fc.array(budget, { minLength: 1, maxLength: 3 }),
        steps,
        marker,
        marker,
        async (given, asks, key, prompt) => {
          const budgets = (own: string) =>
            given.map(({ amount, per, isTokens }, index): BudgetOptions => {
              const name = `b${index} ${own}`;
              return isTokens ? { tokens: amount, per, name } : { requests: 1 + (amount % 3), per, name };
            });
          const { clock, post } = createApp({ budgets });
          for (const { afterMs, isFirst } of asks) {
            await clock.advance(afterMs);
            const body = bodyOf(100, prompt, { user: prompt, temperature: 1, metadata: { [prompt]: prompt } });
            const { status, headers } = await post(isFirst ? key : `${key}-2`, body);

            expect([200, 429]).toContain(status);
            checkAll(headers, clock.now());
            for (const secret of [key, prompt]) expect(JSON.stringify(limitsIn(headers))).not.toContain(secret);
            if (status === 200) continue;
            refused++;
            const seconds = Number(headers['retry-after']);
            expect(seconds).toBeGreaterThanOrEqual(1);
            expect('retry-after-ms' in headers).toBe(Number(headers['retry-after-ms'] ?? Infinity) <= 60_000);
            expect(headers['x-should-retry']).toBe('retry-after-ms' in headers ? undefined : 'false');
            expect(parseList(headers.ratelimit as string).some(({ params }) => params.t !== undefined)).toBe(true);
          }
        },
      ),
      { numRuns: 25 },
    );
    expect(refused).toBeGreaterThan(0);
  }, 60_000);
});
