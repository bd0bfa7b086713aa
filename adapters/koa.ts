import type { Context, Middleware, Next } from 'koa';
import { type Gate, type MountOptions, type Passage, SpillwayError } from '../src/index.js';

declare module 'koa' {
  interface DefaultState {
    /** What spillway knows of this request; there once its middleware let it pass. */
    spillway?: Passage;
  }
}

/**
 * Governs what runs after it. Use it after authentication and, when there is one, after the body parser.
 * @throws {@link OptionsError} with every fault in the options
 */
export function spillway<Scopes extends string>(gate: Gate<Scopes>, options: MountOptions<Scopes, Context> = {}): Middleware {
  const pass = gate.mount<Context>(options);
  return async function spillwayMiddleware(ctx: Context, next: Next): Promise<void> {
    const req: typeof ctx.req & { body?: unknown; originalUrl?: string } = ctx.req;
    const request: typeof ctx.request & { body?: unknown } = ctx.request;
    if (request.body !== undefined) req.body = request.body;
    // Middleware that mounts others below a path takes it off the URL.
    req.originalUrl ??= ctx.originalUrl;
    let handled: Promise<unknown> | undefined;
    await pass({
      req,
      res: ctx.res,
      subject: ctx,
      expose({ passage }) {
        ctx.state.spillway = passage;
      },
      proceed(body) {
        if (body !== request.body) request.body = body;
        handled = next();
        // Awaited below; until then a rejection must not count as nobody's.
        handled.catch(() => {});
      },
      answer({ status, headers, body }) {
        ctx.status = status;
        ctx.set(headers);
        ctx.body = body;
      },
    });
    await handled;
  };
}

/**
 * What spillway knows of a request.
 * @throws {@link SpillwayError} `SPILLWAY_NO_PASSAGE` when its middleware did not run before, or skipped the request
 */
export function spillwayOf(ctx: { readonly state: { readonly spillway?: Passage } }): Passage {
  if (ctx.state.spillway) return ctx.state.spillway;
  throw new SpillwayError(
    'SPILLWAY_NO_PASSAGE',
    'spillway did not see this request; use spillway(gate, ...) before the handler, and check its skip option',
  );
}
