import compression from 'compression';
import express5, { type ErrorRequestHandler, type Express, type Request, type RequestHandler, type Response } from 'express';
import express4 from 'express4';
import { spillway, spillwayOf } from '../../adapters/express.js';
import type { MakeApp, Part, Turn } from '../conformance/adapter.js';

type Factory = typeof express5;

/** Applications of the conformance suite, as Express has them. */
export const expressApp: MakeApp = (parts) => createApp(express5, parts);

/** The same on Express 4. */
export const express4App: MakeApp = (parts) => createApp(express4, parts);

function createApp(express: Factory, parts: readonly Part[]): Express {
  const app = express();
  // Without a header of Express, node:http takes those of writeHead without keeping them.
  app.disable('x-powered-by');
  // Error pages without stack traces, and nothing on the console.
  app.set('env', 'test');
  const mounts = new Map<Part, RequestHandler>();
  for (const part of parts) use(express, app, part, mounts);
  return app;
}

/** @param mounts - a part that comes twice is one middleware in two places */
function use(express: Factory, target: express5.Router, part: Part, mounts: Map<Part, RequestHandler>): void {
  switch (part.kind) {
    case 'json':
      target.use(express.json({ limit: '1mb' }));
      return;
    case 'form':
      target.use(express.urlencoded({ extended: false }));
      return;
    case 'compression':
      target.use(compression({ threshold: 0 }));
      return;
    case 'spillway': {
      const middleware = mounts.get(part) ?? spillway(part.gate, part.options);
      mounts.set(part, middleware);
      target.use(part.path ?? '/', middleware);
      return;
    }
    case 'router': {
      const router = express.Router();
      for (const inner of part.parts) use(express, router, inner, mounts);
      target.use(part.path, router);
      return;
    }
    case 'step':
      target.use((req, res, next) => part.run(turnOf(req, res), next));
      return;
    case 'handler':
      target.use(part.path, (req, res, next) => {
        const answered = part.run(turnOf(req, res));
        // Express 4 leaves rejections to the handlers themselves.
        return express === express4 ? answered?.catch(next) : answered;
      });
      return;
    case 'errors':
      target.use(((error, req, res, _next) => part.run(error, turnOf(req, res))) satisfies ErrorRequestHandler);
      return;
    default:
      part satisfies never;
  }
}

function turnOf(req: Request, res: Response): Turn {
  return {
    req,
    res,
    get body() {
      return req.body;
    },
    passage: () => spillwayOf(req),
    get exposed() {
      return req.spillway;
    },
    passedHead: () => res.headersSent,
    setHeader: (name, value) => void res.setHeader(name, value),
    json: (value, status = 200) => void res.status(status).json(value),
    send: (body) => void res.send(body),
    async events(events) {
      res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
      for (const event of events) {
        res.write(event);
        await new Promise((resolve) => setImmediate(resolve));
      }
      res.end();
    },
  };
}
