import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ErrorRequestHandler, default as Express, RequestHandler } from 'express';
import request from 'supertest';
import { afterEach, describe, expect, it } from 'vitest';
import { spillway, spillwayOf } from '../../adapters/express.js';
import { OptionsError } from '../../src/index.js';
import { chat, completion } from '../support/chat.js';
import { createWorld, type World } from '../support/world.js';

/** What only Express has, on one major of it. */
export function expressCases(name: string, express: typeof Express): void {
  describe(`spillway on ${name}, in ways that only Express has`, () => {
    const worlds: World[] = [];
    afterEach(async () => {
      for (const world of worlds.splice(0)) await world.close();
    });

    function createApp(...handlers: RequestHandler[]) {
      const world = createWorld();
      worlds.push(world);
      const failures: unknown[] = [];
      const app = express();
      app.post('/chat', spillway(world.gate, { route: 'chat', identify: (req) => ({ user: req.get('x-user') }) }), ...handlers);
      app.use(((error, _req, res, _next) => {
        failures.push(error);
        res.status(503).json({ failed: error.message });
      }) satisfies ErrorRequestHandler);
      const post = () => request(app).post('/chat').set('x-user', 'ada').send(chat());
      return { world, failures, post };
    }

    it('hands an error given to next on, once', async () => {
      const { world, failures, post } = createApp((_req, _res, next) => next(new Error('not today')));

      const { status, body } = await post();
      await world.atRest();

      expect({ status, body, failures: failures.length }).toEqual({ status: 503, body: { failed: 'not today' }, failures: 1 });
      expect(await world.sums()).toEqual({});
    });

    it('goes on to the next handler, and past the route', async () => {
      const order: string[] = [];
      const { world, post } = createApp(
        (_req, _res, next) => {
          order.push('first');
          next();
        },
        (_req, _res, next) => {
          order.push('second');
          next('route');
        },
        () => order.push('never'),
      );

      const { status } = await post();
      await world.atRest();

      expect({ status, order }).toEqual({ status: 404, order: ['first', 'second'] });
      expect(await world.sums()).toEqual({});
    });

    it('passes a file on that the handler sends', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'spillway-'));
      await writeFile(join(folder, 'answer.json'), JSON.stringify(completion()));
      const { world, post } = createApp((_req, res) => res.sendFile('answer.json', { root: folder }));

      const { status, body, headers } = await post();
      await world.atRest();
      await rm(folder, { recursive: true });

      expect({ status, body }).toEqual({ status: 200, body: completion() });
      expect(headers).toMatchObject({ 'spillway-outcome': 'passed', 'spillway-model': 'gpt-4o' });
      expect(await world.sums()).toMatchObject({ 'user ada tokens': 27 });
    });

    it('keeps the ETag and the length that Express gives an answer', async () => {
      const plain = express();
      plain.post('/chat', (_req, res) => void res.json(completion()));
      const { post } = createApp((_req, res) => void res.json(completion()));

      const [own, ours] = [await request(plain).post('/chat'), await post()];

      expect(own.headers.etag).toBeDefined();
      expect(ours.headers).toMatchObject({
        etag: own.headers.etag,
        'content-length': own.headers['content-length'],
        'content-type': own.headers['content-type'],
      });
    });

    it('makes no body where there was none: skipped requests keep theirs undefined', async () => {
      const app = express();
      const world = createWorld();
      worlds.push(world);
      let seen: unknown;
      app.use(spillway(world.gate, { identify: () => ({ user: 'ada' }) }), (req, res) => {
        seen = { hasBody: 'body' in req, body: req.body };
        res.end();
      });

      await request(app).get('/');

      expect(seen).toEqual({ hasBody: false, body: undefined });
    });

    it('gives what it knows to error handlers too', async () => {
      const app = express();
      const world = createWorld();
      worlds.push(world);
      let seen: unknown;
      app.use(spillway(world.gate, { identify: () => ({ user: 'ada' }) }), () => {
        throw new Error('not today');
      });
      app.use(((_error, req, res, _next) => {
        seen = spillwayOf(req).requestedModel;
        res.status(500).end();
      }) satisfies ErrorRequestHandler);

      await request(app).post('/').send(chat());

      expect(seen).toBe('gpt-4o');
    });

    it('throws at once for options that make no sense, with every fault', () => {
      const world = createWorld();
      worlds.push(world);
      const mounting = () =>
        spillway(world.gate, { identify: () => ({ user: 'a' }), callsPerRequest: 0, headers: 'no' as never });

      expect(mounting).toThrow(OptionsError);
      expect(mounting).toThrow(/callsPerRequest[\s\S]*headers/);
    });

    it('is named in stack traces', () => {
      const world = createWorld();
      worlds.push(world);

      expect(spillway(world.gate, { identify: () => ({ user: 'ada' }) }).name).toBe('spillwayMiddleware');
    });
  });
}
