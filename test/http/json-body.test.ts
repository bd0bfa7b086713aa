import type { IncomingMessage } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { createJsonBodyReader, isBodyRead, isJson, type ParsedRequest } from '../../src/http/json-body.js';
import { dial, send, wire } from '../support/http-client.js';
import { type Loopback, listen, until } from '../support/loopback.js';

describe('isJson', () => {
  const asks = (type: string | undefined) => isJson({ headers: { 'content-type': type } } as IncomingMessage);

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/json ;x=1',
    'application/vnd.api+json',
    'application/a.b+c+json',
  ])('takes %s', (type) => expect(asks(type)).toBe(true));

  it.each([
    undefined,
    '',
    'text/json',
    'application/jsonp',
    'application/json5',
    'application/x-ndjson',
    'application/+json',
    'x-application/json',
    'text/plain; application/json',
  ])('does not take %s', (type) => expect(asks(type)).toBe(false));
});

describe('isBodyRead', () => {
  const unread = { readableDidRead: false, readableEnded: false };
  const asks = (given: object) => isBodyRead({ ...unread, ...given } as ParsedRequest);

  it.each<[string, object]>([
    ['a stream that was read', { readableDidRead: true }],
    ['a stream that has ended', { readableEnded: true }],
    ['what a parser of Express 4 has marked', { body: {}, _body: true }],
    ['an object that somebody put there', { body: { a: 1 } }],
    ['a list that somebody put there', { body: [] }],
    ['a text that somebody put there', { body: '' }],
    ['null that somebody put there', { body: null }],
    ['an empty object with a stream that was read', { body: {}, readableDidRead: true }],
  ])('is true for %s', (_, given) => expect(asks(given)).toBe(true));

  it.each<[string, object]>([
    ['a stream that nobody read', {}],
    ['a stream that nobody read, with an empty object', { body: {} }],
    ['a stream that nobody read, with an empty object without a prototype', { body: Object.create(null) }],
  ])('is false for %s', (_, given) => expect(asks(given)).toBe(false));
});

describe('the reader of bodies', () => {
  const servers: Loopback[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close();
  });

  /** Reads one request, and tells how that went. */
  async function serve(prepare: (request: ParsedRequest) => void = () => {}, limitBytes = 1_000) {
    const read = createJsonBodyReader(limitBytes);
    const requests: ParsedRequest[] = [];
    const failures: unknown[] = [];
    const reads: boolean[] = [];
    const server = await listen((request: ParsedRequest, response) => {
      requests.push(request);
      prepare(request);
      Promise.resolve(read(request, response))
        .catch((error) => failures.push(error))
        .finally(() => {
          // Now, for a server reads what is left of a body when the response has ended.
          reads.push(request.readableDidRead);
          response.end();
        });
    });
    servers.push(server);
    return { url: server.url, requests, failures, reads };
  }

  it('puts the body on the request, and marks it as read for the parsers of Express 4', async () => {
    const { url, requests, failures } = await serve();

    await send(url, { body: { a: [1] } });

    expect(failures).toEqual([]);
    expect(requests[0]).toMatchObject({ body: { a: [1] }, _body: true });
  });

  it('leaves a body that is no JSON where it is, and unmarked', async () => {
    const { url, requests, reads } = await serve();

    await send(url, { body: 'a=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } });

    expect({ body: requests[0]?.body, mark: requests[0]?._body }).toEqual({ body: undefined, mark: undefined });
    expect(reads).toEqual([false]);
  });

  it('leaves a body alone that somebody has put there', async () => {
    const put = { b: 2 };
    const { url, requests, reads } = await serve((request) => {
      request.body = put;
    });

    await send(url, { body: { a: 1 } });

    expect(requests[0]?.body).toBe(put);
    expect(reads).toEqual([false]);
  });

  it('marks nothing when there is no body', async () => {
    const { url, requests } = await serve();

    await send(url, { method: 'GET' });

    expect({ body: requests[0]?.body, mark: requests[0]?._body }).toEqual({ body: undefined, mark: undefined });
  });

  it.each([
    ['a text', '"text"'],
    ['a number', '7'],
    ['half a body', '{"secret":'],
    ['two bodies', '{"secret":1}{}'],
  ])('rejects %s with 400 and nothing of it', async (_, body) => {
    const { url, failures } = await serve();

    await send(url, { body });

    expect(failures).toEqual([expect.any(SyntaxError)]);
    expect(failures[0]).toMatchObject({ status: 400, statusCode: 400, expose: true, type: 'entity.parse.failed' });
    expect(failures[0]).toMatchObject({ message: 'the body is not valid JSON' });
    expect(failures[0]).not.toHaveProperty('body');
  });

  it('rejects a body over the limit with 413, and takes one of exactly the limit', async () => {
    const { url, requests, failures } = await serve(undefined, 20);

    await send(url, { body: `{"a":"${'x'.repeat(12)}"}` });
    await send(url, { body: `{"a":"${'x'.repeat(13)}"}` });

    expect(requests.map(({ body }) => body)).toEqual([{ a: 'x'.repeat(12) }, undefined]);
    expect(failures).toMatchObject([{ status: 413, expose: true, type: 'entity.too.large' }]);
  });

  it('rejects when the client leaves before its body is complete', async () => {
    const { url, requests, failures } = await serve();
    const socket = await dial(url);

    socket.write(wire('/', { a: 1 }).slice(0, -2));
    await until(() => requests.length === 1);
    socket.destroy();
    await until(() => failures.length === 1);

    expect(failures).toMatchObject([{ status: 400, type: 'request.aborted' }]);
  });
});
