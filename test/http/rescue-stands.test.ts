import { once } from 'node:events';
import type { RequestHandler } from 'express';
import { afterEach, describe, expect, it } from 'vitest';
import { spillwayOf } from '../../adapters/express.js';
import { type Dialect, openaiChat, queue, type Rendered, staticAnswer } from '../../src/index.js';
import { chat, completion } from '../support/chat.js';
import { begin, send } from '../support/http-client.js';
import { until } from '../support/loopback.js';
import { BUSY, createRefused, passingCall, type Refused, type RefusedOptions, refusedCall } from '../support/refused.js';

const open: Refused[] = [];
afterEach(async () => {
  for (const app of open.splice(0)) await app.close();
});

async function serve(options: RefusedOptions): Promise<Refused> {
  const app = await createRefused(options);
  open.push(app);
  return app;
}

describe('the response of the application stands', () => {
  const error = { error: 'no model', padding: 'é'.repeat(50) };
  const answersError: RequestHandler = async (req, res) => {
    await refusedCall(req);
    res.status(502).setHeader('x-own', 'yes').setHeader('retry-after', '7');
    res.json(error);
  };

  it('when it answers 200 on its own, and the header says that a call was shed', async () => {
    const { url, world } = await serve({
      handler: async (req, res) => {
        await refusedCall(req);
        res.json({ reply: 'a default of my own' });
      },
    });

    const reply = await send(url, { body: chat() });
    await world.atRest();

    expect(JSON.parse(reply.text)).toEqual({ reply: 'a default of my own' });
    expect({ status: reply.status, outcome: reply.headers['spillway-outcome'] }).toEqual({ status: 200, outcome: 'shed' });
    expect(await world.sums()).toEqual({ 'model gpt-4o-mini requests': 1, 'user ada requests': 1 });
  });

  it.each([429, 503])('when it says %d, with the wait of the refused call for whoever asked', async (status) => {
    const { url } = await serve({
      ladder: [],
      handler: async (req, res) => {
        const { headers } = await refusedCall(req);
        res.status(status).json({ isInnerToldOne: headers.has('retry-after') });
      },
    });

    const reply = await send(url, { body: chat() });

    expect(JSON.parse(reply.text)).toEqual({ isInnerToldOne: false });
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(60);
  });

  it('when it says how long to wait itself', async () => {
    const { url } = await serve({
      handler: async (req, res) => {
        await refusedCall(req);
        res.status(503).setHeader('retry-after', '7');
        res.json(error);
      },
      ladder: [],
    });

    const reply = await send(url, { body: chat() });

    expect(reply.headers['retry-after']).toBe('7');
  });

  it('when it redirects', async () => {
    const { url } = await serve({
      handler: async (req, res) => {
        await refusedCall(req);
        res.redirect(303, '/elsewhere');
      },
    });

    const reply = await send(url, { body: chat() });

    expect({ status: reply.status, to: reply.headers.location }).toEqual({ status: 303, to: '/elsewhere' });
  });

  it('when a call was refused and a later one passed, and it answers with that', async () => {
    const { url, world } = await serve({
      handler: async (req, res) => {
        await refusedCall(req);
        res.json(await passingCall(req));
      },
    });

    const reply = await send(url, { body: chat() });
    await world.atRest();

    expect(JSON.parse(reply.text)).toEqual(completion());
    expect({ status: reply.status, outcome: reply.headers['spillway-outcome'] }).toEqual({ status: 200, outcome: 'shed' });
    expect(await world.sums()).toMatchObject({ 'user ada tokens': 27, 'model gpt-4o tokens': 27 });
  });

  it('when it fails although no call was refused', async () => {
    const { url } = await serve({
      handler: async (req, res) => {
        await passingCall(req);
        res.status(500).json(error);
      },
    });

    const reply = await send(url, { body: chat() });

    expect({ status: reply.status, outcome: reply.headers['spillway-outcome'] }).toEqual({ status: 500, outcome: 'passed' });
    expect(JSON.parse(reply.text)).toEqual(error);
  });

  it.each([
    ['there is no step', []],
    ['no step is left that answers', [queue({ waitMs: 10 })]],
    ['the step that answers passes on', [staticAnswer(() => undefined)]],
    ['the step that answers passes on after a while', [staticAnswer(() => new Promise((resolve) => setTimeout(resolve, 20)))]],
    ['the step that answers fails', [staticAnswer(() => Promise.reject(new Error('no text')))]],
  ])('byte for byte when it fails and %s', async (_, ladder) => {
    const { url, world } = await serve({ ladder, handler: answersError });

    const reply = await send(url, { body: chat() });
    await world.atRest();

    expect({ status: reply.status, message: reply.message }).toEqual({ status: 502, message: 'Bad Gateway' });
    expect(reply.text).toBe(JSON.stringify(error));
    expect(reply.headers).toMatchObject({
      'x-own': 'yes',
      'retry-after': '7',
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(reply.body.length),
      'spillway-outcome': 'shed',
    });
    expect(reply.rawHeaders).toContain('ETag');
    expect(world.answered).toMatchObject([{ outcome: 'shed', status: 502 }]);
  });

  it.each<[string, Partial<Rendered>]>([
    ['a header that cannot be written', { headers: { 'x-bad': 'a\r\nb' } }],
    ['a name that is none', { headers: { 'bad name': 'a' } }],
    ['a status that is none', { status: 0 }],
  ])('byte for byte when the dialect writes an answer with %s', async (_, wrong) => {
    const broken: Dialect = {
      ...openaiChat,
      answer: () => ({ status: 200, headers: {}, body: 'never', ...wrong }),
    };
    const { url, world } = await serve({ options: { dialect: broken }, handler: answersError });

    const reply = await send(url, { body: chat() });
    await world.atRest();

    expect({ status: reply.status, text: reply.text }).toEqual({ status: 502, text: JSON.stringify(error) });
    expect(world.answered).toMatchObject([{ outcome: 'shed', status: 502 }]);
  });

  it('piece by piece, with its own head, when no step is left', async () => {
    const seen: unknown[] = [];
    const { url } = await serve({
      ladder: [staticAnswer(() => new Promise((resolve) => setTimeout(resolve, 20)))],
      handler: async (req, res) => {
        await refusedCall(req);
        res.writeHead(503, 'Sorry', { 'content-type': 'text/plain', 'x-own': 'yes' });
        seen.push(res.write('one '));
        await new Promise<void>((written) => res.write('two ', () => written()));
        res.write('three');
        await new Promise<void>((ended) => res.end(() => ended()));
        seen.push('ended');
      },
    });

    const reply = await send(url, { body: chat() });

    expect({ status: reply.status, message: reply.message, text: reply.text }).toEqual({
      status: 503,
      message: 'Sorry',
      text: 'one two three',
    });
    expect(reply.headers).toMatchObject({ 'content-type': 'text/plain', 'x-own': 'yes', 'spillway-outcome': 'shed' });
    expect(seen).toEqual([true, 'ended']);
  });

  it('with its first answer when it answers twice and no step is left', async () => {
    const { url } = await serve({
      ladder: [],
      handler: async (req, res) => {
        await refusedCall(req);
        res.status(502).json(error);
        throw new Error('and now this');
      },
    });

    const reply = await send(url, { body: chat() });

    expect({ status: reply.status, text: reply.text }).toEqual({ status: 502, text: JSON.stringify(error) });
    expect(reply.headers).not.toHaveProperty('content-security-policy');
  });

  it('when its head was sent before the call was refused', async () => {
    const { url, world } = await serve({
      handler: async (req, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        res.write(': hello\n\n');
        await refusedCall(req);
        res.end('data: {"error":"no model"}\n\n');
      },
    });

    const reply = await send(url, { body: chat({ stream: true }) });
    await world.atRest();

    expect({ status: reply.status, text: reply.text }).toEqual({
      status: 200,
      text: ': hello\n\ndata: {"error":"no model"}\n\n',
    });
    expect(reply.headers['spillway-outcome']).toBe('passed');
    expect(world.answered).toMatchObject([{ outcome: 'shed', status: 200 }]);
  });

  it('when its error was sent before the call was refused', async () => {
    const { url } = await serve({
      handler: async (req, res) => {
        res.status(500).flushHeaders();
        await refusedCall(req);
        res.end('sorry');
      },
    });

    const reply = await send(url, { body: chat() });

    expect({ status: reply.status, text: reply.text }).toEqual({ status: 500, text: 'sorry' });
  });

  it('when its error is larger than what is held back, byte for byte', async () => {
    const piece = Buffer.alloc(1_048_576, 'x');
    const { url, world } = await serve({
      handler: async (req, res) => {
        await refusedCall(req);
        res.status(500).write(piece);
        for (let sent = 1; sent < 6; sent++) if (!res.write(piece)) await once(res, 'drain');
        res.end();
      },
      ladder: [staticAnswer(() => new Promise((resolve) => setTimeout(resolve, 200, BUSY)))],
    });

    const reply = await send(url, { body: chat() });
    await world.atRest();

    expect({ status: reply.status, bytes: reply.body.length }).toEqual({ status: 500, bytes: 6 * piece.length });
    expect(reply.headers['spillway-outcome']).toBe('shed');
    expect(world.answered).toMatchObject([{ outcome: 'shed', status: 500 }]);
  });

  it('when nothing is left to write it to: a client that left while another answer was looked for', async () => {
    let isAsked = false;
    const { url, world } = await serve({
      ladder: [
        staticAnswer(async () => {
          isAsked = true;
          await new Promise((resolve) => setTimeout(resolve, 30));
          return BUSY;
        }),
      ],
      handler: answersError,
    });
    const outgoing = begin(url, { body: chat() });

    await until(() => isAsked);
    outgoing.destroy();
    await world.atRest();

    expect(world.answered).toMatchObject([{ status: 0 }]);
    expect(await world.sums()).toEqual({ 'model gpt-4o-mini requests': 1 });
  });
});

it('leaves a request that speaks no dialect to its handler, and says what its call received', async () => {
  const seen: unknown[] = [];
  const handler: RequestHandler = async (req, res) => {
    const response = await refusedCall(req);
    seen.push(response.status);
    res.status(response.ok ? 200 : 502).send('my own words');
  };
  const refusing = await serve({ ladder: [], handler });
  const answering = await serve({ handler });

  const [refused, answered] = [
    await send(refusing.url, { body: { question: 'Where?' } }),
    await send(answering.url, { body: { question: 'Where?' } }),
  ];

  expect(seen).toEqual([429, 200]);
  expect([refused.status, refused.text, refused.headers['spillway-outcome']]).toEqual([502, 'my own words', 'shed']);
  expect([answered.status, answered.text, answered.headers['spillway-outcome']]).toEqual([200, 'my own words', 'static']);
});

it('does not answer for people inside the handler: a refused call comes back as an error of its dialect, without a retry', async () => {
  const seen: unknown[] = [];
  const { url } = await serve({
    handler: async (req, res) => {
      const response = await refusedCall(req);
      seen.push(response.status, response.headers.get('x-should-retry'), (await response.json()).error.code);
      seen.push(spillwayOf(req).outcome);
      res.json({});
    },
  });

  await send(url, { body: chat() });

  expect(seen).toEqual([429, 'false', 'rate_limit_exceeded', 'passed']);
});
