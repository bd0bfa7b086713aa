// The server of the leak bench, in a process of its own: tells its port, then, once everything is at rest, what it still holds.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { spillway, spillwayOf } from '../adapters/express.js';
import { cheaperModel, createSpillway, memoryStore, queue, staticAnswer, systemClock } from '../src/index.js';

/** Longer than any window and than settled ids are remembered. */
const PAST_MS = 200_000;
const EVENTS = 6;

/** The machine's clock, which is put on once everything is at rest: what had its time must be gone then. */
let aheadMs = 0;
const clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
const store = memoryStore({ clock });
const gate = createSpillway<'user'>({
  models: {
    'gpt-4o': { budgets: [{ tokens: 1e9, per: 'minute' }, { concurrent: 30 }], cheaper: ['gpt-4o-mini'] },
    'gpt-4o-mini': { budgets: [{ tokens: 1e9, per: 'minute' }, { concurrent: 10 }] },
  },
  scopes: {
    user: {
      budgets: [
        { tokens: 1e9, per: 'minute' },
        { requests: 1e9, per: 'day' },
      ],
    },
  },
  ladder: [queue({ waitMs: 20 }), cheaperModel(), staticAnswer('busy')],
  stallMs: 200,
  leaseMs: 1_000,
  store,
  clock,
});
await gate.ready();

/** A provider that streams for a few milliseconds, and stops when it is told to. */
globalThis.fetch = async (_input, init) => {
  let timer: NodeJS.Timeout | undefined;
  let sent = 0;
  const stream = new ReadableStream({
    start(controller) {
      const end = () => clearInterval(timer);
      init?.signal?.addEventListener('abort', () => {
        end();
        controller.error(init.signal?.reason);
      });
      timer = setInterval(() => {
        const isLast = ++sent > EVENTS;
        const data = isLast
          ? '[DONE]'
          : JSON.stringify({ choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: null }] });
        controller.enqueue(new TextEncoder().encode(`data: ${data}\n\n`));
        if (!isLast) return;
        end();
        controller.close();
      }, 1);
    },
    cancel: () => clearInterval(timer),
  });
  return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
};

const app = express();
app.use(
  express.json(),
  spillway(gate, {
    route: 'chat',
    identify: async (req) => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 2));
      return { user: req.get('x-user') };
    },
  }),
);
app.post('/calls', async (req, res) => {
  const response = await spillwayOf(req).fetch('https://api.example.com/v1/chat/completions', {
    method: 'POST',
    body: JSON.stringify(req.body),
  });
  res.writeHead(response.status, { 'content-type': response.headers.get('content-type') ?? '' });
  for await (const chunk of response.body ?? [])
    if (!res.write(chunk)) await Promise.race([once(res, 'drain'), once(res, 'close')]);
  res.end();
});
app.post('/answers', (_req, res) => {
  setTimeout(() => res.json({ choices: [{ index: 0, message: { role: 'assistant', content: 'ok' } }] }), Math.random() * 5);
});
const quiet: express.ErrorRequestHandler = (_error, _req, res, _next) =>
  void (res.headersSent ? res.destroy() : res.status(500).end());
app.use(quiet);

const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
process.send?.({ port: (server.address() as AddressInfo).port });

process.on('message', async () => {
  for (let turn = 0; turn < 5_000; turn++) {
    const { openRequests, liveReservations, queueDepth } = await gate.snapshot();
    if (openRequests + liveReservations + queueDepth === 0 && store.unsettled === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  aheadMs += PAST_MS;
  // A few calls let the store look at what has passed.
  for (let turn = 0; turn < 200; turn++)
    await gate.as({ user: 'last' }).run({ dialect: 'openai-chat', body: { model: 'gpt-4o', messages: [] } }, async () => ({}));
  aheadMs += PAST_MS;
  await gate.as({ user: 'last' }).run({ dialect: 'openai-chat', body: { model: 'gpt-4o', messages: [] } }, async () => ({}));
  for (let turn = 0; turn < 3; turn++) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const { budgets: _, ...left } = await gate.snapshot();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ heapUsed, external, ...left, counters: store.size, unsettled: store.unsettled, settledIds: store.settled });
});
process.on('disconnect', () => process.exit(0));
