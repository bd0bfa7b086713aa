import type { ServerResponse } from 'node:http';
import type { Ending, Sent } from '../call.js';
import type { Core } from '../core.js';
import type { AnswerReader } from '../dialects/answer-reader.js';
import type { Mount, Passing } from '../mount.js';
import { isJson, type ParsedRequest, type ReadJsonBody } from './json-body.js';
import { type ResponseTap, tapResponse } from './response-tap.js';

/** One request and its response, of node:http, in the hands of a framework. */
export interface Exchange<Req extends ParsedRequest> {
  readonly req: Req;
  readonly res: ServerResponse;
  /** Makes what the handler sees known to it, before it runs. */
  expose(passing: Passing): void;
  /** Goes on to the handler, with the body to use. Must not throw. */
  proceed(body: unknown): void;
}

/**
 * Takes a request past the gate: reads it, asks for admission, and either lets the handler answer, watched, or writes what
 * the ladder gave. A rejection belongs to the framework's error path; nothing is held then.
 */
export async function passExchange<Req extends ParsedRequest>(
  core: Core,
  mount: Mount<Req>,
  readBody: ReadJsonBody,
  exchange: Exchange<Req>,
): Promise<void> {
  const { req, res, proceed } = exchange;
  const { options } = mount;
  const leaving = new AbortController();
  // Registered before anything is awaited: a client may leave during any of it.
  res.once('close', () => {
    if (!res.writableEnded) leaving.abort();
  });
  if (options.skip ? await options.skip(req) : !hasJsonCall(req)) return proceed(req.body);
  await readBody(req, res);
  const given = await options.identify?.(req, res);
  if (leaving.signal.aborted) return;
  const bodyBytes = Number(req.headers['content-length']) || Buffer.byteLength(JSON.stringify(req.body ?? '') ?? '');
  const opened = mount.open({ req, body: req.body, bodyBytes, path: pathOf(req), given, signal: leaving.signal });
  if (!('run' in opened)) return write(res, opened.status, opened.headers, opened.body);
  await passOpened(core, opened, leaving, exchange);
}

async function passOpened<Req extends ParsedRequest>(
  core: Core,
  passing: Passing,
  leaving: AbortController,
  exchange: Exchange<Req>,
): Promise<void> {
  let resolveEnded: (ending: Ending) => void = () => {};
  const ended = new Promise<Ending>((resolve) => {
    resolveEnded = resolve;
  });
  const tap = watch(core, passing, leaving, exchange.res, resolveEnded);
  exchange.expose(passing);
  const outcome = await passing.run(async (_admitted, body): Promise<Sent<void>> => {
    exchange.proceed(body);
    return { value: undefined, ended };
  });
  if (!('value' in outcome)) tap.write(passing.render(outcome));
}

/** Taps the response for one passing: adds headers, reads the answer, rescues a handler that gave up. */
function watch(
  core: Core,
  passing: Passing,
  leaving: AbortController,
  res: ServerResponse,
  onEnded: (ending: Ending) => void,
): ResponseTap {
  let reader: AnswerReader | undefined;
  let sentBytes = 0;
  return tapResponse(
    res,
    {
      onHead(status) {
        if (passing.needsRescue(status)) return { instead: passing.rescue() };
        return { headers: passing.headers() };
      },
      onBytes(bytes) {
        if (sentBytes === 0)
          reader = passing.reader(String(res.getHeader('content-type') ?? ''), res.getHeader('content-encoding') === undefined);
        sentBytes += bytes.length;
        reader?.push(bytes);
      },
      onEnd(by, status) {
        if (by !== 'done') leaving.abort();
        onEnded(passing.close(by, status, reader?.findings(by === 'done'), sentBytes));
      },
    },
    { clock: core.options.clock, stallMs: core.options.stallMs, watch: core.keeper.watch },
  );
}

/** What is governed unless the mount says otherwise: anything that may carry a call. */
function hasJsonCall(req: ParsedRequest): boolean {
  const mayCall = req.method === 'POST' || req.method === 'PUT' || req.method === 'PATCH';
  return mayCall && (isJson(req) || (typeof req.body === 'object' && req.body !== null && !isForm(req)));
}

function isForm(req: ParsedRequest): boolean {
  return /^(application\/x-www-form-urlencoded|multipart\/)/i.test(req.headers['content-type'] ?? '');
}

function pathOf(req: ParsedRequest & { originalUrl?: string }): string {
  const url = req.originalUrl ?? req.url ?? '/';
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}

function write(res: ServerResponse, status: number, headers: Readonly<Record<string, string>>, body: string): void {
  if (res.headersSent || res.destroyed) return;
  res.statusCode = status;
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  res.end(body);
}
