import express, { type Express } from 'express';
import OpenAI from 'openai';
import request from 'supertest';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { spillway } from '../../adapters/express.js';
import { cachedAnswer, createSpillway, type Gate, type Options, staticAnswer } from '../../src/index.js';
import { until } from '../support/loopback.js';
import { createProvider, type Provider } from '../support/provider.js';
import { createVirtualClock } from '../support/virtual-clock.js';

let provider: Provider;
const gates: Gate<never>[] = [];

beforeEach(async () => {
  provider = await createProvider({ models: { 'gpt-4o': { tokensPerMinute: 1e9, requestsPerMinute: 1e9 } }, outputTokens: 40 });
});
afterEach(async () => {
  for (const gate of gates.splice(0)) await gate.close();
  await provider.close();
});

function gateOf<Scopes extends string>(options: Options<Scopes>): Gate<Scopes> {
  const gate = createSpillway(options) as Gate<Scopes>;
  gates.push(gate as never);
  return gate;
}

function sdk<Scopes extends string>(gate: Gate<Scopes>): OpenAI {
  return new OpenAI({ apiKey: 'none', baseURL: provider.url, fetch: gate.fetch, maxRetries: 0 });
}

const question = (content: string) => ({ model: 'gpt-4o', messages: [{ role: 'user' as const, content }] });

describe('an answer kept for a mount', () => {
  /** What the route answers depends on its address, which the body does not show. */
  function createApp(): Express {
    const gate = gateOf({
      models: { 'gpt-4o': { budgets: [{ requests: 1, per: 'minute' }] } },
      scopes: { user: { budgets: [{ tokens: 1_000_000, per: 'minute' }] } },
      ladder: [cachedAnswer(), staticAnswer('busy')],
    });
    const openai = sdk(gate);
    const app = express();
    const governed = spillway(gate, { identify: (req) => ({ user: req.get('x-user') }) });
    app.post(['/docs/:doc', '/admin/:doc'], express.json(), governed, async (req, res) => {
      res.json(await openai.chat.completions.create({ ...question(`Sum up ${req.originalUrl}`) }));
    });
    return app;
  }
  const ask = (app: Express, url: string) => request(app).post(url).set('x-user', 'ada').send(question('Sum up'));

  it('is given again to the same request', async () => {
    const app = createApp();
    await ask(app, '/docs/1');

    const { headers } = await ask(app, '/docs/1');

    expect(headers['spillway-outcome']).toBe('cached');
  });

  it.each(['/docs/2', '/docs/1?lang=de', '/admin/1'])('is never given to the same body sent to %s', async (url) => {
    const app = createApp();
    await ask(app, '/docs/1');

    const { headers } = await ask(app, url);

    expect(headers['spillway-outcome']).toBe('static');
  });
});

describe('an answer that a handler left unread', () => {
  it('is given up soon after its request was answered, and its room is free again', async () => {
    const clock = createVirtualClock();
    const gate = gateOf({ models: { 'gpt-4o': { budgets: [{ concurrent: 1 }] } }, ladder: [], clock });
    const openai = sdk(gate);
    const app = express();
    app.post('/chat', express.json(), spillway(gate), async (req) => {
      await openai.chat.completions.create({ ...req.body, stream: true });
      throw new Error('changed my mind');
    });

    await request(app).post('/chat').send(question('Hello?')).expect(500);
    await until(async () => (await gate.snapshot()).openRequests === 0);
    expect((await gate.snapshot()).liveReservations).toBe(1);
    await clock.advance(8_000);

    expect((await gate.snapshot()).liveReservations).toBe(0);
  });

  it('ends in an error, never as if it were complete, for a reader that comes back too late', async () => {
    const clock = createVirtualClock();
    const gate = gateOf({ models: { 'gpt-4o': { budgets: [{ concurrent: 1 }] } }, ladder: [], clock, stallMs: 1_000 });
    const stream = await sdk(gate).chat.completions.create({ ...question('Hello?'), stream: true });
    const chunks = stream[Symbol.asyncIterator]();
    await chunks.next();

    await clock.advance(2_000);
    const rest = (async () => {
      while (!(await chunks.next()).done);
    })();

    await expect(rest).rejects.toMatchObject({ code: 'SPILLWAY_STALLED' });
  });
});

describe('a prompt that can never fit', () => {
  const scopes = { user: { budgets: [{ tokens: 100, per: 'minute' as const }] } };
  const long = question('word '.repeat(5_000));

  function createApp(text: string | (() => string)): Express {
    const gate = gateOf({ scopes, ladder: [staticAnswer(text)] });
    const app = express();
    app.post('/chat', express.json(), spillway(gate, { identify: () => ({ user: 'ada' }) }), (_req, res) => void res.json({}));
    return app;
  }

  it('is told so, and not to come back later', async () => {
    const { status, body } = await request(createApp('busy, come back later')).post('/chat').send(long);

    expect(status).toBe(413);
    expect(body.error.message).toMatch(/too large for the token budget of this user/);
  });

  it('gets what a function has to say', async () => {
    const { status, body } = await request(createApp(() => 'too long for me'))
      .post('/chat')
      .send(long);

    expect(status).toBe(200);
    expect(body.choices[0].message.content).toBe('too long for me');
  });
});

describe('a call outside every mount', () => {
  it('is reported when it has no key for a scope that needs one', async () => {
    const gate = gateOf({
      scopes: { user: { budgets: [{ requests: 1, per: 'minute' }] }, team: { budgets: [], optional: true } },
    });
    const missing: unknown[] = [];
    gate.on('identity-missing', (event) => missing.push(event));
    const app = express();
    const governed = spillway(gate, { route: 'forms', identify: () => ({ user: 'ada' }) });
    app.post('/form', express.urlencoded({ extended: true }), governed, async (_req, res) => {
      res.json(await sdk(gate).chat.completions.create(question('Hello?')));
    });

    await request(app).post('/form').type('form').send('a=1').expect(200);

    expect(missing).toEqual([{ route: undefined, scope: 'user' }]);
  });
});

describe('a route that governs whatever it receives', () => {
  it.each(['form', 'no body', 'GET'])('counts a request with %s for its caller', async (kind) => {
    const gate = gateOf({ scopes: { user: { budgets: [{ requests: 1, per: 'minute' }] } }, ladder: [] });
    const app = express();
    const governed = spillway(gate, { identify: () => ({ user: 'ada' }), skip: () => false });
    app.all('/daily', express.urlencoded({ extended: true }), governed, async (_req, res) => {
      res.json(await sdk(gate).chat.completions.create(question('Sum up the day')));
    });
    const ask = () => {
      if (kind === 'GET') return request(app).get('/daily');
      return kind === 'form' ? request(app).post('/daily').type('form').send('a=1') : request(app).post('/daily');
    };

    expect((await ask()).status).toBe(200);
    expect((await ask()).status).toBe(429);
  });
});

describe('the wait that a refused caller is told', () => {
  it.each([
    [Number.NaN, 60],
    [5, 67],
    [-3, 60],
  ])('stays within its spread when random gives %d', async (random, least) => {
    const gate = gateOf({
      scopes: { global: { budgets: [{ requests: 1, per: 'minute' }] } },
      ladder: [],
      random: () => random,
    });
    const app = express();
    app.post('/chat', express.json(), spillway(gate), (_req, res) => void res.json({}));
    await request(app).post('/chat').send(question('One?'));

    const { headers } = await request(app).post('/chat').send(question('Two?'));

    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(least);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(68);
  });
});

describe("the application's own error before anybody was let in", () => {
  it('carries no outcome', async () => {
    const failing = () => {
      throw new Error('no plans today');
    };
    const gate = gateOf({ scopes: { user: { budgets: failing } } });
    const app = express();
    app.post('/chat', express.json(), spillway(gate, { identify: () => ({ user: 'ada' }) }), (_req, res) => void res.json({}));

    const { status, headers } = await request(app).post('/chat').send(question('Hello?'));

    expect(status).toBe(500);
    expect(headers['spillway-outcome']).toBeUndefined();
  });
});
