import { endpointOf } from '../dialects/paths.js';
import { SpillwayError } from '../errors.js';
import { checkShape } from '../json-shape.js';
import type { FetchLike } from './fetch.js';

/** A POST with a JSON body, read without being used up. */
export interface Outgoing {
  readonly url: string;
  readonly json: unknown;
  /** The caller's own. */
  readonly signal: AbortSignal | undefined;
  /**
   * Sends it, byte for byte as it was given unless `body` is another one than `json`.
   * @param url - where it goes instead; `undefined`: where it was to go
   */
  send(base: FetchLike, body: unknown, signal: AbortSignal, url?: string): Promise<Response>;
}

/**
 * Reads what was given to a fetch. `undefined` for everything that must pass as it is: other methods, bodies that are no JSON
 * object in memory, and whatever a fetch refuses by itself, so that its own error reaches the caller. `input` and `init` can
 * still be used afterwards.
 * @throws {@link SpillwayError} `SPILLWAY_BODY_TOO_DEEP` or `SPILLWAY_BODY_TOO_WIDE`
 */
export async function readOutgoing(input: string | URL | Request, init: RequestInit | undefined): Promise<Outgoing | undefined> {
  try {
    return await (input instanceof Request ? readRequest(input, init ?? {}) : readInit(input, init ?? {}));
  } catch (error) {
    // What is refused must not pass uncounted.
    if (SpillwayError.is(error)) throw error;
    return undefined;
  }
}

async function readInit(input: string | URL, init: RequestInit): Promise<Outgoing | undefined> {
  if (!isPost(init.method)) return undefined;
  const url = new URL(input).href;
  const json = parseObject(init.body instanceof Blob ? await init.body.arrayBuffer() : init.body);
  const { signal } = init;
  if (json === undefined || !isSignal(signal)) return undefined;
  return {
    url,
    json,
    signal: signal ?? undefined,
    send: (base, body, joined, elsewhere) =>
      base(elsewhere ?? input, { ...(body === json ? init : changed(init, init, body)), signal: joined }),
  };
}

async function readRequest(input: Request, init: RequestInit): Promise<Outgoing | undefined> {
  const headers = init.headers ?? input.headers;
  if (!isPost(init.method ?? input.method)) return undefined;
  const given = init.body ?? (mayBeJson(headers) ? await bytesOf(input) : undefined);
  const json = parseObject(given instanceof Blob ? await given.arrayBuffer() : given);
  const signal = init.signal === undefined ? input.signal : init.signal;
  if (json === undefined || !isSignal(signal)) return undefined;
  return {
    url: input.url,
    json,
    signal: signal ?? undefined,
    send(base, body, joined, elsewhere) {
      const how =
        body === json ? { ...init, body: given as BodyInit } : changed({ ...init, body: given as BodyInit }, { headers }, body);
      const request = new Request(input, { ...how, signal: joined });
      // A fetch uses the body of its request up; a copy of it was sent.
      if (!input.bodyUsed) input.body?.cancel().catch(() => {});
      return base(elsewhere === undefined ? request : new Request(elsewhere, request));
    },
  };
}

const isPost = (method: string | undefined): boolean => method?.toUpperCase() === 'POST';

/** Anything that a fetch takes for a signal; other libraries bring their own. */
function isSignal(value: unknown): value is AbortSignal | null | undefined {
  if (value === undefined || value === null) return true;
  const { aborted, addEventListener } = value as Partial<AbortSignal>;
  return typeof aborted === 'boolean' && typeof addEventListener === 'function';
}

/** Whether a call to a model may be in a body that nobody can read without using it up: it would pass uncounted. */
export function mayHideCall(input: string | URL | Request, init: RequestInit | undefined): boolean {
  const body: unknown = init?.body ?? undefined;
  const isStream = body instanceof ReadableStream || typeof (body as { pipe?: unknown } | undefined)?.pipe === 'function';
  if (!isStream && !(Symbol.asyncIterator in Object(body))) return false;
  const url = String(input instanceof Request ? input.url : input);
  return URL.canParse(url) && endpointOf(new URL(url).pathname) !== undefined;
}

/** A body of another kind may be endless, and is not read. */
function mayBeJson(headers: HeadersInit): boolean {
  return /\bjson\b|^text\/plain\b/i.test(new Headers(headers).get('content-type') ?? '');
}

async function bytesOf(request: Request): Promise<Uint8Array> {
  return new Uint8Array(await request.clone().arrayBuffer());
}

function parseObject(body: unknown): unknown {
  const text = typeof body === 'string' ? body : isBytes(body) ? viewOf(body).toString('utf8') : '';
  if (!/^\s*\{/.test(text)) return undefined;
  checkShape(text);
  return JSON.parse(text);
}

function isBytes(body: unknown): body is ArrayBuffer | ArrayBufferView {
  return body instanceof ArrayBuffer || ArrayBuffer.isView(body);
}

function viewOf(body: ArrayBuffer | ArrayBufferView): Buffer {
  return body instanceof ArrayBuffer ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}

/** The same with another body, in the form it came in: a length that the caller wrote down no longer holds. */
function changed(init: RequestInit, { headers: given }: RequestInit, body: unknown): RequestInit {
  const headers = new Headers(given);
  headers.delete('content-length');
  const text = JSON.stringify(body);
  return { ...init, headers, body: typeof init.body === 'string' ? text : new TextEncoder().encode(text) };
}
