import type { RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { bodyParser } from '@koa/bodyparser';
import express, { type ErrorRequestHandler } from 'express';
import Koa from 'koa';
import * as onExpress from '../../../adapters/express.js';
import * as onKoa from '../../../adapters/koa.js';
import type { Gate } from '../../../src/index.js';

/** Answers a governed request, whichever framework received it. `signal` fires when its client leaves. */
export type Handler = (body: unknown, signal: AbortSignal) => Promise<Response>;

/** An application with one governed route, and errors in the shape that the clients of an API read. */
export type Framework = (gate: Gate<'user'>, handler: Handler, errorBody: ErrorBody) => RequestListener;

/** The body of an error response; `said` is what the SDK of the handler threw. */
export type ErrorBody = (said: Thrown) => object;

/** An error of any SDK. */
export interface Thrown {
  readonly status?: number;
  readonly headers?: Headers;
  readonly error?: unknown;
  readonly message?: string;
}

const WAIT_HEADERS = ['retry-after', 'retry-after-ms', 'x-should-retry'] as const;

export const FRAMEWORKS: Readonly<Record<'Express' | 'Koa', Framework>> = {
  Express(gate, handler, errorBody) {
    const app = express();
    const governed = onExpress.spillway(gate, { route: 'chat', identify: (req) => ({ user: req.get('x-user') }) });
    app.post('/{*path}', express.json({ limit: '4mb' }), governed, async (req, res) => {
      const { status, headers, body } = await handler(req.body, onExpress.spillwayOf(req).signal);
      res.status(status).setHeader('content-type', headers.get('content-type') ?? 'application/json');
      await pipeline(Readable.fromWeb(body as never), res);
    });
    const answersErrors: ErrorRequestHandler = (thrown: Thrown, _req, res, _next) => {
      if (res.headersSent) return void res.destroy();
      for (const [name, value] of waitsOf(thrown)) res.setHeader(name, value);
      res.status(thrown.status ?? 502).json(errorBody(thrown));
    };
    return app.use(answersErrors);
  },
  Koa(gate, handler, errorBody) {
    const app = new Koa();
    app.silent = true;
    app.use(async (ctx, next) => {
      try {
        await next();
      } catch (thrown) {
        ctx.set(Object.fromEntries(waitsOf(thrown as Thrown)));
        ctx.status = (thrown as Thrown).status ?? 502;
        ctx.body = errorBody(thrown as Thrown);
      }
    });
    app.use(bodyParser());
    app.use(onKoa.spillway(gate, { route: 'chat', identify: (ctx) => ({ user: ctx.get('x-user') }) }));
    app.use(async (ctx) => {
      const { status, headers, body } = await handler(ctx.request.body, onKoa.spillwayOf(ctx).signal);
      ctx.status = status;
      ctx.set('content-type', headers.get('content-type') ?? 'application/json');
      ctx.body = Readable.fromWeb(body as never);
    });
    return app.callback();
  },
};

function waitsOf({ headers }: Thrown): [string, string][] {
  return WAIT_HEADERS.map((name): [string, string] => [name, headers?.get(name) ?? '']).filter(([, value]) => value !== '');
}
