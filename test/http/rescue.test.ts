import { gunzipSync } from 'node:zlib';
import compression from 'compression';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import { afterEach, describe, expect, it } from 'vitest';
import { type Dialect, openaiChat, queue, staticAnswer } from '../../src/index.js';
import { chat, spokenIn } from '../support/chat.js';
import { type Reply, send } from '../support/http-client.js';
import { until } from '../support/loopback.js';
import {
  BUSY,
  createRefused,
  failingCall,
  passingCall,
  type Refused,
  type RefusedOptions,
  refusedCall,
} from '../support/refused.js';

const open: Refused[] = [];
afterEach(async () => {
  for (const app of open.splice(0)) await app.close();
});

async function serve(options: RefusedOptions): Promise<Refused> {
  const app = await createRefused(options);
  open.push(app);
  return app;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

const answersJson: ErrorRequestHandler = (error, _req, res, _next) => {
  res.status(500).json({ failed: (error as Error).message, padding: 'x'.repeat(100) });
};
const handsOn: ErrorRequestHandler = (error, _req, _res, next) => next(error);

/** Every way in which a handler gives up on a refused call. */
const WAYS: Readonly<Record<string, { handler: RequestHandler; onError?: ErrorRequestHandler }>> = {
  'throws it, to the pages of Express': { handler: failingCall },
  'throws it, to an error handler that answers with JSON': { handler: failingCall, onError: answersJson },
  'throws it, to an error handler that hands it on': { handler: failingCall, onError: handsOn },
  'hands it to next': {
    handler: (req, _res, next) => {
      failingCall(req).catch(next);
    },
  },
  'answers with an error status itself': {
    handler: async (req, res) => {
      await refusedCall(req);
      res.status(502).json({ error: 'no model' });
    },
  },
  'answers with the refusal as it came': {
    handler: async (req, res) => {
      const response = await refusedCall(req);
      res.writeHead(response.status, Object.fromEntries(response.headers));
      res.end(await response.text());
    },
  },
  'gives up after some more work': {
    handler: async (req, res) => {
      const response = await refusedCall(req);
      for (let step = 0; step < 3; step++) await turn();
      res.status(response.status).send('sorry');
    },
  },
  'answers with a status and nothing else': {
    handler: async (req, res) => {
      await refusedCall(req);
      res.sendStatus(503);
    },
  },
  'writes its error piece by piece': {
    handler: async (req, res) => {
      await refusedCall(req);
      res.writeHead(502, 'Bad', { 'content-type': 'text/plain', 'content-length': 8 });
      res.flushHeaders();
      res.write('sor');
      await turn();
      await new Promise<void>((written) => res.write('ry', () => written()));
      await new Promise<void>((ended) => res.end('!!!', () => ended()));
    },
  },
  'answers and then throws': {
    handler: async (req, res) => {
      await refusedCall(req);
      res.status(502).json({ error: 'no model' });
      throw new Error('and now this');
    },
  },
  'answers twice': {
    handler: async (req, res) => {
      await refusedCall(req);
      res.status(502).json({ error: 'no model' });
      res.status(500).setHeader('x-second', 'yes');
      res.end('another');
    },
  },
  'tries a head that cannot be written': {
    handler: async (req, res) => {
      await refusedCall(req);
      res.writeHead(200, { 'x-bad': 'a\r\nb' });
    },
  },
};

/** Nothing that belonged to the handler's own answer. */
function expectStaticHead(reply: Reply): void {
  expect({ status: reply.status, message: reply.message }).toEqual({ status: 200, message: 'OK' });
  expect(reply.headers).toMatchObject({ 'spillway-outcome': 'static', 'spillway-model': 'spillway-static' });
  expect(Number(reply.headers['content-length'])).toBe(reply.body.length);
  for (const name of ['etag', 'retry-after', 'retry-after-ms', 'x-should-retry', 'x-second', 'content-encoding', 'trailer'])
    expect(reply.headers).not.toHaveProperty(name);
}

describe('a handler that gives up on a refused call', () => {
  describe.each(Object.entries(WAYS))('and %s', (_, way) => {
    it('is replaced by a static answer as JSON', async () => {
      const { url, world } = await serve(way);

      const reply = await send(url, { body: chat() });
      await world.atRest();

      expectStaticHead(reply);
      expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(JSON.parse(reply.text)).toMatchObject({
        model: 'spillway-static',
        choices: [{ message: { role: 'assistant', content: BUSY }, finish_reason: 'stop' }],
        spillway: { outcome: 'static' },
      });
    });

    it('is replaced by a static answer as a stream when a stream was asked for', async () => {
      const { url, world } = await serve(way);

      const reply = await send(url, { body: chat({ stream: true }) });
      await world.atRest();

      expectStaticHead(reply);
      expect(reply.headers['content-type']).toBe('text/event-stream; charset=utf-8');
      expect(spokenIn(reply.text)).toBe(BUSY);
      expect(reply.text.endsWith('data: [DONE]\n\n')).toBe(true);
    });
  });

  it('is charged for nothing but the calls it made, and told as static', async () => {
    const { url, world } = await serve({ handler: failingCall });

    await send(url, { body: chat() });
    await world.atRest();

    expect(await world.sums()).toEqual({ 'model gpt-4o-mini requests': 1 });
    expect(world.answered).toMatchObject([{ outcome: 'static', status: 200, calls: 0 }]);
    expect(await world.gate.usage({ scope: 'user' })).toMatchObject([{ key: 'ada', calls: 0, answers: 1 }]);
  });

  it('keeps what its other calls used', async () => {
    const { url, world } = await serve({
      handler: async (req) => {
        await passingCall(req);
        await failingCall(req);
      },
    });

    const reply = await send(url, { body: chat() });
    await world.atRest();

    expectStaticHead(reply);
    expect(await world.sums()).toMatchObject({ 'user ada tokens': 27, 'user ada requests': 1, 'model gpt-4o requests': 1 });
  });

  it('passes over steps that only admit, on the way to one that answers', async () => {
    const { url } = await serve({ ladder: [queue({ waitMs: 60_000 }), staticAnswer(BUSY)], handler: failingCall });

    expectStaticHead(await send(url, { body: chat() }));
  });

  it('is replaced in the shape of an API of its own', async () => {
    const own: Dialect = {
      ...openaiChat,
      name: 'own',
      read: (body) => openaiChat.read({ model: 'gpt-4o', messages: [{ role: 'user', content: JSON.stringify(body) }] }),
      answer: ({ text }) => ({ status: 200, headers: { 'content-type': 'text/plain' }, body: `reply: ${text}` }),
    };
    const { url } = await serve({ options: { dialect: own }, handler: failingCall });

    const reply = await send(url, { body: { question: 'Where?' } });

    expectStaticHead(reply);
    expect(reply.text).toBe(`reply: ${BUSY}`);
  });

  it('leaves headers for the caller where they are: cookies, CORS, tracing', async () => {
    const { url } = await serve({
      before: [
        (_req, res, next) => {
          res.setHeader('access-control-allow-origin', 'https://app.example');
          res.setHeader('set-cookie', ['a=1', 'b=2']);
          next();
        },
      ],
      handler: async (req, res) => {
        await refusedCall(req);
        res.setHeader('x-request-id', '7');
        res.status(502).json({ error: 'no model' });
      },
    });

    const reply = await send(url, { body: chat() });

    expectStaticHead(reply);
    expect(reply.headers).toMatchObject({
      'access-control-allow-origin': 'https://app.example',
      'set-cookie': ['a=1', 'b=2'],
      'x-request-id': '7',
    });
  });

  it('leaves headers for the caller that were only given to writeHead, and drops those of the body', async () => {
    const { url } = await serve({
      handler: async (req, res) => {
        await refusedCall(req);
        res.writeHead(502, [
          'Set-Cookie',
          'a=1',
          'Set-Cookie',
          'b=2',
          'Content-Type',
          'text/plain',
          'Content-Length',
          '5',
          'ETag',
          '"x"',
        ]);
        res.end('sorry');
      },
    });

    const reply = await send(url, { body: chat() });

    expectStaticHead(reply);
    expect(reply.headers).toMatchObject({
      'set-cookie': ['a=1', 'b=2'],
      'content-type': 'application/json; charset=utf-8',
    });
  });

  it('is replaced although it looks sent to itself: its callbacks are called, and headersSent is true', async () => {
    const seen: unknown[] = [];
    const { url, world } = await serve({
      ladder: [staticAnswer(() => new Promise((resolve) => setTimeout(resolve, 20, BUSY)))],
      handler: async (req, res) => {
        await refusedCall(req);
        seen.push(res.headersSent);
        res.status(502);
        await new Promise<void>((written) => seen.push(res.write('sorry', () => written())));
        seen.push(res.headersSent);
        await new Promise<void>((ended) => seen.push(res.end('!', () => ended()) === res));
        seen.push('ended');
      },
    });

    const reply = await send(url, { body: chat() });
    await world.atRest();
    await until(() => seen.length === 5);

    expectStaticHead(reply);
    expect(seen).toEqual([false, true, true, true, 'ended']);
  });

  it('is replaced by an answer that a compression outside can still compress', async () => {
    const text = BUSY.repeat(50);
    const { url } = await serve({
      before: [compression({ threshold: 0 })],
      ladder: [staticAnswer(text)],
      handler: async (req, res) => {
        await refusedCall(req);
        res.status(502).json({ error: 'x'.repeat(5_000) });
      },
    });

    const reply = await send(url, { body: chat(), headers: { 'accept-encoding': 'gzip' } });

    expect(reply.status).toBe(200);
    expect(reply.headers).toMatchObject({ 'content-encoding': 'gzip', 'spillway-outcome': 'static' });
    expect(JSON.parse(gunzipSync(reply.body).toString()).choices[0].message.content).toBe(text);
  });

  it('is replaced however large its error is, up to 4 MiB', async () => {
    const { url } = await serve({
      handler: async (req, res) => {
        await refusedCall(req);
        res.status(500).send('x'.repeat(4_000_000));
      },
    });

    expectStaticHead(await send(url, { body: chat() }));
  });
});
