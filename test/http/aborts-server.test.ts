import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { queue } from '../../src/index.js';
import { chat } from '../support/chat.js';
import { begin, dial, send, wire } from '../support/http-client.js';
import { until } from '../support/loopback.js';
import { gatedHandler, kinds, narrowApps } from '../support/narrow-app.js';
import { useUpstream } from '../support/streaming.js';

const serve = narrowApps();
const upstream = useUpstream();

describe('the server', () => {
  it('leaves nothing behind when it is closed with requests open', async () => {
    const { handler, seen } = gatedHandler((res) => res.write('x'));
    const app = await serve({ handler, options: { models: {}, scopes: { user: { budgets: [{ concurrent: 20 }] } } } });
    const outgoing = Array.from({ length: 20 }, () => begin(app.url, { body: chat({ stream: true }) }));
    for (const each of outgoing) each.on('response', (response) => response.on('error', () => {}).resume());
    await until(() => seen.length === 20);

    await app.closeServer();
    await app.world.atRest();

    expect(kinds(app)).toEqual(Array.from({ length: 20 }, () => 'partial'));
  });

  it('takes a request off the queue whose response somebody else has ended', async () => {
    const { handler, isRunning, seen } = gatedHandler();
    const waiting: ServerResponse[] = [];
    const app = await serve({
      options: { ladder: [queue({ waitMs: 60_000 })] },
      before: [
        (_req, res, next) => {
          waiting.push(res);
          next();
        },
      ],
      handler,
    });
    const depth = async () => (await app.world.gate.snapshot()).queueDepth;
    const first = send(app.url, { body: chat() });
    await isRunning;
    const second = send(app.url, { body: chat() });
    await until(async () => (await depth()) === 1);

    (waiting[1] as ServerResponse).writeHead(503).end('too late');
    expect((await second).status).toBe(503);
    await until(async () => (await depth()) === 0);
    (waiting[0] as ServerResponse).end();
    await first;
    await app.expectFree();

    expect(seen).toHaveLength(1);
    expect(app.world.answered.map(({ outcome, status }) => `${outcome} ${status}`).sort()).toEqual([
      'passed 200',
      'passed 200',
      'shed 503',
    ]);
  });

  it('leaves nothing behind after 100 clients that left at any time', { timeout: 60_000 }, async () => {
    const app = await serve({
      options: {
        models: { 'gpt-4o': { budgets: [{ tokens: 10_000_000, per: 'hour' }, { concurrent: 40 }] } },
        scopes: { user: { budgets: [{ requests: 10_000, per: 'hour' }, { concurrent: 40 }] } },
        ladder: [queue({ waitMs: 200 })],
        stallMs: 50,
      },
      identify: async () => {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
        return { user: 'ada' };
      },
      handler: upstream.streams,
    });
    const random = mulberry(20_260_101);

    await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const socket = await dial(app.url);
        const whole = wire('/', chat({ stream: index % 3 > 0 }));
        const half = Math.floor(random() * whole.length);
        const hasAnswer = new Promise((resolve) => socket.once('data', resolve).once('close', resolve));
        if (index % 5 === 1) socket.pause();
        socket.write(whole.slice(0, half));
        await new Promise((resolve) => setTimeout(resolve, random() * 10));
        if (index % 10 > 0) socket.write(whole.slice(half));
        // Some stay until they are answered, whenever that is; the others leave at any time.
        if (index % 5 === 2) await hasAnswer;
        await new Promise((resolve) => setTimeout(resolve, random() * 100));
        if (index % 2 === 0) socket.destroy();
        else socket.resetAndDestroy();
      }),
    );
    await app.expectFree();

    const { accepted, aborted } = upstream.provider.stats();
    expect(accepted).toBeGreaterThan(0);
    expect(aborted).toBeGreaterThan(0);
    const sums = await app.world.sums();
    const charged = app.world.settled.reduce((sum, { usage }) => sum + (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0), 0);
    expect(sums['model gpt-4o tokens']).toBe(charged);
  });
});

/** A small generator of numbers in [0, 1), the same for the same seed. */
function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
