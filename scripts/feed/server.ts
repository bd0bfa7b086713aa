import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express, { type Express } from 'express';
import { createSpillway, type Gate, memoryStore, type Store } from 'spillway';
import { spillway } from 'spillway/express';
import { PATHS, type Recording } from './recordings.js';

/** What became of one body. */
export interface Fed {
  readonly recording: Recording;
  /** 0: there was no answer. */
  readonly status: number;
  /** The beginning of what was answered when it was no 2xx. */
  readonly complaint: string | undefined;
  /** Input tokens; 0: nothing. */
  readonly held: number;
  readonly charged: number;
}

export interface FeedServer {
  /** Sends one body, and waits until it is settled. One at a time. */
  feed(recording: Recording): Promise<Fed>;
  close(): Promise<void>;
}

const ROOM = 1_000_000_000_000;
const BODY_LIMIT = '100mb';

/** Short answers without usage, so that the estimate of the input stays. */
const ANSWERS: Readonly<Record<(typeof PATHS)[keyof typeof PATHS], object>> = {
  '/v1/chat/completions': {
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  },
  '/v1/responses': {
    object: 'response',
    status: 'completed',
    output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] }],
  },
  '/v1/completions': { object: 'text_completion', choices: [{ index: 0, text: 'ok', finish_reason: 'stop' }] },
  '/v1/embeddings': { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.1] }] },
  '/v1/messages': { type: 'message', role: 'assistant', content: [{ type: 'text', text: 'ok' }], stop_reason: 'end_turn' },
};

/** The application: one governed route for each endpoint, and nobody behind it. */
function createApp(gate: Gate<'user'>): Express {
  const app = express();
  // The error page says what broke, and the console nothing.
  app.set('env', 'test');
  for (const [path, answer] of Object.entries(ANSWERS)) {
    app.post(path, express.json({ limit: BODY_LIMIT }), spillway(gate, { identify: () => ({ user: 'feeder' }) }), (req, res) => {
      if (req.body.stream !== true) return void res.json(answer);
      res.type('text/event-stream').end(`data: ${JSON.stringify(answer)}\n\n`);
    });
  }
  return app;
}

/** @param models - names of the models that will be asked for: their vocabularies are loaded */
export async function startServer(models: Iterable<string>): Promise<FeedServer> {
  const meter = createMeter();
  const gate = createSpillway({
    models: Object.fromEntries([...models].map((model) => [model, { budgets: [] }])),
    scopes: { user: { budgets: [{ inputTokens: ROOM, per: 'hour' }] } },
    store: meter.store,
    ladder: [],
  });
  await gate.ready();
  const server = createApp(gate).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    async feed(recording) {
      meter.reset();
      const sent = await send(`${url}${PATHS[recording.api]}`, recording.body);
      await settled(gate);
      return { recording, ...sent, held: meter.held, charged: meter.charged };
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await gate.close();
    },
  };
}

async function send(url: string, body: object): Promise<Pick<Fed, 'status' | 'complaint'>> {
  try {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await response.text();
    return { status: response.status, complaint: response.ok ? undefined : text.slice(0, 200) };
  } catch (error) {
    return { status: 0, complaint: String(error) };
  }
}

/** What is under way is settled within a few turns of the event loop once the answer is here. */
async function settled(gate: Gate<'user'>): Promise<void> {
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve));
    const { openRequests, liveReservations } = await gate.snapshot();
    if (openRequests + liveReservations === 0) return;
  }
}

/** A store that tells what passed through it: everything is counted on one budget of input tokens. */
function createMeter() {
  const inner = memoryStore();
  const meter = { held: 0, charged: 0, reset, store: undefined as never as Store };
  function reset(): void {
    meter.held = 0;
    meter.charged = 0;
  }
  meter.store = {
    async reserve(id, items, how) {
      meter.held += items[0]?.amount ?? 0;
      return inner.reserve(id, items, how);
    },
    settle(id, amounts) {
      meter.charged += amounts[0] ?? 0;
      return inner.settle(id, amounts);
    },
    renew: (ids, leaseMs) => inner.renew(ids, leaseMs),
    peek: (items) => inner.peek(items),
    close: () => inner.close(),
  };
  return meter;
}
