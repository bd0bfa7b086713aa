// One server of the overhead bench, in a process of its own: tells its port, then its processor time whenever it is asked.
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type RequestHandler } from 'express';
import rateLimit from 'express-rate-limit';
import Koa from 'koa';
import koaBodyParser from 'koa-bodyparser';
import { RateLimiterMemory } from 'rate-limiter-flexible';

// The built package: what runs the sources names every closure anew at each request, which would be measured too.
const built = async <T>(name: string): Promise<T> => import(new URL(`../dist/${name}.mjs`, import.meta.url).href);
const { createSpillway } = await built<typeof import('spillway')>('index');
const { spillway: expressSpillway } = await built<typeof import('spillway/express')>('express');
const { spillway: koaSpillway } = await built<typeof import('spillway/koa')>('koa');

/** What a route that called a model would answer. */
const ANSWER = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 0,
  model: 'gpt-4o',
  choices: [{ index: 0, message: { role: 'assistant', content: 'It depends. '.repeat(40) }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 250, completion_tokens: 120, total_tokens: 370 },
};
const MOST = 1_000_000_000;
const windows = [
  { tokens: MOST, per: 'minute' },
  { requests: MOST, per: 'minute' },
] as const;

function createGate() {
  return createSpillway({
    models: { 'gpt-4o': { budgets: windows } },
    scopes: { organization: { budgets: windows }, user: { budgets: windows } },
  });
}

const userOf = (header: string | undefined) => ({ user: header ?? 'nobody', organization: (header ?? '').slice(-1) });

/** Six counters, as three scopes with requests and tokens need. */
function createCounters() {
  return Array.from({ length: 6 }, () => new RateLimiterMemory({ points: MOST, duration: 60 }));
}

async function consumeAll(counters: readonly RateLimiterMemory[], user: string): Promise<void> {
  await Promise.all(counters.map((counter, index) => counter.consume(`${index}:${user}`, 1 + index)));
}

function expressApp(...handlers: RequestHandler[]): RequestListener {
  const app = express();
  app.post('/chat', express.json(), ...handlers, (_req, res) => void res.json(ANSWER));
  return app;
}

function koaApp(...handlers: Koa.Middleware[]): RequestListener {
  const app = new Koa();
  app.use(koaBodyParser());
  for (const handler of handlers) app.use(handler);
  app.use((ctx) => {
    ctx.body = ANSWER;
  });
  return app.callback();
}

const servers: Record<string, () => Promise<RequestListener>> = {
  express: async () => expressApp(),
  'express + limiters': async () => {
    const counters = createCounters();
    const limit = rateLimit({ limit: MOST, windowMs: 60_000, standardHeaders: 'draft-8', legacyHeaders: false });
    return expressApp(limit, (req, _res, next) => void consumeAll(counters, req.get('x-user') ?? '').then(() => next(), next));
  },
  'express + spillway': async () => {
    const gate = createGate();
    await gate.ready();
    return expressApp(expressSpillway(gate, { route: 'chat', identify: (req) => userOf(req.get('x-user')) }));
  },
  koa: async () => koaApp(),
  'koa + limiters': async () => {
    const counters = createCounters();
    return koaApp(async (ctx, next) => {
      await consumeAll(counters, ctx.get('x-user'));
      await next();
    });
  },
  'koa + spillway': async () => {
    const gate = createGate();
    await gate.ready();
    return koaApp(koaSpillway(gate, { route: 'chat', identify: (ctx) => userOf(ctx.get('x-user')) }));
  },
};

const listener = await (servers[process.argv[2] ?? '']?.() ??
  Promise.reject(new Error(`give one of ${Object.keys(servers).join(', ')}`)));
const server = createServer(listener).listen(0, '127.0.0.1');
await once(server, 'listening');
process.send?.({ port: (server.address() as AddressInfo).port });
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuMicros: user + system });
});
process.on('disconnect', () => process.exit(0));
