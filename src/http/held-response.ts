import type { ServerResponse } from 'node:http';
import type { Rendered } from '../call.js';
import { keepHead, setHeadersGiven } from './head.js';

/** The methods by which a response is written. */
export type ResponseMethod = 'writeHead' | 'flushHeaders' | 'write' | 'end';

/** What a handler did to its response. */
export type ResponseCall = readonly [ResponseMethod, readonly unknown[]];

/** Another response that is looked for in the handler's place. */
export interface Instead {
  readonly found: Promise<Rendered | undefined>;
  /** The handler's response goes out after all: whatever is found comes too late. */
  decline(): void;
}

/** What becomes of a held response: exactly one of the two, once, with its head as it was when holding began. */
export interface Fate {
  /** There is no other: the handler's calls, in order, up to its first `end`. */
  release(calls: readonly ResponseCall[]): void;
  /** The other goes out; what the handler wrote is dropped. */
  replace(rendered: Rendered): void;
}

/** Most of a handler's error response that is held back; a larger one goes out as it is. */
const MOST_HELD_BYTES = 4_194_304;

/**
 * Keeps a handler's response back while another one is looked for. The other goes out when the handler has ended its own, so
 * that nothing comes after it; callbacks are called wherever the bytes went.
 * @returns takes what the handler does next
 */
export function holdResponse(response: ServerResponse, instead: Instead, fate: Fate): (call: ResponseCall) => void {
  const restoreHead = keepHead(response);
  const calls: ResponseCall[] = [];
  let bytes = 0;
  let hasEnded = false;
  let isOver = false;
  let found: Rendered | undefined;

  // To the handler its head is sent. What it ended must not look so: error handlers destroy such connections, and ours still answers.
  Object.defineProperty(response, 'headersSent', { configurable: true, get: () => !hasEnded });
  instead.found.then(settle, () => settle(undefined));

  function settle(rendered: Rendered | undefined): void {
    if (isOver) return;
    if (!rendered) release();
    else {
      found = rendered;
      for (const call of calls) drop(call);
      if (hasEnded) replace(rendered);
    }
  }

  function release(): void {
    end();
    fate.release(calls);
  }

  function replace(rendered: Rendered): void {
    end();
    for (const [method, args] of calls) if (method === 'writeHead') setHeadersGiven(response, args);
    fate.replace(rendered);
  }

  function end(): void {
    isOver = true;
    Reflect.deleteProperty(response, 'headersSent');
    restoreHead();
  }

  function drop([method, args]: ResponseCall): void {
    const callback = args.findLast((arg) => typeof arg === 'function') as (() => void) | undefined;
    if (!callback) return;
    if (method === 'end' && !response.destroyed) response.once('finish', callback);
    else process.nextTick(callback);
  }

  return (call) => {
    // An error handler that saw no head sent may answer a second time.
    if (hasEnded) return;
    const [method, [chunk]] = call;
    hasEnded = method === 'end';
    if (found) {
      drop(call);
      if (hasEnded) replace(found);
      return;
    }
    calls.push(call);
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) bytes += chunk.length;
    if (bytes <= MOST_HELD_BYTES) return;
    instead.decline();
    release();
  };
}
