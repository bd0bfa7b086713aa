import { Readable } from 'node:stream';
import { bodyParser } from '@koa/bodyparser';
import type Koa from 'koa';
import koaBodyparser from 'koa-bodyparser';
import compress from 'koa-compress';
import { spillway, spillwayOf } from '../../adapters/koa.js';
import type { MakeApp, Part, Turn } from '../conformance/adapter.js';

type Factory = new () => Koa;
type Failing = Extract<Part, { kind: 'errors' }>;
/** Parsers of either generation. */
export type ParserOf = (enableTypes: ('json' | 'form')[]) => Koa.Middleware;

export const newParser: ParserOf = (enableTypes) => bodyParser({ enableTypes });
export const oldParser: ParserOf = (enableTypes) => koaBodyparser({ enableTypes });

/** Applications of the conformance suite, as Koa has them. */
export function koaApp(Application: Factory, parserOf: ParserOf): MakeApp {
  return (parts) => {
    const app = new Application();
    app.silent = true;
    const mounts = new Map<Part, Koa.Middleware>();
    for (const middleware of inOrder(parts).map((part) => middlewareOf(part, parserOf, mounts))) app.use(middleware);
    return app.callback();
  };
}

/** In Koa whoever catches stands outside, and the first to do so is the innermost. */
function inOrder(parts: readonly Part[]): Part[] {
  const failing = parts.filter((part): part is Failing => part.kind === 'errors');
  return [...failing.reverse(), ...parts.filter((part) => part.kind !== 'errors')];
}

/** @param mounts - a part that comes twice is one middleware in two places */
function middlewareOf(part: Part, parserOf: ParserOf, mounts: Map<Part, Koa.Middleware>): Koa.Middleware {
  switch (part.kind) {
    case 'json':
    case 'form':
      return parserOf([part.kind]);
    case 'compression':
      return compress({ threshold: 0 });
    case 'spillway': {
      const middleware = mounts.get(part) ?? spillway(part.gate, part.options);
      mounts.set(part, middleware);
      return below(part.path ?? '/', [middleware]);
    }
    case 'router':
      return below(
        part.path,
        inOrder(part.parts).map((inner) => middlewareOf(inner, parserOf, mounts)),
      );
    case 'step':
      return (ctx, next) =>
        new Promise((resolve, reject) => {
          part.run(turnOf(ctx), () => void next().then(resolve, reject));
        });
    case 'handler':
      return below(part.path, [(ctx) => part.run(turnOf(ctx))]);
    case 'errors':
      return async (ctx, next) => {
        try {
          await next();
        } catch (error) {
          part.run(error, turnOf(ctx));
        }
      };
    default:
      return part satisfies never;
  }
}

/** Mounts below a path, as koa-mount does: it takes the path off the URL, and puts it back for what comes after. */
function below(path: string, inner: readonly Koa.Middleware[]): Koa.Middleware {
  if (path === '/') return (ctx, next) => chain(inner, ctx, next);
  return async (ctx, next) => {
    const whole = ctx.path;
    if (whole !== path && !whole.startsWith(`${path}/`)) return next();
    ctx.path = whole.slice(path.length) || '/';
    await chain(inner, ctx, async () => {
      const taken = ctx.path;
      ctx.path = whole;
      await next();
      ctx.path = taken;
    });
    ctx.path = whole;
  };
}

function chain([first, ...rest]: readonly Koa.Middleware[], ctx: Koa.Context, next: Koa.Next): Promise<unknown> {
  return first ? Promise.resolve(first(ctx, () => chain(rest, ctx, next))) : next();
}

function turnOf(ctx: Koa.Context): Turn {
  return {
    req: ctx.req,
    get res() {
      // Whoever takes over from Koa must also say that there is something: it begins with 404.
      if (ctx.respond !== false && !ctx.headerSent) ctx.res.statusCode = 200;
      ctx.respond = false;
      return ctx.res;
    },
    get body() {
      return (ctx.request as { body?: unknown }).body;
    },
    passage: () => spillwayOf(ctx),
    get exposed() {
      return ctx.state.spillway;
    },
    passedHead: () => ctx.headerSent,
    setHeader: (name, value) => ctx.set(name, value),
    json(value, status = 200) {
      ctx.respond = true;
      ctx.status = status;
      ctx.body = value;
    },
    send(body) {
      ctx.body = body;
    },
    async events(events) {
      ctx.type = 'text/event-stream';
      ctx.body = Readable.from(slowly(events));
    },
  };
}

async function* slowly(events: Iterable<string>) {
  for (const event of events) {
    yield event;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
