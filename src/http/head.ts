import { type OutgoingHttpHeader, type ServerResponse, validateHeaderName, validateHeaderValue } from 'node:http';
import type { Rendered } from '../call.js';

/** Headers by name in lower case: the name as it was written, and its values. */
export type Headers = ReadonlyMap<string, { readonly name: string; readonly value: OutgoingHttpHeader }>;

/**
 * The headers given to `writeHead(status, [message], [headers])`, as an object or as a flat list in which names may come twice.
 * They may not be on the response: node:http writes them without keeping them when nothing else was set.
 */
export function headersGiven(args: readonly unknown[]): Headers {
  const given = typeof args[1] === 'string' ? args[2] : (args[1] ?? args[2]);
  const headers = new Map<string, { name: string; value: OutgoingHttpHeader }>();
  for (const [name, value] of pairsOf(given)) {
    const before = headers.get(name.toLowerCase());
    const values = before ? [before.value, value].flat().map(String) : value;
    headers.set(name.toLowerCase(), { name, value: values });
  }
  return headers;
}

/**
 * The same arguments with headers as an object. Once any header was set on a response, node:http keeps only the last of those that
 * come twice in a list; headers of our own must not do that to a handler's cookies.
 */
export function headAsObject(args: readonly unknown[]): readonly unknown[] {
  const at = Array.isArray(args[1]) ? 1 : 2;
  const given = args[at];
  if (!Array.isArray(given) || given.length % 2 !== 0) return args;
  const headers = [...headersGiven(args).values()].map(({ name, value }) => [name, value]);
  return [...args.slice(0, at), Object.fromEntries(headers)];
}

/** Sets what `writeHead` was given, as far as node:http takes it. */
export function setHeadersGiven(response: ServerResponse, args: readonly unknown[]): void {
  for (const { name, value } of headersGiven(args).values()) {
    try {
      response.setHeader(name, value);
    } catch {
      // Whoever wrote it would have been told by an exception; now there is nobody left to tell.
    }
  }
}

function* pairsOf(given: unknown): Iterable<[string, OutgoingHttpHeader]> {
  if (Array.isArray(given)) {
    const flat = given.every(Array.isArray) ? given.flat() : given;
    for (let at = 0; at + 1 < flat.length; at += 2) yield [String(flat[at]), flat[at + 1]];
  } else if (typeof given === 'object' && given !== null) {
    for (const [name, value] of Object.entries(given)) if (value !== undefined) yield [name, value];
  }
}

/** Remembers the head of a response that is not sent. @returns a function that puts it back as it was */
export function keepHead(response: ServerResponse): () => void {
  const { statusCode, statusMessage } = response;
  const names = (response as ServerResponse & { getRawHeaderNames(): string[] }).getRawHeaderNames();
  const headers = names.map((name) => [name, response.getHeader(name)] as const);
  return () => {
    if (response.headersSent) return;
    response.statusCode = statusCode;
    response.statusMessage = statusMessage;
    for (const name of response.getHeaderNames()) response.removeHeader(name);
    for (const [name, value] of headers) if (value !== undefined) response.setHeader(name, value);
  };
}

/** What belongs to a handler's own answer; whatever else it set (cookies, CORS) is for the caller all the same. */
const OF_THE_ANSWER = [
  'content-type',
  'content-length',
  'content-encoding',
  'content-language',
  'content-range',
  'content-disposition',
  'transfer-encoding',
  'trailer',
  'etag',
  'last-modified',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
];

/** Takes off the headers that another answer must not inherit. */
export function clearAnswer(response: ServerResponse): void {
  // What node:http was told to leave out it does not write by itself later: a length, or chunks.
  for (const name of OF_THE_ANSWER) if (response.hasHeader(name)) response.removeHeader(name);
  response.statusMessage = '';
}

/**
 * Makes sure that node:http will take a rendered head: a dialect may be the application's own.
 * @throws TypeError or RangeError, as node:http would
 */
export function checkHead({ status, headers }: Rendered): void {
  if (!Number.isInteger(status) || status < 200 || status > 599) throw new RangeError(`${status} is no status of a response`);
  for (const [name, value] of Object.entries(headers)) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  }
}
