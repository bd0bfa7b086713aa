// One server of the hostile bench, in a process of its own: tells its port, then the longest block of its event loop.
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import express, { type RequestHandler } from 'express';
import Koa from 'koa';
import koaBodyParser from 'koa-bodyparser';
import { spillway as expressSpillway } from '../adapters/express.js';
import { spillway as koaSpillway } from '../adapters/koa.js';
import { type BudgetOptions, cachedAnswer, cheaperModel, createSpillway, queue, staticAnswer } from '../src/index.js';
import { FORMATS } from '../test/http/hostile-bodies.js';

const LIMIT = 20_000_000;
const MODELS = FORMATS.map(({ model }) => model);
const ANSWER = { choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }] };
const ada = () => ({ user: 'ada' });
const asError: express.ErrorRequestHandler = (error, _req, res, _next) =>
  void res.status(error.status ?? 500).json({ error: error.message });

function createGate(isFull: boolean) {
  const budgets: BudgetOptions[] = isFull ? [{ requests: 1, per: 'hour' }] : [{ tokens: 1e12, per: 'hour' }];
  const cheaper = Object.fromEntries(MODELS.map((model) => [`${model}-mini`, { budgets: [] }]));
  return createSpillway<'user'>({
    models: { ...Object.fromEntries(MODELS.map((model) => [model, { budgets, cheaper: [`${model}-mini`] }])), ...cheaper },
    scopes: { user: { budgets: [{ tokens: 1e12, per: 'minute' }], optional: true } },
    ladder: [queue({ waitMs: 1 }), cachedAnswer(), cheaperModel(), staticAnswer('busy')],
    bodyBytes: LIMIT,
  });
}

async function expressApp(parser: RequestHandler | undefined, isFull: boolean | undefined): Promise<RequestListener> {
  const app = express();
  if (parser) app.use(parser);
  if (isFull !== undefined) {
    const gate = createGate(isFull);
    await gate.ready();
    app.use(expressSpillway(gate, { identify: ada }));
  }
  app.use((_req, res) => void res.json(ANSWER));
  app.use(asError);
  return app;
}

async function koaApp(isParsed: boolean, isFull: boolean | undefined): Promise<RequestListener> {
  const app = new Koa();
  app.silent = true;
  if (isParsed) app.use(koaBodyParser({ jsonLimit: `${LIMIT}b` }));
  if (isFull !== undefined) {
    const gate = createGate(isFull);
    await gate.ready();
    app.use(koaSpillway(gate, { identify: ada }));
  }
  app.use((ctx) => {
    ctx.body = ANSWER;
  });
  return app.callback();
}

/** The handler is given text and sends it on through the gate; the bare one only parses it. */
async function outgoingApp(isGoverned: boolean): Promise<RequestListener> {
  const app = express();
  const gate = createGate(true);
  await gate.ready();
  globalThis.fetch = async () => Response.json(ANSWER);
  app.use(express.text({ type: () => true, limit: LIMIT }), async (req, res) => {
    if (!isGoverned) return void res.json({ is: typeof JSON.parse(req.body) });
    const response = await gate.fetch(`https://api.example.com${req.path}`, { method: 'POST', body: req.body });
    res
      .status(response.status)
      .type('json')
      .send(await response.text());
  });
  app.use(asError);
  return app;
}

const json = express.json({ limit: LIMIT });
const servers: Record<string, () => Promise<RequestListener>> = {
  'express, bare': () => expressApp(json, undefined),
  'express, behind a parser': () => expressApp(json, false),
  'express, reads itself': () => expressApp(undefined, false),
  'express, full budgets': () => expressApp(json, true),
  'koa, bare': () => koaApp(true, undefined),
  'koa, behind a parser': () => koaApp(true, false),
  'koa, reads itself': () => koaApp(false, false),
  'koa, full budgets': () => koaApp(true, true),
  'fetch, bare': () => outgoingApp(false),
  'fetch, full budgets': () => outgoingApp(true),
};

const create = servers[process.argv[2] ?? ''];
if (!create) throw new Error(`give one of ${Object.keys(servers).join(', ')}`);
const server = createServer(await create()).listen(0, '127.0.0.1');
await once(server, 'listening');
const RESOLUTION_MS = 1;
const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delays.enable();
process.send?.({ port: (server.address() as AddressInfo).port });
process.on('message', () => {
  // A block counts once it is over: one more turn of the timer.
  setTimeout(() => {
    process.send?.({ longestMs: Math.max(0, delays.max / 1e6 - RESOLUTION_MS) });
    delays.reset();
  }, 5);
});
process.on('disconnect', () => process.exit(0));
