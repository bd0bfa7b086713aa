import express, { type ErrorRequestHandler, type Request } from 'express';
import Koa from 'koa';
import koaBodyParser from 'koa-bodyparser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { spillway as expressSpillway } from '../../adapters/express.js';
import { spillway as koaSpillway } from '../../adapters/koa.js';
import { cachedAnswer, cheaperModel, createSpillway, staticAnswer } from '../../src/index.js';
import { completion } from '../support/chat.js';
import { type Reply, send } from '../support/http-client.js';
import { type Loopback, listen } from '../support/loopback.js';
import { createWorld, type World } from '../support/world.js';
import { FORMATS, HOSTILE_IDS, hostileBodies, type Sizes } from './hostile-bodies.js';

const SIZES: Sizes = { characters: 5_000, depths: [10_000], items: 11_000, keys: 12_000, idCharacters: 300_000 };
const LIMIT = 50_000_000;
const DEEP = /^(lists|objects|an unknown field|tools) \d+ deep$/;
const ROOM = { tokens: 1_000_000_000_000, per: 'hour' } as const;

/** What the application answers, without usage: what is charged is the estimate. */
const { usage: _, ...answer } = completion({ input: 1, output: 1 });

interface Setup {
  readonly world: World;
  readonly server: Loopback;
}

/** @param isFull - every first model is full from the second request on */
function createGovernment(isFull: boolean): World {
  const models = FORMATS.map(({ model }) => model);
  const first = isFull ? [{ requests: 1, per: 'hour' } as const] : [ROOM];
  return createWorld({
    models: {
      ...Object.fromEntries(models.map((model) => [model, { budgets: first, cheaper: [`${model}-mini`] }])),
      ...Object.fromEntries(models.map((model) => [`${model}-mini`, { budgets: [ROOM] }])),
    },
    scopes: { user: { budgets: [ROOM] } },
    ladder: [cachedAnswer(), cheaperModel(), staticAnswer('busy')],
    bodyBytes: LIMIT,
  });
}

const userOf = (header: string | string[] | undefined) => ({ user: typeof header === 'string' ? header : 'ada' });
const asJson: ErrorRequestHandler = (error, _req, res, _next) =>
  void res.status(error.status ?? 500).json({ error: { message: error.message, code: error.code } });

async function onExpress(isParsed: boolean, isFull: boolean): Promise<Setup> {
  const world = createGovernment(isFull);
  const app = express();
  if (isParsed) app.use(express.json({ limit: LIMIT }));
  app.use(expressSpillway(world.gate, { identify: (req) => userOf(req.get('x-user')) }));
  app.use((_req, res) => void res.json(answer));
  app.use(asJson);
  return { world, server: await listen(app) };
}

async function onKoa(isParsed: boolean, isFull: boolean): Promise<Setup> {
  const world = createGovernment(isFull);
  const app = new Koa();
  app.silent = true;
  app.use(async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const { status = 500, message, code } = error as { status?: number; message: string; code?: string };
      ctx.status = status;
      ctx.body = { error: { message, code } };
    }
  });
  if (isParsed) app.use(koaBodyParser({ jsonLimit: `${LIMIT}b` }));
  app.use(koaSpillway(world.gate, { identify: (ctx) => userOf(ctx.headers['x-user']) }));
  app.use((ctx) => {
    ctx.body = answer;
  });
  return { world, server: await listen(app.callback()) };
}

const SETUPS: [string, boolean, () => Promise<Setup>][] = [
  ['Express 5, behind its parser', false, () => onExpress(true, false)],
  ['Express 5, reading itself', true, () => onExpress(false, false)],
  ['Express 5, with full budgets', false, () => onExpress(true, true)],
  ['Koa 3, behind its parser', false, () => onKoa(true, false)],
  ['Koa 3, reading itself', true, () => onKoa(false, false)],
  ['Koa 3, with full budgets', false, () => onKoa(true, true)],
];

describe.each(SETUPS)('on %s', (name, readsItself, create) => {
  let setup: Setup;
  beforeAll(async () => {
    setup = await create();
    await setup.world.gate.ready();
  });
  afterAll(async () => {
    await setup.server.close();
    await setup.world.close();
  });

  const charged = async () => (await setup.world.sums())['user ada tokens'] ?? 0;

  describe.each(FORMATS)('$name answers', (format) => {
    it.each(Object.entries(hostileBodies(format, SIZES)))('%s', async (kind, body) => {
      const before = await charged();

      const reply = await send(setup.server.url + format.path, { method: 'POST', body });
      await setup.world.atRest();

      expect(reply.headers['x-injected']).toBeUndefined();
      if (readsItself && DEEP.test(kind)) {
        expect(reply.status).toBe(400);
        expect(errorOf(reply)).toEqual({
          message: 'the body nests deeper than 64 levels; send flatter JSON',
          code: 'SPILLWAY_BODY_TOO_DEEP',
        });
        expect(await charged()).toBe(before);
      } else if (name.endsWith('with full budgets') && kind === 'keys in the body') {
        // Another model is written into a copy, and so many names are not copied.
        expect(reply.status).toBe(400);
        expect(errorOf(reply)).toMatchObject({ code: 'SPILLWAY_BODY_TOO_WIDE' });
        expect(await charged()).toBe(before);
      } else if (name.startsWith('Koa') && !readsItself && kind === 'names of built-in members') {
        // The parser's own word.
        expect(reply.status).toBe(400);
      } else {
        expect(reply.status).toBe(200);
        // Whatever it says, and even where nobody could read it.
        expect(await charged()).toBeGreaterThan(before);
      }
    });
  });
});

describe('a key of a caller', () => {
  /** Room for one request of each user. */
  async function oneEach(identify: (req: Request) => { user: string }) {
    const gate = createSpillway({
      scopes: { user: { budgets: [{ requests: 1, per: 'hour' }, ROOM] } },
      ladder: [],
    });
    const app = express();
    app.post(
      '/tenants/:tenant/chat',
      express.json({ limit: LIMIT }),
      expressSpillway(gate, { route: 'chat', identify }),
      (_req, res) => void res.json(answer),
    );
    app.use(asJson);
    const server = await listen(app);
    return {
      ask: (user: string, tenant = 'x') =>
        send(`${server.url}/tenants/${tenant}/chat`, {
          method: 'POST',
          body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }], user },
        }),
      async close() {
        await server.close();
        await gate.close();
      },
    };
  }

  it.each(Object.entries(HOSTILE_IDS))('with %s has a counter of its own, and breaks nothing', async (_, id) => {
    const app = await oneEach((req) => ({ user: req.body.user }));

    const replies = [await app.ask(id), await app.ask(`${id}2`), await app.ask(id)];
    await app.close();

    expect(replies.map(({ status }) => status)).toEqual([200, 200, 429]);
    for (const { headers } of replies) expect(headers['x-injected']).toBeUndefined();
  });

  it('of a megabyte has a counter of its own, told apart by its last character', async () => {
    const app = await oneEach((req) => ({ user: req.body.user }));
    const long = 'k'.repeat(1_000_000);

    const replies = [await app.ask(`${long}1`), await app.ask(`${long}2`), await app.ask(`${long}1`)];
    await app.close();

    expect(replies.map(({ status }) => status)).toEqual([200, 200, 429]);
    for (const { text, headers } of replies) expect(text.length + JSON.stringify(headers).length).toBeLessThan(5_000);
  });

  it.each(['%7Ba%7D', 'a%0D%0Ax-injected%3A1', 'a%7Cb', '__proto__', encodeURIComponent('漢'.repeat(500))])(
    'may be the part %s of a route',
    async (tenant) => {
      const app = await oneEach((req) => ({ user: String(req.params.tenant) }));

      const replies = [await app.ask('', tenant), await app.ask('', `${tenant}2`), await app.ask('', tenant)];
      await app.close();

      expect(replies.map(({ status }) => status)).toEqual([200, 200, 429]);
      for (const { headers } of replies) expect(headers['x-injected']).toBeUndefined();
    },
  );
});

const errorOf = ({ text }: Reply): unknown => JSON.parse(text).error;
