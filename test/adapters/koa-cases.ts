import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { constants, gunzipSync } from 'node:zlib';
import Router from '@koa/router';
import type Koa from 'koa';
import compress from 'koa-compress';
import { afterEach, describe, expect, expectTypeOf, it } from 'vitest';
import { spillway, spillwayOf } from '../../adapters/koa.js';
import {
  cachedAnswer,
  type Dialect,
  type MountOptions,
  OptionsError,
  openaiChat,
  type Passage,
  queue,
  staticAnswer,
} from '../../src/index.js';
import { chat, completion, events } from '../support/chat.js';
import { begin, type Sending, send } from '../support/http-client.js';
import { type Loopback, listen, until } from '../support/loopback.js';
import { createWorld, ROOMY, type World } from '../support/world.js';

const JSON_TYPE = 'application/json';
const body = completion({ text: 'Über die Mauer. 🌊' });
const text = JSON.stringify(body);
const stream = events({ text: 'Over the wall, and down the valley.' });

type Handler = (ctx: Koa.Context) => unknown;

/** What a handler may set as the body, and what of it reaches the caller. */
const BODIES: Readonly<Record<string, { readonly run: Handler; readonly sent: string }>> = {
  'a string': {
    sent: text,
    run(ctx) {
      ctx.type = JSON_TYPE;
      ctx.body = text;
    },
  },
  'a Buffer': {
    sent: text,
    run(ctx) {
      ctx.type = JSON_TYPE;
      ctx.body = Buffer.from(text);
    },
  },
  'an object': {
    sent: text,
    run(ctx) {
      ctx.body = body;
    },
  },
  'a stream of node': {
    sent: stream.join(''),
    run(ctx) {
      ctx.type = 'text/event-stream';
      ctx.body = Readable.from(stream);
    },
  },
  'a stream of node that the handler goes on writing to': {
    sent: stream.join(''),
    run(ctx) {
      const events = new PassThrough();
      ctx.type = 'text/event-stream';
      ctx.body = events;
      setTimeout(() => {
        for (const event of stream) events.write(event);
        events.end();
      }, 2);
    },
  },
  'writes of its own to ctx.res, with ctx.respond = false': {
    sent: stream.join(''),
    async run(ctx) {
      ctx.respond = false;
      ctx.res.writeHead(200, { 'content-type': 'text/event-stream' });
      for await (const event of Readable.from(stream)) ctx.res.write(event);
      ctx.res.end();
    },
  },
};

/** What only Koa 3 sends. */
const WEB_BODIES: typeof BODIES = {
  'a stream of the Web': {
    sent: stream.join(''),
    run(ctx) {
      ctx.type = 'text/event-stream';
      ctx.body = Readable.toWeb(Readable.from(stream.map((event) => Buffer.from(event))));
    },
  },
  'a Response': {
    sent: text,
    run(ctx) {
      ctx.body = new Response(text, { headers: { 'content-type': JSON_TYPE } });
    },
  },
  'a Response that streams': {
    sent: stream.join(''),
    run(ctx) {
      ctx.body = new Response(stream.join(''), { headers: { 'content-type': 'text/event-stream' } });
    },
  },
};

const BUSY = 'We are busy; please try again shortly.';
/** The model that handlers ask for beside the one of the request; all of its room is taken. */
const SMALL = chat({ model: 'gpt-4o-mini' });

/** Makes a call that is refused, as an SDK does over the governed fetch. */
const refusedCall = (ctx: Koa.Context) =>
  spillwayOf(ctx).fetch('http://127.0.0.1:9/v1/chat/completions', { method: 'POST', body: JSON.stringify(SMALL) });

async function failingCall(ctx: Koa.Context): Promise<never> {
  const { status } = await refusedCall(ctx);
  throw Object.assign(new Error(`${status} from the provider`), { status });
}

interface GivingUp {
  readonly handler: Handler;
  readonly outside?: Koa.Middleware;
  /** How often Koa is told of an error. */
  readonly told: number;
}

/** Every way in which a handler gives up on a refused call. */
const GIVING_UP: Readonly<Record<string, GivingUp>> = {
  'throws, to Koa itself': { handler: failingCall, told: 1 },
  'throws, to middleware outside that sets status and body': {
    handler: failingCall,
    async outside(ctx, next) {
      try {
        await next();
      } catch (error) {
        ctx.status = 500;
        ctx.body = { failed: (error as Error).message };
      }
    },
    told: 0,
  },
  'throws, to koa-compress and Koa': { handler: failingCall, outside: compress({ threshold: 0 }), told: 1 },
  'uses ctx.throw': {
    async handler(ctx) {
      await refusedCall(ctx);
      ctx.throw(503, 'no model', { headers: { 'retry-after': '60' } });
    },
    told: 1,
  },
  'sets an error status and an object': {
    async handler(ctx) {
      await refusedCall(ctx);
      ctx.status = 502;
      ctx.body = { error: 'no model' };
    },
    told: 0,
  },
  'hands the refusal on as a stream': {
    async handler(ctx) {
      const response = await refusedCall(ctx);
      ctx.status = response.status;
      ctx.set('retry-after', response.headers.get('retry-after') ?? '');
      ctx.body = Readable.fromWeb(response.body as never);
    },
    told: 0,
  },
  'sets nothing but a status': {
    async handler(ctx) {
      await refusedCall(ctx);
      ctx.status = 503;
    },
    told: 0,
  },
};

const FULL = { route: [{ inputTokens: 1, per: 'hour' }] } as const;
const WITHOUT_HANDLER: Readonly<Record<string, { status: number; options: MountOptions<'user', Koa.Context> }>> = {
  'a refusal': { status: 413, options: { budgets: FULL, ladder: [] } },
  'a static answer': { status: 200, options: { budgets: FULL, ladder: [staticAnswer(() => BUSY)] } },
  'a refusal for want of an identity': { status: 401, options: { identify: () => undefined } },
};

export interface KoaCasesOptions {
  /** Whether bodies may be streams and responses of the Web. */
  readonly web: boolean;
}

/** What only Koa has, on one major of it. */
export function koaCases(name: string, Application: new () => Koa, { web }: KoaCasesOptions): void {
  const worlds: World[] = [];
  const servers: Loopback[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close();
    for (const world of worlds.splice(0)) await world.close();
  });

  function createOwnWorld(...options: Parameters<typeof createWorld>): World {
    const world = createWorld(...options);
    worlds.push(world);
    return world;
  }

  /** Serves middleware as it comes; errors that reach Koa itself are collected. */
  async function serve(...middleware: Koa.Middleware[]) {
    const app = new Application();
    const failures: unknown[] = [];
    app.on('error', (error) => failures.push(error));
    for (const each of middleware) app.use(each);
    const server = await listen(app.callback());
    servers.push(server);
    return { url: server.url, failures };
  }

  const identify = () => ({ user: 'ada' });

  /** Sends one chat past `before`, spillway and a handler. */
  async function answers(
    handler: Handler,
    before: readonly Koa.Middleware[] = [],
    sending: Sending = {},
    world = createOwnWorld(),
  ) {
    const { url, failures } = await serve(
      ...before,
      spillway(world.gate, { identify }),
      async (ctx) => void (await handler(ctx)),
    );
    const reply = await send(url, { body: chat(), ...sending });
    await world.atRest();
    return { reply, world, failures, by: world.settled.map(({ by }) => by) };
  }

  describe(`spillway on ${name}, in ways that only Koa has`, () => {
    for (const [what, { run, sent }] of Object.entries(web ? { ...BODIES, ...WEB_BODIES } : BODIES)) {
      it(`passes bytes untouched and reads the exact usage of ${what}`, async () => {
        const { reply, world, by, failures } = await answers(run);

        expect({ status: reply.status, text: reply.text, failures }).toEqual({ status: 200, text: sent, failures: [] });
        expect(reply.headers).toMatchObject({ 'spillway-outcome': 'passed', 'spillway-model': 'gpt-4o' });
        expect(by).toEqual(['usage']);
        expect(await world.sums()).toMatchObject({ 'user ada tokens': 27, 'model gpt-4o tokens': 27 });
      });
    }

    it.each(['ctx.body = null', 'ctx.status = 204'])('charges the input of an answer without a body, by %s', async (how) => {
      const { reply, world, by } = await answers((ctx) => {
        if (how === 'ctx.body = null') ctx.body = null;
        else ctx.status = 204;
      });

      expect({ status: reply.status, text: reply.text, by }).toEqual({ status: 204, text: '', by: ['counted'] });
      expect(reply.headers['spillway-outcome']).toBe('passed');
      expect(await world.sums()).toMatchObject({ 'user ada tokens': world.settled[0]?.estimatedInputTokens });
    });

    it('keeps the length that Koa gives an answer to HEAD', async () => {
      const world = createOwnWorld();
      const { url } = await serve(spillway(world.gate, { identify, skip: () => false }), (ctx) => {
        ctx.body = body;
      });

      const reply = await send(url, { method: 'HEAD' });
      await world.atRest();

      expect({ status: reply.status, text: reply.text }).toEqual({ status: 200, text: '' });
      expect(reply.headers).toMatchObject({ 'content-length': String(Buffer.byteLength(text)), 'spillway-outcome': 'passed' });
    });

    it('gives everything back when nobody answers, and leaves the 404 to Koa', async () => {
      const { reply, world, by } = await answers(() => {});

      expect({ status: reply.status, text: reply.text, by }).toEqual({ status: 404, text: 'Not Found', by: ['cancelled'] });
      expect(await world.sums()).toEqual({});
    });

    it('leaves what ctx.throw says to Koa: status, message and headers, told once', async () => {
      const { reply, world, failures, by } = await answers((ctx) => {
        ctx.set('x-dropped', 'by Koa');
        ctx.throw(422, 'not like this', { headers: { 'x-kept': 'yes' } });
      });

      expect({ status: reply.status, text: reply.text }).toEqual({ status: 422, text: 'not like this' });
      expect(reply.headers).toMatchObject({ 'x-kept': 'yes', 'spillway-outcome': 'passed' });
      expect(reply.headers).not.toHaveProperty('x-dropped');
      expect(failures).toEqual([expect.objectContaining({ message: 'not like this' })]);
      expect(by).toEqual(['cancelled']);
      expect(await world.sums()).toEqual({});
    });

    it.each(['at once', 'after a while'])(
      'tells Koa once of an error that is thrown %s, and gives everything back',
      async (when) => {
        const { reply, world, failures } = await answers(async () => {
          if (when === 'after a while') await new Promise((resolve) => setTimeout(resolve, 2));
          throw new Error('my secret');
        });

        expect({ status: reply.status, text: reply.text }).toEqual({ status: 500, text: 'Internal Server Error' });
        expect(failures).toEqual([expect.objectContaining({ message: 'my secret' })]);
        expect(await world.sums()).toEqual({});
      },
    );

    // Koa 3 destroys the response with its body: from here that is a client who left.
    it(`${web ? 'charges the estimate' : 'gives everything back'} when a body stream fails before its first byte, and says no more than Koa itself`, async () => {
      const world = createOwnWorld();
      const fails: Koa.Middleware = (ctx) => {
        ctx.body = new Readable({
          read() {
            this.destroy(new Error('no model'));
          },
        });
      };
      const bare = await serve(fails);
      const { url, failures } = await serve(spillway(world.gate, { identify }), fails);

      const statusFrom = (from: string) =>
        send(from, { body: chat() }).then(
          ({ status }) => status,
          () => 'cut off',
        );
      expect([await statusFrom(bare.url), await statusFrom(url)]).toEqual(web ? ['cut off', 'cut off'] : [500, 500]);
      await world.atRest();

      expect(failures).toEqual(bare.failures);
      expect(failures[0]).toMatchObject({ message: 'no model' });
      expect(world.settled.map(({ by }) => by)).toEqual([web ? 'partial' : 'cancelled']);
    });

    it('lets middleware outside turn an error into an answer of its own, which is charged as one', async () => {
      const { reply, failures, by } = await answers(() => {
        throw new Error('not today');
      }, [
        async (ctx, next) => {
          await next().catch(() => {
            ctx.body = body;
          });
        },
      ]);

      expect({ status: reply.status, text: reply.text, failures, by }).toEqual({
        status: 200,
        text,
        failures: [],
        by: ['usage'],
      });
    });

    for (const [how, { handler, outside, told }] of Object.entries(GIVING_UP)) {
      it(`answers from the ladder when a handler whose call was refused ${how}`, async () => {
        const world = createOwnWorld({
          models: { 'gpt-4o': { budgets: ROOMY }, 'gpt-4o-mini': { budgets: [{ requests: 1, per: 'hour' }] } },
          ladder: [staticAnswer(() => BUSY)],
        });
        await world.gate.run({ body: SMALL }, async () => completion());
        const { reply, failures } = await answers(handler, outside ? [outside] : [], {}, world);

        expect(reply.status).toBe(200);
        expect(JSON.parse(reply.text).choices[0].message.content).toBe(BUSY);
        expect(reply.headers).toMatchObject({
          'content-type': 'application/json; charset=utf-8',
          'content-length': String(reply.body.length),
          'spillway-outcome': 'static',
        });
        expect(reply.headers).not.toHaveProperty('retry-after');
        expect(failures).toHaveLength(told);
      });
    }

    for (const [what, { status, options }] of Object.entries(WITHOUT_HANDLER)) {
      it(`shows ${what} to middleware outside, which may still set headers and cookies`, async () => {
        const world = createOwnWorld();
        const seen: unknown[] = [];
        const { url, failures } = await serve(
          async (ctx, next) => {
            await next();
            seen.push(ctx.status, ctx.headerSent, typeof ctx.body);
            ctx.set('x-response-time', '1ms');
            ctx.cookies.set('session', 'renewed');
          },
          spillway(world.gate, { route: 'chat', identify, ...options }),
          () => {
            seen.push('handled');
          },
        );

        const reply = await send(url, { body: chat() });
        await world.atRest();

        expect(seen).toEqual([status, false, 'string']);
        expect(reply.status).toBe(status);
        expect(reply.headers).toMatchObject({
          'x-response-time': '1ms',
          'set-cookie': [expect.stringMatching(/^session=renewed/)],
        });
        const outcome = { outcome: reply.headers['spillway-outcome'], model: reply.headers['spillway-model'] };
        expect(outcome).toEqual(
          what === 'a static answer' ? { outcome: 'static', model: 'spillway-static' } : { outcome: 'shed', model: undefined },
        );
        expect(reply.headers['content-length']).toBe(String(reply.body.length));
        expect(failures).toEqual([]);
      });
    }

    it('reports the status that a refusal has, once', async () => {
      const world = createOwnWorld();
      const { url } = await serve(spillway(world.gate, { route: 'chat', identify, budgets: FULL, ladder: [] }));

      await send(url, { body: chat() });
      await world.atRest();

      expect(world.answered.map(({ outcome, status }) => ({ outcome, status }))).toEqual([{ outcome: 'shed', status: 413 }]);
    });

    it('shows the status of an answer to middleware outside', async () => {
      const seen: unknown[] = [];
      await answers(
        (ctx) => {
          ctx.status = 201;
          ctx.body = body;
        },
        [
          async (ctx, next) => {
            await next();
            seen.push(ctx.status, ctx.body);
          },
        ],
      );

      expect(seen).toEqual([201, body]);
    });

    for (const side of ['outside', 'inside'] as const) {
      for (const encoding of ['gzip', 'deflate', 'br']) {
        it(`reads the exact usage of a stream that koa-compress ${side} of it sends in ${encoding}`, async () => {
          const world = createOwnWorld();
          const squeeze = compress({ threshold: 0 });
          const gate = spillway(world.gate, { identify });
          const { url } = await serve(...(side === 'outside' ? [squeeze, gate] : [gate, squeeze]), (ctx) => {
            ctx.type = 'text/event-stream';
            ctx.body = Readable.from(stream);
          });

          const reply = await send(url, { body: chat(), headers: { 'accept-encoding': encoding } });
          await world.atRest();

          expect(reply.headers).toMatchObject({ 'content-encoding': encoding, 'spillway-outcome': 'passed' });
          expect(world.settled.map(({ by }) => by)).toEqual(['usage']);
          expect(await world.sums()).toMatchObject({ 'user ada tokens': 27 });
        });
      }
    }

    it('counts what a client was sent that leaves in the middle of a compressed stream', async () => {
      const world = createOwnWorld();
      const flushing = compress({ threshold: 0, gzip: { flush: constants.Z_SYNC_FLUSH } });
      const words = 'one two three four five six seven eight nine ten';
      const { url } = await serve(flushing, spillway(world.gate, { identify }), (ctx) => {
        const sent = new PassThrough();
        ctx.type = 'text/event-stream';
        ctx.body = sent;
        // All but the usage and the end.
        for (const event of events({ text: words }).slice(0, -2)) sent.write(event);
      });

      const outgoing = begin(url, { body: chat({ stream: true }), headers: { 'accept-encoding': 'gzip' } });
      const [response] = await once(outgoing, 'response');
      const received: Buffer[] = [];
      response.on('error', () => {}).on('data', (chunk: Buffer) => received.push(chunk));
      await until(() => inflated(received).includes(' ten') || inflated(received).includes('"ten"'));
      outgoing.destroy();
      await world.atRest();

      expect(world.settled.map(({ by }) => by)).toEqual(['partial']);
      const output = world.settled[0]?.usage?.outputTokens ?? 0;
      expect(output).toBeGreaterThanOrEqual(10);
      expect(output).toBeLessThanOrEqual(20);
    });

    it('ends the body stream of a client that leaves, fires the signal and charges what was sent', async () => {
      const world = createOwnWorld();
      const source = new PassThrough();
      let signal: AbortSignal | undefined;
      const { url } = await serve(spillway(world.gate, { identify }), (ctx) => {
        signal = spillwayOf(ctx).signal;
        ctx.type = 'text/plain';
        ctx.body = source;
        source.write('x'.repeat(400));
      });

      const outgoing = begin(url, { body: chat({ stream: true }) });
      const [response] = await once(outgoing, 'response');
      response.on('error', () => {});
      await once(response, 'data');
      outgoing.destroy();
      await world.atRest();

      expect({ aborted: signal?.aborted, destroyed: source.destroyed }).toEqual({ aborted: true, destroyed: true });
      expect(world.settled.map(({ by }) => by)).toEqual(['partial']);
      const { estimatedInputTokens = 0 } = world.settled[0] ?? {};
      expect(await world.sums()).toMatchObject({ 'user ada tokens': estimatedInputTokens + 100 });
    });

    it('runs no handler and holds nothing when the client leaves before it is known who asks', async () => {
      const world = createOwnWorld();
      let handled = 0;
      let after = 0;
      const { url } = await serve(
        async (_ctx, next) => {
          await next();
          after++;
        },
        spillway(world.gate, {
          async identify(ctx) {
            outgoing.destroy();
            await once(ctx.res, 'close');
            return { user: 'ada' };
          },
        }),
        () => void handled++,
      );
      const outgoing = begin(url, { body: chat() });

      await until(() => after > 0);
      await world.atRest();

      expect({ handled, admitted: world.admitted }).toEqual({ handled: 0, admitted: [] });
    });

    it('lets middleware outside give up on a request that waits for room, and never runs its handler', async () => {
      const world = createOwnWorld({ scopes: { user: { budgets: [{ concurrent: 1 }] } }, ladder: [queue({ waitMs: 10_000 })] });
      const isQueued = async () => (await world.gate.snapshot()).queueDepth > 0;
      let handled = 0;
      let finish = () => {};
      const { url, failures } = await serve(
        async (ctx, next) => {
          if (ctx.get('x-patience') === '') return next();
          const late = until(isQueued).then(() => ctx.throw(504, 'too slow', { expose: true }));
          await Promise.race([next(), late]);
        },
        spillway(world.gate, { identify }),
        async (ctx) => {
          handled++;
          await new Promise<void>((resolve) => {
            finish = resolve;
          });
          ctx.body = body;
        },
      );
      const first = send(url, { body: chat() });
      await until(() => handled === 1);

      const second = await send(url, { body: chat(), headers: { 'x-patience': 'none' } });
      finish();
      await first;
      await world.atRest();

      expect({ status: second.status, text: second.text, handled }).toEqual({ status: 504, text: 'too slow', handled: 1 });
      expect(failures).toEqual([expect.objectContaining({ message: 'too slow' })]);
    });

    it('learns no answer that middleware outside gives to a request that waits for room', async () => {
      const ladder = [queue({ waitMs: 300 }), cachedAnswer()];
      const world = createOwnWorld({ scopes: { user: { budgets: [{ concurrent: 1 }] } }, ladder });
      const isQueued = async () => (await world.gate.snapshot()).queueDepth > 0;
      let finish = () => {};
      const { url } = await serve(
        async (ctx, next) => {
          const passes = next();
          if (ctx.get('x-patience') === '') return passes;
          await Promise.race([passes, until(isQueued)]);
          ctx.body = body;
        },
        spillway(world.gate, { identify }),
        (ctx) =>
          new Promise<void>((resolve) => {
            finish = resolve;
            ctx.body = completion({ text: 'The first.' });
          }),
      );
      const first = send(url, { body: chat() });
      await until(() => world.admitted.length === 1);

      const outside = await send(url, { body: chat(), headers: { 'x-patience': 'none' } });
      const third = await send(url, { body: chat() });
      finish();
      await first;
      await world.atRest();

      expect({ status: outside.status, text: outside.text }).toEqual({ status: 200, text });
      expect({ status: third.status, outcome: third.headers['spillway-outcome'] }).toEqual({ status: 429, outcome: 'shed' });
    });

    it('sends a status of an own dialect that has no name', async () => {
      const world = createOwnWorld();
      const dialect: Dialect = { ...openaiChat, name: 'odd', error: () => ({ status: 529, headers: {}, body: 'overloaded' }) };
      const { url, failures } = await serve(
        spillway(world.gate, { identify, route: 'chat', dialect, budgets: FULL, ladder: [] }),
      );

      const reply = await send(url, { body: chat() });

      expect({ status: reply.status, text: reply.text, failures }).toEqual({ status: 529, text: 'overloaded', failures: [] });
    });

    it('is found in ctx.state and by spillwayOf, with types, behind a router', async () => {
      const world = createOwnWorld();
      const seen: unknown[] = [];
      const router = new Router();
      router.post('/v1/:what/completions', spillway(world.gate, { identify }), (ctx) => {
        expectTypeOf(spillwayOf(ctx)).toEqualTypeOf<Passage>();
        seen.push(ctx.state.spillway === spillwayOf(ctx), spillwayOf(ctx).requestedModel, ctx.params.what);
        ctx.body = body;
      });
      const { url } = await serve(router.routes() as Koa.Middleware, router.allowedMethods() as Koa.Middleware);

      const reply = await send(`${url}/v1/chat/completions`, { body: chat() });
      await world.atRest();

      expect(reply.status).toBe(200);
      expect(seen).toEqual([true, 'gpt-4o', 'chat']);
      expect((await send(`${url}/elsewhere`, { body: chat() })).status).toBe(404);
    });

    it('has types in the state of an application, whether it declares its own or not', async () => {
      interface Own {
        user: { id: string };
        spillway?: Passage;
      }
      const app = new Application() as unknown as Koa<Own>;
      const world = createOwnWorld();
      app.use((ctx, next) => {
        ctx.state.user = { id: 'ada' };
        return next();
      });
      app.use(spillway(world.gate, { identify: (ctx) => ({ user: ctx.state.user.id }) }));
      app.use((ctx) => {
        expectTypeOf(ctx.state.spillway).toEqualTypeOf<Passage | undefined>();
        expectTypeOf<Koa.DefaultState['spillway']>().toEqualTypeOf<Passage | undefined>();
        ctx.body = spillwayOf(ctx).identity;
      });
      const server = await listen(app.callback());
      servers.push(server);

      const reply = await send(server.url, { body: chat() });

      expect(JSON.parse(reply.text)).toEqual({ user: 'ada' });
    });

    it('makes no body where there was none: skipped requests keep theirs undefined', async () => {
      const world = createOwnWorld();
      let seen: unknown;
      const { url } = await serve(spillway(world.gate, { identify }), (ctx) => {
        seen = { hasBody: 'body' in ctx.request, found: 'spillway' in ctx.state };
        ctx.status = 204;
      });

      await send(url, { method: 'GET' });

      expect(seen).toEqual({ hasBody: false, found: false });
    });

    it('throws at once for options that make no sense, with every fault', () => {
      const { gate } = createOwnWorld();
      const mounting = () => spillway(gate, { identify, callsPerRequest: 0, headers: 'no' as never });

      expect(mounting).toThrow(OptionsError);
      expect(mounting).toThrow(/callsPerRequest[\s\S]*headers/);
    });

    it('is named in stack traces', () => {
      expect(spillway(createOwnWorld().gate, { identify }).name).toBe('spillwayMiddleware');
    });
  });
}

/** What can be read so far of a gzip stream that goes on. */
function inflated(chunks: readonly Buffer[]): string {
  return gunzipSync(Buffer.concat(chunks), { finishFlush: constants.Z_SYNC_FLUSH }).toString('utf8');
}
