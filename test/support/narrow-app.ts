import type { ServerResponse } from 'node:http';
import express, { type ErrorRequestHandler, type Request, type RequestHandler } from 'express';
import { afterEach, expect } from 'vitest';
import { spillway } from '../../adapters/express.js';
import type { Options, Store } from '../../src/index.js';
import { chat, completion } from './chat.js';
import { begin, send } from './http-client.js';
import { listen, until } from './loopback.js';
import { createWorld, type World } from './world.js';

/** An application with room for one request at a time: whatever is not given back shows at once. */
export interface NarrowApp {
  readonly world: World;
  readonly url: string;
  /** What reached the error handler. */
  readonly failures: readonly Error[];
  /** Waits until nothing is under way, and proves that the next request is let in. */
  expectFree(): Promise<void>;
  closeServer(): Promise<void>;
  close(): Promise<void>;
}

export interface NarrowOptions {
  readonly handler: RequestHandler;
  readonly before?: readonly RequestHandler[];
  readonly after?: readonly RequestHandler[];
  readonly identify?: (req: Request) => Promise<{ user: string }>;
  readonly options?: Omit<Options<'user'>, 'store'>;
  readonly store?: Store;
}

const ONE_AT_A_TIME = [{ tokens: 1_000_000_000, per: 'hour' }, { requests: 10_000, per: 'hour' }, { concurrent: 1 }] as const;

export async function createNarrowApp(given: NarrowOptions): Promise<NarrowApp> {
  const world = createWorld(
    {
      models: { 'gpt-4o': { budgets: ONE_AT_A_TIME } },
      scopes: { user: { budgets: ONE_AT_A_TIME } },
      ladder: [],
      leaseMs: 100,
      ...given.options,
    },
    given.store,
  );
  const failures: Error[] = [];
  const catchAll: ErrorRequestHandler = (error, _req, res, _next) => {
    failures.push(error);
    if (res.headersSent) res.destroy();
    else res.status(500).end();
  };
  const ada = { identify: () => ({ user: 'ada' }) };
  const app = express();
  app.use('/next', spillway(world.gate, ada), (_req, res) => void res.json(completion()));
  for (const middleware of given.before ?? []) app.use(middleware);
  app.use(spillway(world.gate, { route: 'chat', identify: given.identify ?? ada.identify }));
  for (const middleware of given.after ?? []) app.use(middleware);
  app.use(given.handler, catchAll);
  const server = await listen(app);

  return {
    world,
    url: server.url,
    failures,
    async expectFree() {
      await world.atRest();
      const reply = await send(`${server.url}/next`, { body: chat() });
      await world.atRest();
      expect({ status: reply.status, outcome: reply.headers['spillway-outcome'] }).toEqual({ status: 200, outcome: 'passed' });
    },
    closeServer: () => server.close(),
    async close() {
      await server.close().catch(() => {});
      await world.close();
    },
  };
}

/** Applications for the tests of one file, each taken down after its test. */
export function narrowApps(): (options: NarrowOptions) => Promise<NarrowApp> {
  const open: NarrowApp[] = [];
  afterEach(async () => {
    for (const app of open.splice(0)) await app.close();
  });
  return async (options) => {
    const app = await createNarrowApp(options);
    open.push(app);
    return app;
  };
}

/** A handler that is waited for, and told when to go on. */
export function gatedHandler(run: (res: ServerResponse) => void = () => {}) {
  let begun: () => void = () => {};
  const isRunning = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const seen: ServerResponse[] = [];
  const handler: RequestHandler = (_req, res) => {
    seen.push(res);
    run(res);
    begun();
  };
  return { handler, isRunning, seen };
}

/** Sends a chat, and leaves once `when` has come true. */
export async function leave(url: string, when: () => boolean | Promise<unknown>, body: unknown = chat()): Promise<void> {
  const outgoing = begin(url, { body });
  outgoing.on('response', (response) => response.on('error', () => {}).resume());
  const now = when();
  if (typeof now === 'boolean') await until(when as () => boolean);
  else await now;
  outgoing.destroy();
}

/** How the reservations of an application were settled, in order. */
export const kinds = (app: NarrowApp) => app.world.settled.map(({ by }) => by);

/** What the first call of an application was thought to take. */
export const input = (app: NarrowApp) => app.world.settled[0]?.estimatedInputTokens ?? Number.NaN;
