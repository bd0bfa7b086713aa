import { connect } from 'node:net';
import express from 'express';
import { describe, expect, it } from 'vitest';
import { spillway } from '../../adapters/express.js';
import { createSpillway, memoryStore, queue, staticAnswer } from '../../src/index.js';
import { chat, completion } from '../support/chat.js';
import { wire } from '../support/http-client.js';
import { listen, until } from '../support/loopback.js';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.js';

const MINUTE_MS = 60_000;
/** Longer than settled ids are remembered, and than any window here. */
const PAST_MS = 4 * MINUTE_MS;

/** Runs that give the store a look at everything it keeps, once its time has passed. */
async function goBy(clock: VirtualClock, runs: number, run: () => Promise<unknown>): Promise<void> {
  await clock.advance(PAST_MS);
  for (let turn = 0; turn < runs; turn++) await run();
  await clock.advance(PAST_MS);
  await run();
  await clock.advance(PAST_MS);
}

describe('nothing is left', () => {
  it('of 3,000 requests whose clients left at any time', { timeout: 120_000 }, async () => {
    const clock = createVirtualClock();
    const store = memoryStore({ clock });
    const gate = createSpillway<'user'>({
      models: { 'gpt-4o': { budgets: [{ tokens: 1e9, per: 'minute' }, { concurrent: 8 }] } },
      scopes: { user: { budgets: [{ tokens: 1e9, per: 'minute' }, { concurrent: 4 }] } },
      ladder: [queue({ waitMs: 50 }), staticAnswer('busy')],
      store,
      clock,
    });
    let served = 0;
    const app = express();
    app.post(
      '/',
      express.json(),
      spillway(gate, { identify: (req) => ({ user: req.get('x-user') }) }),
      (req, res) =>
        void setImmediate(() => {
          served++;
          if (!req.body.stream) return res.json(completion());
          res.writeHead(200, { 'content-type': 'text/event-stream' });
          res.write(`data: ${JSON.stringify({ choices: [] })}\n\n`);
          return setImmediate(() => res.end('data: [DONE]\n\n'));
        }),
    );
    const quiet: express.ErrorRequestHandler = (_error, _req, res, _next) => void res.status(400).end();
    app.use(quiet);
    const server = await listen(app);
    const { hostname, port } = new URL(server.url);
    let ticking = true;
    const ticks = (async () => {
      while (ticking) await clock.advance(1);
    })();

    let begun = 0;
    const leaveInTurn = async () => {
      while (begun < 3_000) await leave(begun++);
    };
    await Promise.all(Array.from({ length: 24 }, leaveInTurn));
    await until(async () => {
      const { openRequests, liveReservations, queueDepth } = await gate.snapshot();
      return openRequests + liveReservations + queueDepth + store.unsettled === 0;
    });
    ticking = false;
    await ticks;

    expect(served).toBeGreaterThan(0);
    expect(store.size).toBeGreaterThan(1);
    await goBy(clock, 400, () => gate.as({ user: 'last' }).run({ dialect: 'openai-chat', body: chat() }, async () => ({})));
    // Two of the last caller and two of its model; a counter of running calls leaves once it is looked at.
    expect(store.size).toBeLessThanOrEqual(4);
    expect([store.unsettled, store.settled]).toEqual([0, 1]);
    expect(clock.timers).toBe(0);
    await server.close();
    await gate.close();

    /** Where a client is when it leaves goes by its number, and by what else happens. */
    function leave(index: number): Promise<void> {
      return new Promise((resolve) => {
        const whole = wire('/', chat({ stream: index % 2 === 0 }), { 'x-user': `user-${index % 50}` });
        const socket = connect(Number(port), hostname);
        socket.on('error', () => {}).once('close', () => resolve());
        const end = () => void socket.destroy();
        socket.write(index % 4 === 0 ? whole.slice(0, -5) : whole, () => {
          if (index % 4 === 1) socket.once('data', end);
          else if (index % 4 === 2) setTimeout(end, index % 7);
          else setImmediate(end);
        });
      });
    }
  });

  it('of 50,000 keys that were used once, each by a job', { timeout: 120_000 }, async () => {
    const clock = createVirtualClock();
    const store = memoryStore({ clock });
    const gate = createSpillway<'user'>({
      models: { 'gpt-4o': { budgets: [{ tokens: 1e12, per: 'minute' }] } },
      scopes: { user: { budgets: [{ tokens: 1e12, per: 'minute' }, { concurrent: 2 }] } },
      store,
      clock,
    });
    const run = (user: string) => gate.as({ user }).run({ dialect: 'openai-chat', body: chat() }, async () => ({}));

    for (let key = 0; key < 50_000; key++) await run(`user-${key}`);
    const { liveReservations } = await gate.snapshot();
    expect([liveReservations, store.unsettled]).toEqual([0, 0]);
    // All of them are inside their window, and none may be forgotten.
    expect(store.size).toBeGreaterThan(50_000);

    // One look for each admission: about once through everything.
    await goBy(clock, 115_000, () => run('last'));
    expect(store.size).toBeLessThanOrEqual(4);
    expect(store.settled).toBe(1);
    expect(clock.timers).toBe(0);
    await gate.close();
  });
});
