import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Gate, MountOptions, Passage } from '../../../src/index.js';

/** A request in the hands of a handler, whatever the framework. */
export interface Turn {
  /** The request of node:http. */
  readonly req: IncomingMessage & { body?: unknown };
  /** The response of node:http, for a handler that writes itself: the framework then keeps its hands off. */
  readonly res: ServerResponse;
  /** The parsed body, where handlers of the framework find it. */
  readonly body: unknown;
  /** As the adapter's `spillwayOf` gives it. */
  passage(): Passage;
  /** As it is found on the request; `undefined`: not there. */
  readonly exposed: Passage | undefined;
  /** Whether the head of the response has gone out. */
  passedHead(): boolean;
  setHeader(name: string, value: string): void;
  json(value: unknown, status?: number): void;
  /** Text or bytes, in the framework's own way. */
  send(body: string | Buffer): void;
  /** Server-sent events, one by one, in the framework's own way; resolves when nothing is left for the handler to do. */
  events(events: Iterable<string>): Promise<void>;
}

/** What an application of the suite is made of, in this order. */
export type Part =
  /** The framework's own JSON parser, or its parser of forms. */
  | { readonly kind: 'json' | 'form' | 'compression' }
  | { readonly kind: 'spillway'; readonly gate: Gate<'user'>; readonly options: SuiteOptions; readonly path: string | undefined }
  | { readonly kind: 'router'; readonly path: string; readonly parts: readonly Part[] }
  /** Does something and goes on. */
  | { readonly kind: 'step'; readonly run: (turn: Turn, next: () => void) => void }
  /** Answers every method below `path`. */
  | { readonly kind: 'handler'; readonly path: string; readonly run: (turn: Turn) => void | Promise<void> }
  /** The application's own error handler. */
  | { readonly kind: 'errors'; readonly run: (error: unknown, turn: Turn) => void };

/** What the suite reads of a request in mount options: every framework's request has it. */
export interface Headed {
  readonly headers: IncomingMessage['headers'];
}
export type SuiteOptions = MountOptions<'user', Headed>;

/** Makes an application of the framework, for a server of node:http. A mount that comes twice is the same one in two places. */
export type MakeApp = (parts: readonly Part[]) => RequestListener;

export const parser = (kind: 'json' | 'form' | 'compression'): Part => ({ kind });
export const router = (path: string, ...parts: Part[]): Part => ({ kind: 'router', path, parts });
export const step = (run: (turn: Turn, next: () => void) => void): Part => ({ kind: 'step', run });
export const errors = (run: (error: unknown, turn: Turn) => void): Part => ({ kind: 'errors', run });

/** Who asks is what the header says; nobody when there is none. */
export const byHeader = (req: Headed) => ({ user: req.headers['x-user'] as string | undefined });

/** Mounts spillway, for the whole application unless below `path`; `ada` asks unless told otherwise. */
export function mount(gate: Gate<'user'>, options: SuiteOptions = {}, path?: string): Part {
  return { kind: 'spillway', gate, options: { identify: () => ({ user: 'ada' }), ...options }, path };
}

export function handler(run: (turn: Turn) => void | Promise<void>, path = '/'): Part {
  return { kind: 'handler', path, run };
}
