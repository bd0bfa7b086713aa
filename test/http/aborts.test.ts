import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { spillwayOf } from '../../adapters/express.js';
import { memoryStore, queue } from '../../src/index.js';
import { chat, completion, events } from '../support/chat.js';
import { begin, dial, send, wire } from '../support/http-client.js';
import { until } from '../support/loopback.js';
import { gatedHandler, input, kinds, leave, narrowApps } from '../support/narrow-app.js';
import { useUpstream } from '../support/streaming.js';

const serve = narrowApps();
const upstream = useUpstream();

/** Notes responses before spillway sees them. */
function arrivals() {
  const arrived: ServerResponse[] = [];
  const note: RequestHandler = (_req, res, next) => {
    arrived.push(res);
    next();
  };
  return { arrived, note };
}

describe('a client that leaves', () => {
  it('before spillway has seen its request costs nothing, and its handler does not run', async () => {
    const { handler, seen } = gatedHandler();
    let isWaiting = false;
    let isBack = false;
    const app = await serve({
      before: [
        (_req, res, next) => {
          isWaiting = true;
          res.once('close', () => {
            isBack = true;
            next();
          });
        },
      ],
      handler,
    });

    await leave(app.url, () => isWaiting);
    await until(() => isBack);
    await app.expectFree();

    expect(kinds(app)).toEqual(['usage']);
    expect(seen).toEqual([]);
  });

  it('while it sends its body costs nothing, and its handler does not run', async () => {
    const { handler, seen } = gatedHandler();
    const { note, arrived } = arrivals();
    const app = await serve({ before: [note], handler });
    const socket = await dial(app.url);

    socket.write(wire('/', chat()).slice(0, -10));
    await until(() => arrived.length === 1);
    socket.destroy();
    await until(() => app.failures.length > 0);
    await app.expectFree();

    expect(app.failures).toMatchObject([{ type: 'request.aborted' }]);
    expect(kinds(app)).toEqual(['usage']);
    expect(seen).toEqual([]);
  });

  it('while identify is pending costs nothing, and its handler does not run', async () => {
    const { handler, seen } = gatedHandler();
    const { note, arrived } = arrivals();
    let answer: ((identity: { user: string }) => void) | undefined;
    const app = await serve({
      before: [note],
      identify: () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
      handler,
    });

    await leave(app.url, () => answer !== undefined);
    await until(() => arrived[0]?.closed === true);
    answer?.({ user: 'ada' });
    await app.expectFree();

    expect(kinds(app)).toEqual(['usage']);
    expect(seen).toEqual([]);
  });

  it('while the store is asked costs nothing, and its handler does not run', async () => {
    const inner = memoryStore();
    let reply: (() => void) | undefined;
    const { handler, seen } = gatedHandler();
    const app = await serve({
      store: {
        ...{ settle: inner.settle.bind(inner), renew: inner.renew.bind(inner), peek: inner.peek.bind(inner) },
        close: () => inner.close(),
        async reserve(...asked) {
          if (reply === undefined)
            await new Promise<void>((resolve) => {
              reply = resolve;
            });
          return inner.reserve(...asked);
        },
      },
      handler,
    });

    await leave(app.url, () => reply !== undefined);
    await until(async () => (await app.world.gate.snapshot()).openRequests === 0);
    reply?.();
    await until(() => app.world.admitted.length === 1);
    await app.expectFree();

    expect(kinds(app)).toEqual(['cancelled', 'usage']);
    expect(seen).toEqual([]);
  });

  it('while its request waits in the queue costs nothing, and lets those behind it through', async () => {
    const { handler, isRunning, seen } = gatedHandler();
    const app = await serve({ handler, options: { ladder: [queue({ waitMs: 60_000 })] } });
    const depth = async () => (await app.world.gate.snapshot()).queueDepth;
    const first = send(app.url, { body: chat() });
    await isRunning;

    await leave(app.url, () => until(async () => (await depth()) === 1));
    await until(async () => (await depth()) === 0);
    const third = send(app.url, { body: chat() });
    await until(async () => (await depth()) === 1);
    (seen[0] as ServerResponse).end(JSON.stringify(completion()));
    await first;
    await until(() => seen.length === 2);
    (seen[1] as ServerResponse).end(JSON.stringify(completion()));

    expect((await third).headers['spillway-outcome']).toBe('queued');
    await app.expectFree();
    expect(app.world.admitted).toHaveLength(3);
    expect(app.world.answered.map(({ outcome, status }) => `${outcome} ${status}`)).toEqual([
      'shed 0',
      'passed 200',
      'queued 200',
      'passed 200',
    ]);
  });

  it.each([
    ['a stream was asked for: its input', true, 0],
    ['an answer in one piece was asked for: its input, and the output that was expected', false, 512],
  ])('before any head came is charged when %s', async (_, stream, output) => {
    const { handler, isRunning } = gatedHandler();
    const app = await serve({ handler });

    await leave(app.url, () => isRunning, chat({ stream }));
    await app.world.atRest();

    expect(kinds(app)).toEqual(['partial']);
    expect(await app.world.sums()).toEqual({
      'user ada tokens': input(app) + output,
      'user ada requests': 1,
      'model gpt-4o tokens': input(app) + output,
      'model gpt-4o requests': 1,
    });
    expect(app.world.answered).toMatchObject([{ status: 0 }]);
    await app.expectFree();
  });

  it('in the middle of a stream is charged its input and the output that was sent, never less', async () => {
    const { handler, isRunning } = gatedHandler((res) => {
      res.writeHead(200, { 'content-type': 'text/plain' });
      res.write('x'.repeat(400));
    });
    const app = await serve({ handler });

    await leave(app.url, () => isRunning, chat({ stream: true }));
    await app.world.atRest();

    expect(kinds(app)).toEqual(['partial']);
    expect(await app.world.sums()).toMatchObject({ 'user ada tokens': input(app) + 100, 'user ada requests': 1 });
    await app.expectFree();
  });

  it('after its stream has reported usage is charged exactly that', async () => {
    const { handler, isRunning } = gatedHandler((res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of events().slice(0, -1)) res.write(event);
    });
    const app = await serve({ handler });

    await leave(app.url, () => isRunning, chat({ stream: true }));
    await app.world.atRest();

    expect(kinds(app)).toEqual(['partial']);
    expect(await app.world.sums()).toMatchObject({ 'user ada tokens': 27, 'user ada requests': 1 });
  });

  it('while an error is written to it is charged nothing', async () => {
    const { handler, isRunning } = gatedHandler((res) => {
      res.writeHead(500, { 'content-type': 'text/plain' });
      res.write('sorry');
    });
    const app = await serve({ handler });

    await leave(app.url, () => isRunning);
    await app.world.atRest();

    expect(kinds(app)).toEqual(['cancelled']);
    expect(await app.world.sums()).toEqual({});
  });

  it('while the handler waits for the provider ends that call, and is charged its input', async () => {
    upstream.provider.script(['hang']);
    const app = await serve({ handler: upstream.streams });

    await leave(app.url, () => upstream.provider.stats().accepted === 1, chat({ stream: true }));
    await until(() => upstream.provider.stats().aborted === 1);
    await app.world.atRest();

    expect(kinds(app).sort()).toEqual(['inside', 'partial']);
    expect(await app.world.sums()).toMatchObject({ 'user ada tokens': input(app), 'user ada requests': 1 });
    await app.expectFree();
  });

  it('in the middle of what the provider streams ends that call, and is charged what was produced so far', async () => {
    const app = await serve({ handler: upstream.streams });
    const outgoing = begin(app.url, { body: chat({ stream: true }) });
    const [response] = await once(outgoing, 'response');
    response.on('error', () => {});

    for (let chunks = 0; chunks < 5; chunks++) await once(response, 'data');
    outgoing.destroy();
    await until(() => upstream.provider.stats().aborted === 1);
    await app.world.atRest();

    expect(kinds(app).sort()).toEqual(['inside', 'partial']);
    const usage = app.world.settled.find(({ by }) => by === 'partial')?.usage;
    expect(usage?.outputTokens).toBeGreaterThan(0);
    expect(usage?.outputTokens).toBeLessThanOrEqual(upstream.provider.stats().models['gpt-4o']?.outputTokens ?? 0);
    const tokens = input(app) + (usage?.outputTokens ?? Number.NaN);
    expect(await app.world.sums()).toMatchObject({ 'user ada tokens': tokens, 'model gpt-4o tokens': tokens });
    await app.expectFree();
  });

  it('after the handler has ended its answer changes nothing: the answer was complete', async () => {
    const text = JSON.stringify(completion({ text: 'x'.repeat(20_000_000) }));
    const { handler, isRunning } = gatedHandler((res) => res.setHeader('content-type', 'application/json').end(text));
    const app = await serve({ handler, options: { tapBytes: 100_000_000 } });

    const socket = await dial(app.url);
    socket.write(wire('/', chat()));
    await isRunning;
    socket.destroy();
    await app.world.atRest();

    expect(kinds(app)).toEqual(['usage']);
    expect(await app.world.sums()).toMatchObject({ 'user ada tokens': 27 });
    await app.expectFree();
  });

  it('tells the handler through the signal, once', async () => {
    let fired = 0;
    const { handler, isRunning, seen } = gatedHandler();
    const app = await serve({
      after: [
        (req, _res, next) => {
          spillwayOf(req).signal.addEventListener('abort', () => fired++);
          next();
        },
      ],
      handler,
    });

    await leave(app.url, () => isRunning);
    await until(() => seen[0]?.destroyed === true);
    await app.world.atRest();

    expect(fired).toBe(1);
  });

  it('is not told of through the signal when the response was complete', async () => {
    let fired = 0;
    const app = await serve({
      handler: (req, res) => {
        spillwayOf(req).signal.addEventListener('abort', () => fired++);
        res.json(completion());
      },
    });

    await send(app.url, { body: chat() });
    await app.world.atRest();

    expect(fired).toBe(0);
  });

  it('is found at the next renewal when the application took the listeners off the response', async () => {
    const { handler, isRunning } = gatedHandler((res) => {
      res.removeAllListeners('close');
      res.removeAllListeners('finish');
      res.write('x');
    });
    const app = await serve({ handler });

    await leave(app.url, () => isRunning, chat({ stream: true }));
    await app.world.atRest();

    expect(kinds(app)).toEqual(['partial']);
    await app.expectFree();
  });

  it('is found at the next renewal when its pipelined request has not had its turn', async () => {
    const bodies: unknown[] = [];
    const app = await serve({
      options: { scopes: { user: { budgets: [{ concurrent: 2 }] } }, models: {} },
      handler: (req, res) => {
        bodies.push(req.body.name);
        if (req.body.name === 'second') res.json(completion());
      },
    });
    const socket = await dial(app.url);

    socket.write(wire('/', chat({ name: 'first' })) + wire('/', chat({ name: 'second' })));
    await until(() => bodies.length === 2);
    socket.destroy();
    await app.expectFree();

    expect(bodies).toEqual(['first', 'second']);
  });
});
