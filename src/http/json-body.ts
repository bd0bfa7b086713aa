import type { IncomingMessage, ServerResponse } from 'node:http';
import bodyParser from 'body-parser';
import { checkShape } from '../json-shape.js';

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
      checkShape(bytes);
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
