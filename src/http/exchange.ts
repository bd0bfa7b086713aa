import { setMaxListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Ending, Rendered, Sent } from '../call.js';
import type { Core } from '../core.js';
import type { AnswerReader } from '../dialects/answer-reader.js';
import type { Mount } from '../mount.js';
import type { Passing } from '../passing.js';
import type { Visit } from '../visit.js';
import { type CompressedReader, createCompressedReader } from './compressed-answer.js';
import { isBodyRead, isJson, type ParsedRequest, type ReadJsonBody } from './json-body.js';
import { type ResponseTap, tapResponse } from './response-tap.js';

/** One request and its response, of node:http, in the hands of a framework. */
export interface Exchange<Req> {
  readonly req: ParsedRequest;
  readonly res: ServerResponse;
  /** What the application's own functions are given: the framework's request or context. */
  readonly subject: Req;
  /** Makes what the handler sees known to it, before it runs. */
  expose(passing: Passing): void;
  /** Goes on to the handler, with the body to use. Must not throw. */
  proceed(body: unknown): void;
  /** Answers in the framework's own way, so that what is mounted outside sees it; left out: the response itself is written. */
  answer?(rendered: Rendered): void;
}

/**
 * Takes a request past the gate: reads it, asks for admission, and either lets the handler answer, watched, or writes what
 * the ladder gave. A rejection belongs to the framework's error path; nothing is held then.
 */
export async function passExchange<Req>(
  core: Core,
  mount: Mount<Req>,
  readBody: ReadJsonBody,
  exchange: Exchange<Req>,
): Promise<void> {
  const { req, res, subject, proceed } = exchange;
  const { options } = mount;
  if (!options.skip && !mayCarryCall(req)) return proceed(req.body);
  const leaving = leavingOf(res);
  if (await options.skip?.(subject)) return proceed(req.body);
  await readBody(req, res);
  const given = await options.identify?.(subject, res);
  if (leaving.signal.aborted) return;
  const opened = mount.open({
    req: subject,
    body: req.body,
    bodyBytes: bytesSaid(req),
    path: pathOf(req),
    target: `${req.method} ${urlOf(req)}`,
    given,
    signal: leaving.signal,
    outer: visitsOf(core).get(res),
  });
  if (!('run' in opened))
    return exchange.answer ? exchange.answer(opened) : write(res, opened.status, opened.headers, opened.body);
  await passOpened(core, opened, leaving, exchange);
}

/** A client that leaves, from before anything is awaited: it may leave during any of it. */
interface Leaving {
  readonly signal: AbortSignal;
  abort(): void;
  /** Leaves the looking to the tap of the response. */
  handOver(): void;
}

function leavingOf(res: ServerResponse): Leaving {
  const controller = new AbortController();
  const { signal } = controller;
  // As many calls of one request may listen as it makes.
  setMaxListeners(0, signal);
  const onClose = () => {
    if (!res.writableEnded) controller.abort();
  };
  if (res.destroyed || res.closed) controller.abort();
  else res.once('close', onClose);
  return { signal, abort: () => controller.abort(), handOver: () => void res.off('close', onClose) };
}

async function passOpened<Req>(core: Core, passing: Passing, leaving: Leaving, exchange: Exchange<Req>): Promise<void> {
  let resolveEnded: (ending: Ending) => void = () => {};
  const ended = new Promise<Ending>((resolve) => {
    resolveEnded = resolve;
  });
  const tap = watch(core, passing, leaving, exchange.res, resolveEnded);
  leaving.handOver();
  exchange.expose(passing);
  const outcome = await passing.run(async (_admitted, body): Promise<Sent<void>> => {
    visitsOf(core).set(exchange.res, passing.visit);
    exchange.proceed(body);
    return { value: undefined, ended };
  });
  if ('value' in outcome) return;
  const rendered = passing.render(outcome);
  if (!exchange.answer) return tap.write(rendered);
  tap.stand();
  exchange.answer(rendered);
}

/** Taps the response for one passing: adds headers, reads the answer, rescues a handler that gave up. */
function watch(
  core: Core,
  passing: Passing,
  leaving: Leaving,
  res: ServerResponse,
  onEnded: (ending: Ending) => void,
): ResponseTap {
  let reader: AnswerReader | CompressedReader | undefined;
  let sentBytes = 0;
  let isPlain = true;
  return tapResponse(
    res,
    {
      instead: (status) => passing.rescue(status),
      headers: () => passing.headers(),
      onBytes(bytes, { contentType, contentEncoding }) {
        if (sentBytes === 0) {
          isPlain = contentEncoding === '' || contentEncoding === 'identity';
          const plain = passing.reader(contentType);
          reader = isPlain || !plain ? plain : createCompressedReader(plain, contentEncoding, core.options.tapBytes);
        }
        sentBytes += bytes.length;
        reader?.push(bytes);
      },
      onEnd(by, status) {
        // A response that somebody else ended while its request waits leaves nobody to wait for.
        if (by !== 'done' || !passing.hasPassed) leaving.abort();
        onEnded(passing.close({ by, status, findings: reader?.findings(by === 'done'), sentBytes, isPlain }));
      },
    },
    { clock: core.options.clock, stallMs: core.options.stallMs, watch: core.keeper.watch },
  );
}

/** Size of the body by the request's own word; `undefined`: it says none, or only that of the compressed one. */
function bytesSaid(req: ParsedRequest): number | undefined {
  return req.headers['content-encoding'] === undefined ? Number(req.headers['content-length']) || undefined : undefined;
}

/** The innermost visit of each response: mounts of one request nest, even where the asynchronous context was lost between them. */
const visits = new WeakMap<Core, WeakMap<ServerResponse, Visit>>();

function visitsOf(core: Core): WeakMap<ServerResponse, Visit> {
  const known = visits.get(core) ?? new WeakMap<ServerResponse, Visit>();
  visits.set(core, known);
  return known;
}

/** What is governed unless the mount says otherwise: anything that may carry a call. */
function mayCarryCall(req: ParsedRequest): boolean {
  if (req.method !== 'POST' && req.method !== 'PUT' && req.method !== 'PATCH') return false;
  return isJson(req) || (isBodyRead(req) && isParsed(req.body) && !isForm(req));
}

function isParsed(body: unknown): boolean {
  return typeof body === 'object' && body !== null && !ArrayBuffer.isView(body);
}

function isForm(req: ParsedRequest): boolean {
  return /^(application\/x-www-form-urlencoded|multipart\/)/i.test(req.headers['content-type'] ?? '');
}

function urlOf(req: ParsedRequest & { originalUrl?: string }): string {
  return req.originalUrl ?? req.url ?? '/';
}

function pathOf(req: ParsedRequest): string {
  const url = urlOf(req);
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}

function write(res: ServerResponse, status: number, headers: Readonly<Record<string, string>>, body: string): void {
  if (res.headersSent || res.destroyed) return;
  res.statusCode = status;
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  res.end(body);
}
