import type { ServerResponse } from 'node:http';
import type { Ending, Rendered } from '../call.js';
import { clearAnswer, type Headers, headAsObject, headersGiven } from './head.js';
import { holdResponse, type Instead, type ResponseCall, type ResponseMethod } from './held-response.js';
import { type EndFacts, watchEnd } from './response-end.js';

/** What the tap asks and tells. */
export interface TapHooks {
  /**
   * Asked before the handler's head goes out, and again when it could not be written.
   * @returns another response that is looked for in its place; the handler's is held back meanwhile
   */
  instead(status: number): Instead | undefined;
  /** Headers to add to a handler's head with this status that goes out now, as far as the handler did not set them itself. */
  headers(status: number): Readonly<Record<string, string>>;
  /** Hears the handler's bytes as they pass, before any compression mounted outside. */
  onBytes(bytes: Uint8Array, head: TappedHead): void;
  /** Hears exactly once how the response came to its end. `status`: of this handler's answer, or what took its place; 0: none. */
  onEnd(by: Ending['by'], status: number): void;
}

/** What a handler says of its body. */
export interface TappedHead {
  readonly contentType: string;
  readonly contentEncoding: string;
}

/** A response of node:http, watched. */
export interface ResponseTap {
  /** Writes a whole response in the handler's place. */
  write(rendered: Rendered): void;
  /** Whatever is written from now on stands as it is: nothing is added to it, and no other is looked for. */
  stand(): void;
}

type Args = readonly unknown[];

/** What a handler says of its waits stands. */
const OF_THE_HANDLER = new Set(['retry-after', 'retry-after-ms', 'x-should-retry']);

const NOTHING_GIVEN: Headers = new Map();

/**
 * Watches a response without changing it: bytes, return values, callbacks and back-pressure stay as they were. The methods are
 * wrapped, so that bytes are seen before a compression that was mounted earlier sees them.
 */
export function tapResponse(response: ServerResponse, hooks: TapHooks, facts: EndFacts): ResponseTap {
  const original: Readonly<Record<ResponseMethod, (...args: Args) => unknown>> = {
    writeHead: response.writeHead.bind(response) as never,
    flushHeaders: response.flushHeaders.bind(response),
    write: response.write.bind(response) as never,
    end: response.end.bind(response) as never,
  };
  let status = 0;
  let head: TappedHead = { contentType: '', contentEncoding: '' };
  /** No other response is looked for any more. */
  let isDecided = false;
  /** The head was decided, and a method that writes it is under way. */
  let isSending = false;
  /** Takes what the handler does, while its response is held back. */
  let hold: ((call: ResponseCall) => void) | undefined;

  function decide(next: number, given: Headers): void {
    if (hold || response.headersSent) return;
    // Now, for a compression outside will write its own encoding over the handler's.
    const before = head;
    head = readHead(given);
    if (isDecided) return;
    // Writing a body makes node:http write the head: asked again only where something on the way there has changed it.
    if (
      isSending &&
      next === status &&
      head.contentType === before.contentType &&
      head.contentEncoding === before.contentEncoding
    )
      return;
    status = next;
    const instead = hooks.instead(next);
    if (instead) hold = holdResponse(response, instead, { release, replace });
    else addHeaders(hooks.headers(next), given);
  }

  function release(calls: readonly ResponseCall[]): void {
    hold = undefined;
    isDecided = true;
    addHeaders(hooks.headers(status), NOTHING_GIVEN);
    try {
      for (const [method, args] of calls) send(method, args);
    } catch {
      // The handler that is to blame has gone on; half a response is as good as none.
      response.destroy();
    }
  }

  function replace(rendered: Rendered): void {
    hold = undefined;
    isDecided = true;
    if (response.headersSent || response.destroyed) return;
    status = rendered.status;
    clearAnswer(response);
    response.statusCode = rendered.status;
    setHeaders({ ...rendered.headers, 'content-length': String(Buffer.byteLength(rendered.body)) });
    original.end(rendered.body);
  }

  function setHeaders(headers: Readonly<Record<string, string>>): void {
    for (const name in headers) response.setHeader(name, headers[name] as string);
  }

  function addHeaders(headers: Readonly<Record<string, string>>, given: Headers): void {
    for (const name in headers)
      if (!OF_THE_HANDLER.has(name) || !(given.has(name) || response.hasHeader(name)))
        response.setHeader(name, headers[name] as string);
  }

  function send(method: ResponseMethod, args: Args): unknown {
    if (method === 'writeHead') return original.writeHead(...headAsObject(args));
    if (method !== 'flushHeaders' && !response.writableEnded) tell(args);
    isSending = true;
    try {
      return original[method](...args);
    } finally {
      isSending = false;
    }
  }

  function tell([chunk, encoding]: Args): void {
    if (typeof chunk === 'string')
      hooks.onBytes(Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8'), head);
    else if (chunk instanceof Uint8Array) hooks.onBytes(chunk, head);
  }

  function readHead(given: Headers): TappedHead {
    return { contentType: readHeader(given, 'content-type'), contentEncoding: readHeader(given, 'content-encoding') };
  }

  function readHeader(given: Headers, name: string): string {
    return String(given.get(name)?.value ?? response.getHeader(name) ?? '');
  }

  const wrap = (method: ResponseMethod, whenHeld: unknown) =>
    ((...args: Args) => {
      if (method === 'writeHead' && args.length > 1) decide(Number(args[0]), headersGiven(args));
      else if (method === 'writeHead') decide(Number(args[0]), NOTHING_GIVEN);
      else decide(response.statusCode, NOTHING_GIVEN);
      if (!hold) return send(method, args);
      hold([method, args]);
      return whenHeld;
    }) as never;
  response.writeHead = wrap('writeHead', response);
  response.flushHeaders = wrap('flushHeaders', undefined);
  response.write = wrap('write', true);
  response.end = wrap('end', response);

  watchEnd(response, facts, (by) => hooks.onEnd(by, !hold && response.headersSent ? status || response.statusCode : 0));
  return {
    write: replace,
    stand() {
      isDecided = true;
    },
  };
}
