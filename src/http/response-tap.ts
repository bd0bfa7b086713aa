import type { ServerResponse } from 'node:http';
import type { Ending, Rendered } from '../call.js';
import type { Clock } from '../clock.js';

/** What the tap asks and tells. */
export interface TapHooks {
  /**
   * Asked once, before the handler's head goes out.
   * @returns headers to add, or the promise of another response in its place; while that is looked for, the handler's is held back
   */
  onHead(
    status: number,
  ): { readonly headers: Readonly<Record<string, string>> } | { readonly instead: Promise<Rendered | undefined> };
  /** Hears the handler's bytes as they pass, before any compression mounted outside. */
  onBytes(bytes: Uint8Array): void;
  /** Hears exactly once how the response came to its end. */
  onEnd(by: Ending['by'], status: number): void;
}

export interface TapFacts {
  readonly clock: Clock;
  /** A client that takes nothing for so long is treated as gone, in ms. */
  readonly stallMs: number;
  watch(watcher: () => void): () => void;
}

/** A response of node:http, watched. */
export interface ResponseTap {
  /** Writes a whole response in the handler's place. */
  write(rendered: Rendered): void;
}

/** Most bytes of a handler's error response that are held back while the ladder looks for a better one. */
const MOST_HELD_BYTES = 1_048_576;

/** Headers of a handler's own body, which another body must not inherit. */
const BODY_HEADERS = [
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'etag',
  'last-modified',
  'trailer',
];

type Write = ServerResponse['write'];
type Args = readonly unknown[];

/**
 * Watches a response without changing it: bytes, return values, callbacks and back-pressure stay as they were. Methods are
 * wrapped before compression's that were mounted earlier see the bytes.
 */
export function tapResponse(response: ServerResponse, hooks: TapHooks, facts: TapFacts): ResponseTap {
  const original = {
    write: response.write.bind(response) as (...args: Args) => boolean,
    end: response.end.bind(response) as (...args: Args) => ServerResponse,
    writeHead: response.writeHead.bind(response) as (...args: Args) => ServerResponse,
    flushHeaders: response.flushHeaders.bind(response),
  };
  let isDecided = false;
  /** What the handler did while its response is held back; `undefined`: it passes. */
  let held: { readonly calls: [keyof typeof original, Args][]; bytes: number } | undefined;

  function decide(status: number): void {
    if (isDecided || response.headersSent) return;
    isDecided = true;
    const decision = hooks.onHead(status);
    if ('headers' in decision) setHeaders(decision.headers);
    else {
      held = { calls: [], bytes: 0 };
      decision.instead.then(
        (rendered) => settleHeld(rendered),
        () => settleHeld(undefined),
      );
    }
  }

  function settleHeld(rendered: Rendered | undefined): void {
    if (!held) return;
    const { calls } = held;
    held = undefined;
    if (rendered && !response.headersSent) {
      replace(rendered);
      return;
    }
    for (const [method, args] of calls) {
      if (method === 'write' || method === 'end') tell(args);
      (original[method] as (...args: Args) => unknown)(...args);
      // An error handler that saw no head sent may have answered a second time.
      if (method === 'end') return;
    }
  }

  /** @returns whether the call was kept back */
  function hold(method: keyof typeof original, args: Args): boolean {
    if (!held) return false;
    held.calls.push([method, args]);
    const [chunk] = args;
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) held.bytes += chunk.length;
    if (held.bytes > MOST_HELD_BYTES) settleHeld(undefined);
    return true;
  }

  function tell([chunk, encoding]: Args): void {
    if (typeof chunk === 'string')
      hooks.onBytes(Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8'));
    else if (chunk instanceof Uint8Array) hooks.onBytes(chunk);
  }

  function setHeaders(headers: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  }

  function replace({ status, headers, body }: Rendered): void {
    for (const name of BODY_HEADERS) response.removeHeader(name);
    response.statusCode = status;
    response.statusMessage = '';
    setHeaders(headers);
    original.end(body);
  }

  response.writeHead = ((...args: Args) => {
    decide(args[0] as number);
    return hold('writeHead', args) ? response : original.writeHead(...args);
  }) as typeof response.writeHead;
  response.flushHeaders = () => {
    decide(response.statusCode);
    if (!hold('flushHeaders', [])) original.flushHeaders();
  };
  response.write = ((...args: Args) => {
    decide(response.statusCode);
    if (hold('write', args)) return true;
    tell(args);
    return original.write(...args);
  }) as Write;
  response.end = ((...args: Args) => {
    decide(response.statusCode);
    if (hold('end', args)) return response;
    tell(args);
    return original.end(...args);
  }) as typeof response.end;

  watchClose(response, hooks, facts);
  return {
    write(rendered) {
      isDecided = true;
      if (response.headersSent || response.destroyed) return;
      replace(rendered);
    },
  };
}

/** Tells the end of a response once: by its close event, or by looking when somebody took the listeners off. */
function watchClose(response: ServerResponse, hooks: TapHooks, { clock, stallMs, watch }: TapFacts): void {
  let isEnded = false;
  let taken = -1;
  let takenMs = clock.now();
  const end = (by: Ending['by']) => {
    if (isEnded) return;
    isEnded = true;
    unwatch();
    hooks.onEnd(by, response.statusCode);
  };
  const onClose = () => end(response.writableEnded ? 'done' : 'left');
  response.once('close', onClose);
  const unwatch = watch(() => {
    if (response.destroyed || response.closed || response.socket?.destroyed) return onClose();
    if (response.writableFinished) return end('done');
    const now = response.socket?.bytesWritten ?? 0;
    if (!response.writableNeedDrain || now !== taken) {
      taken = now;
      takenMs = clock.now();
    } else if (clock.now() - takenMs >= stallMs) {
      end('stalled');
      response.destroy();
    }
  });
}
