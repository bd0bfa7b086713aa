import type { IncomingMessage, ServerResponse } from 'node:http';
import bodyParser from 'body-parser';
import { SpillwayError } from '../errors.js';

/** Deepest nesting of a body that is parsed. */
export const DEEPEST_BODY = 64;

/** A request as frameworks leave it behind: perhaps with a parsed body. */
export type ParsedRequest = IncomingMessage & {
  body?: unknown;
  /** How parsers of Express 4 tell each other that the body was read. */
  _body?: boolean;
};

/** Reads a JSON body into `request.body`; `undefined`: a parser did so before. Resolves without one when there is none to read. */
export type ReadJsonBody = (request: ParsedRequest, response: ServerResponse) => Promise<void> | undefined;

/**
 * @param limitBytes - largest body read; a larger one is a 413 for the framework's error path
 * @returns a reader; what it rejects with carries `status`, `expose` and `type`, as the framework's own parser's errors do, and
 *   nothing of the body
 */
export function createJsonBodyReader(limitBytes: number): ReadJsonBody {
  const parse = bodyParser.json({
    limit: limitBytes,
    type: (request) => isJson(request),
    verify(_request, _response, bytes, charset) {
      // RFC 8259, section 8.1. Other encodings would also hide nesting from the look at the bytes.
      if (charset !== 'utf-8') throw refusal(415, 'charset.unsupported', new Error('the body must be JSON in UTF-8'));
      checkDepth(bytes);
    },
  });
  return (request, response) => {
    if (isBodyRead(request)) return undefined;
    return new Promise((resolve, reject) => {
      parse(request, response, (error?: unknown) => {
        if (error) return reject(withoutBody(error));
        if (wasRead(request)) request._body = true;
        resolve();
      });
    });
  };
}

/** Whether a request says that its body is JSON. */
export function isJson(request: IncomingMessage): boolean {
  return /^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(request.headers['content-type'] ?? '');
}

/** Whether a parser has been here. Some leave an empty object behind without having read anything. */
export function isBodyRead(request: ParsedRequest): boolean {
  return wasRead(request) || (request.body !== undefined && !isEmptyObject(request.body));
}

function wasRead({ _body, readableDidRead, readableEnded }: ParsedRequest): boolean {
  return _body === true || readableDidRead || readableEnded;
}

function isEmptyObject(body: unknown): boolean {
  return typeof body === 'object' && body !== null && !Array.isArray(body) && Object.keys(body).length === 0;
}

/** Prompts must not reach logs: parsers put the body on their errors, and a piece of it into the message. */
function withoutBody(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return error;
  if ((error as { type?: unknown }).type === 'entity.parse.failed')
    return refusal(400, 'entity.parse.failed', new SyntaxError('the body is not valid JSON'));
  delete (error as { body?: unknown }).body;
  return error;
}

/** An error in the shape of the parsers of Express, whose readers know it by `type`. */
function refusal(status: number, type: string, error: Error): Error {
  return Object.assign(error, { status, statusCode: status, expose: true, type });
}

/**
 * Refuses JSON that nests deeper than {@link DEEPEST_BODY}, before it is parsed: whatever walks it later may recurse.
 * @param bytes - in UTF-8
 * @throws {@link SpillwayError} `SPILLWAY_BODY_TOO_DEEP`, status 400
 */
export function checkDepth(bytes: Uint8Array): void {
  let depth = 0;
  let isInString = false;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index];
    if (isInString) {
      if (byte === BACKSLASH) index++;
      else if (byte === QUOTE) isInString = false;
    } else if (byte === QUOTE) isInString = true;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > DEEPEST_BODY) {
        throw new SpillwayError(
          'SPILLWAY_BODY_TOO_DEEP',
          `the body nests deeper than ${DEEPEST_BODY} levels; send flatter JSON`,
          { status: 400 },
        );
      }
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
