import type { IncomingMessage, ServerResponse } from 'node:http';
import bodyParser from 'body-parser';
import { SpillwayError } from '../errors.js';

/** Deepest nesting of a body that is parsed. */
export const DEEPEST_BODY = 64;

/** A request as frameworks leave it behind: perhaps with a parsed body. */
export type ParsedRequest = IncomingMessage & { body?: unknown };

/** Reads a JSON body into `request.body` when no parser did so before; resolves without one when there is none to read. */
export type ReadJsonBody = (request: ParsedRequest, response: ServerResponse) => Promise<void>;

/**
 * @param limitBytes - largest body read; a larger one is a 413 for the framework's error path
 * @returns a reader; what it rejects with carries `status` and `expose`, as the framework's own parser's errors do
 */
export function createJsonBodyReader(limitBytes: number): ReadJsonBody {
  const parse = bodyParser.json({
    limit: limitBytes,
    type: (request) => isJson(request),
    verify: (_request, _response, bytes) => checkDepth(bytes),
  });
  return (request, response) => {
    if (request.body !== undefined || request.readableEnded || request.readableDidRead) return Promise.resolve();
    return new Promise((resolve, reject) => {
      parse(request, response, (error?: unknown) => (error ? reject(error) : resolve()));
    });
  };
}

/** Whether a request says that its body is JSON. */
export function isJson(request: IncomingMessage): boolean {
  return /^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(request.headers['content-type'] ?? '');
}

/**
 * Refuses JSON that nests deeper than {@link DEEPEST_BODY}, before it is parsed: whatever walks it later may recurse.
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
