import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import express, { type ErrorRequestHandler, type Express } from 'express';
import OpenAI, { type APIError } from 'openai';
import type { Gate } from 'spillway';
import { spillway, spillwayOf } from 'spillway/express';

/** An OpenAI-compatible server in front of the provider: any OpenAI client can point its base URL here. */
export function createApp(gate: Gate<'user'>, baseURL: string): Express {
  const openai = new OpenAI({ apiKey: 'demo-key', baseURL, fetch: gate.fetch, maxRetries: 0 });
  const app = express();
  app.post(
    '/v1/chat/completions',
    express.json(),
    spillway(gate, { route: 'chat', identify: (req) => ({ user: req.get('x-user') }) }),
    async (req, res) => {
      const { signal } = spillwayOf(req);
      const answer = await openai.chat.completions.create(req.body, { signal }).asResponse();
      res.setHeader('content-type', answer.headers.get('content-type') ?? 'application/json');
      await pipeline(Readable.fromWeb(answer.body as never), res);
    },
  );
  app.use(asOpenAI);
  return app;
}

/** Errors in the shape that OpenAI's clients read: the provider's own, and those of the parser. */
const asOpenAI: ErrorRequestHandler = (error: Partial<APIError>, _req, res, _next) => {
  // A client that left, or a provider that broke off: too late to say anything.
  if (res.headersSent) return void res.destroy();
  const { status = 502, error: said, headers } = error;
  for (const name of ['retry-after', 'retry-after-ms', 'x-should-retry']) {
    const value = headers?.get(name);
    if (value) res.setHeader(name, value);
  }
  const message = status < 500 ? error.message : 'The provider could not be reached.';
  res.status(status).json({ error: said ?? { message, type: 'server_error', param: null, code: null } });
};
