import express, { type Request, type RequestHandler, type Response } from 'express';
import { spillway } from '../../adapters/express.js';
import type { Gate, MountOptions } from '../../src/index.js';
import { type Loopback, listen } from './loopback.js';

/** An Express application with one governed route, listening. */
export interface Served extends Loopback {
  /** Asks as `user`; the bare fetch of Node. */
  ask(user: string, body: object, init?: RequestInit): Promise<globalThis.Response>;
}

export async function serve<Scopes extends string>(
  gate: Gate<Scopes>,
  options: MountOptions<Scopes, Request>,
  handler: (req: Request, res: Response) => unknown,
  before: readonly RequestHandler[] = [],
): Promise<Served> {
  const app = express();
  const identify = (req: Request) => ({ user: req.get('x-user') }) as never;
  app.post('/api/chat', ...before, express.json(), spillway(gate, { route: 'chat', identify, ...options }), async (req, res) => {
    await handler(req, res);
  });
  const quiet: express.ErrorRequestHandler = (error, _req, res, next) => {
    if (res.headersSent) return next(error);
    res.status(typeof error?.status === 'number' ? error.status : 500).json({ failed: String(error?.message ?? error) });
  };
  app.use(quiet);
  const server = await listen(app);
  return {
    ...server,
    ask: (user, body, init = {}) =>
      fetch(`${server.url}/api/chat`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-user': user },
        body: JSON.stringify(body),
        ...init,
      }),
  };
}
