import type { ServerResponse } from 'node:http';
import type { Ending, Rendered, Sent } from '../call.js';
import type { Core } from '../core.js';
import type { AnswerReader } from '../dialects/answer-reader.js';
import { Client } from '../leaver.js';
import type { Mount } from '../mount.js';
import type { Passing } from '../passing.js';
import { isThenable } from '../thenable.js';
import type { Visit } from '../visit.js';
import { type CompressedReader, createCompressedReader } from './compressed-answer.js';
import { isBodyRead, isJson, type ParsedRequest, type ReadJsonBody } from './json-body.js';
import { type TapHooks, type TappedHead, tapResponse } from './response-tap.js';

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

const LARGE_BYTES = 262_144;

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
  const { req, res, subject } = exchange;
  const { options } = mount;
  if (!options.skip && !mayCarryCall(req)) return exchange.proceed(req.body);
  const skips = options.skip?.(subject);
  if (skips === true) return exchange.proceed(req.body);
  const client = new Watched(res);
  if (isThenable(skips) ? await skips : skips) return exchange.proceed(req.body);
  const reading = readBody(req, res);
  if (reading) await reading;
  const naming = options.identify?.(subject, res);
  const given = isThenable(naming) ? await naming : naming;
  // Reading a large body takes a while, and so did parsing it: others go between.
  if ((bytesSaid(req) ?? LARGE_BYTES) >= LARGE_BYTES)
    // The first comes before timers and sockets, the second after them.
    for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
  if (client.hasLeft) return;
  const opened = mount.open({
    req: subject,
    body: req.body,
    bodyBytes: bytesSaid(req),
    path: pathOf(req),
    target: `${req.method} ${urlOf(req)}`,
    handler: () => handlerOf(req, subject),
    given,
    client,
    outer: innermostVisit(core, res),
  });
  if (!('run' in opened))
    return exchange.answer ? exchange.answer(opened) : write(res, opened.status, opened.headers, opened.body);
  await passOpened(core, opened, client, exchange);
}

/** The client of a response, watched from before anything is awaited: it may leave during any of it. */
class Watched extends Client {
  readonly #res: ServerResponse;
  readonly #onClose = () => {
    if (!this.#res.writableEnded) this.leave();
  };

  constructor(res: ServerResponse) {
    super();
    this.#res = res;
    if (res.destroyed || res.closed) this.leave();
    else res.on('close', this.#onClose);
  }

  /** Leaves the watching to the tap of the response: many mounts of one request must not look like a leak. */
  handOver(): void {
    this.#res.off('close', this.#onClose);
  }
}

async function passOpened<Req>(core: Core, passing: Passing, client: Watched, exchange: Exchange<Req>): Promise<void> {
  const { res } = exchange;
  const watch = new Watch(core, passing, client);
  const tap = tapResponse(res, watch, { clock: core.options.clock, stallMs: core.options.stallMs, watch: core.keeper.watch });
  client.handOver();
  exchange.expose(passing);
  const outcome = await passing.run((_admitted, body): Sent<void> => {
    setInnermostVisit(core, res, passing.visit);
    exchange.proceed(body);
    return { value: undefined, ended: watch.ended };
  });
  if ('value' in outcome) return;
  const rendered = passing.render(outcome);
  if (!exchange.answer) return tap.write(rendered);
  tap.stand();
  exchange.answer(rendered);
}

/** What one passing wants to know of its response: adds headers, reads the answer, rescues a handler that gave up. */
class Watch implements TapHooks {
  readonly ended: Promise<Ending>;
  readonly #core: Core;
  readonly #passing: Passing;
  readonly #client: Client;
  #resolveEnded: (ending: Ending) => void = () => {};
  #reader: AnswerReader | CompressedReader | undefined;
  #sentBytes = 0;
  #isPlain = true;

  constructor(core: Core, passing: Passing, client: Client) {
    this.#core = core;
    this.#passing = passing;
    this.#client = client;
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  instead(status: number) {
    return this.#passing.rescue(status);
  }

  headers(status: number) {
    return this.#passing.headers(status);
  }

  onBytes(bytes: Uint8Array, head: TappedHead): void {
    if (this.#sentBytes === 0) this.#reader = this.#readerFor(head);
    this.#sentBytes += bytes.length;
    this.#reader?.push(bytes);
  }

  #readerFor({ contentType, contentEncoding }: TappedHead): AnswerReader | CompressedReader | undefined {
    this.#isPlain = contentEncoding === '' || contentEncoding === 'identity';
    const plain = this.#passing.reader(contentType);
    if (this.#isPlain || !plain) return plain;
    return createCompressedReader(plain, contentEncoding, this.#core.options.tapBytes);
  }

  onEnd(by: Ending['by'], status: number): void {
    const passing = this.#passing;
    // A response that somebody else ended while its request waits leaves nobody to wait for.
    if (by !== 'done' || !passing.hasPassed) this.#client.leave();
    const findings = this.#reader?.findings(by === 'done');
    this.#resolveEnded(passing.close({ by, status, findings, sentBytes: this.#sentBytes, isPlain: this.#isPlain }));
  }
}

/**
 * The innermost visit of a response is kept on the response itself, each gate under a name of its own: mounts of one request nest,
 * even where the asynchronous context was lost between them.
 */
type Visited = ServerResponse & { [innermost: symbol]: Visit | undefined };

function innermostVisit(core: Core, res: ServerResponse): Visit | undefined {
  return (res as Visited)[core.innermost];
}

function setInnermostVisit(core: Core, res: ServerResponse, visit: Visit): void {
  (res as Visited)[core.innermost] = visit;
}

/** Size of the body by the request's own word; `undefined`: it says none, or only that of the compressed one. */
function bytesSaid(req: ParsedRequest): number | undefined {
  return req.headers['content-encoding'] === undefined ? Number(req.headers['content-length']) || undefined : undefined;
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

/** What frameworks call the route that they matched, with the method: what a handler does is learned by it. */
function handlerOf(req: ParsedRequest & { route?: { path?: unknown }; baseUrl?: string }, subject: unknown): string {
  const route = req.route?.path ?? (subject as { _matchedRoute?: unknown } | undefined)?._matchedRoute;
  return `${req.method} ${route === undefined ? pathOf(req) : `${req.baseUrl ?? ''}${String(route)}`}`;
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
