import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FetchLike } from '../../src/index.js';
import { type Loopback, listen } from '../support/loopback.js';
import { chat, createOutbound, type Outbound, post } from '../support/outbound.js';

let outbound: Outbound;
let echo: Loopback;

beforeAll(async () => {
  outbound = await createOutbound();
  // Tells exactly what arrived, and answers as a model would where a test needs a charge.
  echo = await listen(async (req, res) => {
    const arrived = {
      method: req.method,
      url: req.url,
      headers: headersOf(req),
      body: (await text(req)).replace(/-{4,}[\w-]+/g, '#'),
    };
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ arrived, usage: { prompt_tokens: 7, completion_tokens: 5 } }));
  });
});
afterAll(async () => {
  await echo.close();
  await outbound.close();
});

function headersOf(req: IncomingMessage): object {
  const { host: _, connection: __, 'content-length': length, ...headers } = req.headers;
  const type = headers['content-type']?.replace(/boundary=.*/, 'boundary=#');
  // The boundary of a form, and with it its length, is made up anew by each fetch.
  return type?.startsWith('multipart') ? { ...headers, 'content-type': type } : { ...headers, 'content-length': length };
}

/** What somebody who fetches sees: the whole response, or the error. */
async function seen(fetched: () => Promise<Response>): Promise<unknown> {
  try {
    const response = await fetched();
    const { status, statusText, url, type, redirected, ok } = response;
    const { date: _, ...headers } = Object.fromEntries(response.headers);
    return { status, statusText, url, type, redirected, ok, headers, body: await response.text() };
  } catch (error) {
    const { name, message, cause } = error as Error & { cause?: { code?: string } };
    return { name, message, code: cause?.code };
  }
}

const form = () => {
  const data = new FormData();
  data.set('file', new Blob(['{"model":"gpt-4o"}']), 'a.json');
  return data;
};
const streamOf = (body: string) => new Blob([body]).stream();
const json = JSON.stringify(chat('Hello?'));
const jsonHeaders = { 'content-type': 'application/json' };

describe('gate.fetch passes untouched, as a bare fetch does,', () => {
  it.each<[string, (fetchLike: FetchLike, url: string) => Promise<Response>]>([
    ['a GET', (f, url) => f(`${url}/v1/models?x=1`)],
    ['a GET by URL object', (f, url) => f(new URL(`${url}/v1/models`), { headers: [['x-a', '1']] })],
    ['a GET by Request', (f, url) => f(new Request(`${url}/v1/models`, { headers: { 'x-a': '1' } }))],
    ['a PUT of a chat', (f, url) => f(`${url}/v1/chat/completions`, post(chat('Hello?'), { method: 'PUT' }))],
    ['a POST without a body', (f, url) => f(`${url}/v1/chat/completions`, { method: 'POST' })],
    ['JSON that is no call', (f, url) => f(`${url}/v1/files`, post({ purpose: 'batch' }))],
    ['a call without a model', (f, url) => f(`${url}/v1/chat/completions`, post({ messages: [] }))],
    ['a chat that is only embedded', (f, url) => f(`${url}/v1/embeddings`, post(chat('Hello?')))],
    ['a list', (f, url) => f(`${url}/v1/chat/completions`, post([chat('Hello?')]))],
    ['JSON that breaks off', (f, url) => f(`${url}/v1/chat/completions`, post(0, { body: '{"model":"gpt-4o","messages":[' }))],
    ['bytes that are no text', (f, url) => f(`${url}/x`, { method: 'POST', body: new Uint8Array([123, 255, 0, 254]) })],
    ['an empty buffer', (f, url) => f(`${url}/x`, { method: 'POST', body: new ArrayBuffer(0) })],
    ['a form', (f, url) => f(`${url}/v1/files`, { method: 'POST', body: form() })],
    ['a form in a Request', (f, url) => f(new Request(`${url}/v1/files`, { method: 'POST', body: form() }))],
    ['search parameters', (f, url) => f(`${url}/x`, { method: 'POST', body: new URLSearchParams({ model: 'gpt-4o' }) })],
    [
      'a stream',
      (f, url) => f(`${url}/v1/chat/completions`, { method: 'POST', body: streamOf(json), duplex: 'half' } as RequestInit),
    ],
    [
      'a stream in a Request',
      (f, url) => f(new Request(`${url}/x`, { method: 'POST', body: streamOf(json), duplex: 'half' } as RequestInit)),
    ],
    ['JSON in a Request that is no call', (f, url) => f(new Request(`${url}/v1/files`, post({ purpose: 'batch' })))],
    [
      'a Request whose body was read',
      async (f, url) => {
        const request = new Request(`${url}/v1/chat/completions`, post(chat('Hello?')));
        await request.text();
        return f(request);
      },
    ],
    ['a relative URL', (f) => f('/v1/chat/completions', post(chat('Hello?')))],
    ['an invalid URL', (f) => f('http://', post(chat('Hello?')))],
    ['a URL of no known scheme', (f) => f('nope://x/v1/chat/completions', post({ purpose: 'batch' }))],
    ['no URL at all', (f) => f(undefined as never, post(chat('Hello?')))],
    ['a URL that cannot be text', (f) => f(Symbol('x') as never, post(chat('Hello?')))],
    ['a method that is none', (f, url) => f(`${url}/x`, post(chat('Hello?'), { method: 'PO ST' }))],
    ['a signal that is none', (f, url) => f(`${url}/x`, post(chat('Hello?'), { signal: {} as never }))],
    ['a body with a GET', (f, url) => f(`${url}/x`, { body: json })],
    ['a closed port', (f) => f('http://127.0.0.1:1/v1/models')],
  ])('%s', async (_, fetched) => {
    const bare = await seen(() => fetched(fetch, echo.url));
    const before = outbound.books.settlements.length;

    const governed = await seen(() => fetched(outbound.gate.fetch, echo.url));

    expect(governed).toEqual(bare);
    expect(outbound.books.settlements.length).toBe(before);
  });
});

describe('gate.fetch tells of a call that it cannot read', () => {
  it.each<[string, number, (fetchLike: FetchLike) => Promise<Response>]>([
    [
      'in a stream',
      1,
      (f) => f(`${echo.url}/v1/messages`, { method: 'POST', body: streamOf(json), duplex: 'half' } as RequestInit),
    ],
    [
      'in a stream to no endpoint',
      0,
      (f) => f(`${echo.url}/x`, { method: 'POST', body: streamOf(json), duplex: 'half' } as RequestInit),
    ],
    ['in a form', 0, (f) => f(`${echo.url}/v1/responses`, { method: 'POST', body: form() })],
  ])('%s: %i times', async (_, times, fetched) => {
    const told: unknown[] = [];
    const off = outbound.gate.on('call-unseen', (event) => void told.push(event));

    await (await fetched(outbound.gate.fetch)).text();
    off();

    expect(told).toEqual(Array(times).fill({ route: undefined, tokens: 0 }));
  });
});

describe('gate.fetch governs a call', () => {
  const url = () => `${echo.url}/v1/chat/completions`;

  it.each<[string, (fetchLike: FetchLike) => Promise<Response>]>([
    ['in a string', (f) => f(url(), { method: 'post', headers: jsonHeaders, body: json })],
    ['without headers', (f) => f(url(), { method: 'POST', body: json })],
    ['behind white space', (f) => f(url(), { method: 'POST', headers: jsonHeaders, body: `\n ${json}` })],
    ['in a Buffer', (f) => f(url(), { method: 'POST', headers: jsonHeaders, body: Buffer.from(json) })],
    ['in part of an ArrayBuffer', (f) => f(url(), { method: 'POST', body: new TextEncoder().encode(`..${json}`).subarray(2) })],
    ['in an ArrayBuffer', (f) => f(url(), { method: 'POST', headers: jsonHeaders, body: bufferOf(json) })],
    ['in a DataView', (f) => f(url(), { method: 'POST', headers: jsonHeaders, body: new DataView(bufferOf(json)) })],
    ['by URL object', (f) => f(new URL(url()), { method: 'POST', headers: [['x-a', '1']], body: json })],
    ['with a Headers object', (f) => f(url(), { method: 'POST', headers: new Headers({ 'x-a': '1' }), body: json })],
    [
      'with the length written down',
      (f) => f(url(), { method: 'POST', headers: { 'Content-Length': `${json.length}` }, body: json }),
    ],
    ['in a Request', (f) => f(new Request(url(), { method: 'POST', headers: { ...jsonHeaders, 'x-a': '1' }, body: json }))],
    ['in a Request without a type', (f) => f(new Request(url(), { method: 'POST', body: json }))],
    [
      'in a Request with other headers',
      (f) => f(new Request(url(), { method: 'POST', body: 'x' }), { headers: jsonHeaders, body: json }),
    ],
    ['in a Request made a POST', (f) => f(new Request(url(), { headers: { 'x-a': '1' } }), { method: 'POST', body: json })],
    ['in a Blob', (f) => f(url(), { method: 'POST', headers: jsonHeaders, body: new Blob([json]) })],
    ['with a null signal', (f) => f(url(), { method: 'POST', headers: jsonHeaders, body: json, signal: null })],
  ])('%s, and sends exactly what a bare fetch sends', async (_, fetched) => {
    const bare = await seen(() => fetched(fetch));
    const before = outbound.settled.length;

    const governed = await seen(() => fetched(outbound.gate.fetch));
    await outbound.sums();

    expect(governed).toEqual(bare);
    expect(outbound.settled.slice(before)).toEqual([
      expect.objectContaining({ by: 'usage', usage: expect.objectContaining({ inputTokens: 7, outputTokens: 5 }) }),
    ]);
  });

  it.each<[string, BodyInit]>([
    ['string', JSON.stringify(chat('Hello?', { stream: true, extra: 1 }))],
    ['Buffer', Buffer.from(JSON.stringify(chat('Hello?', { stream: true, extra: 1 })))],
    ['Blob', new Blob([JSON.stringify(chat('Hello?', { stream: true, extra: 1 }))])],
  ])('and asks a stream for usage in the %s, with a length that fits', async (_, body) => {
    const headers = { ...jsonHeaders, 'Content-Length': '71', 'X-Stainless-Lang': 'js' };

    const response = await outbound.gate.fetch(url(), { method: 'POST', headers, body });
    const { arrived } = (await response.json()) as { arrived: { body: string; headers: Record<string, string> } };

    expect(JSON.parse(arrived.body)).toEqual(chat('Hello?', { stream: true, extra: 1, stream_options: { include_usage: true } }));
    expect(arrived.headers).toMatchObject({ 'content-length': `${arrived.body.length}`, 'x-stainless-lang': 'js' });
    expect(arrived.headers['content-type']).toBe('application/json');
  });

  it.each<[string, RequestInit | undefined, object]>([
    ['its headers', undefined, { 'x-a': '1', 'x-b': undefined }],
    ['the other headers given', { headers: { ...jsonHeaders, 'x-b': '2' } }, { 'x-a': undefined, 'x-b': '2' }],
  ])('and asks a stream in a Request for usage, with %s, and uses the Request up', async (_, init, headers) => {
    const request = new Request(url(), post(chat('Hello?', { stream: true }), { headers: { ...jsonHeaders, 'x-a': '1' } }));

    const response = await outbound.gate.fetch(request, init);
    const { arrived } = (await response.json()) as { arrived: { body: string; headers: Record<string, string> } };

    expect(JSON.parse(arrived.body)).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    expect({ 'x-a': arrived.headers['x-a'], 'x-b': arrived.headers['x-b'] }).toEqual(headers);
    expect(arrived.headers['content-type']).toBe('application/json');
    expect(request.bodyUsed).toBe(true);
  });

  it.each([
    ['DEEP', `{"model":"gpt-4o","messages":[],"extra":${'['.repeat(10_000)}${']'.repeat(10_000)}}`],
    ['WIDE', `{"model":"gpt-4o","messages":[]${',"a":0'.repeat(100_000)}}`],
  ])('and refuses a body that is too %s, in every form, before anything is sent or charged', async (kind, body) => {
    const before = await outbound.sums();

    for (const form of [body, Buffer.from(body)])
      await expect(outbound.gate.fetch(`${echo.url}/v1/chat/completions`, { method: 'POST', body: form })).rejects.toMatchObject({
        code: `SPILLWAY_BODY_TOO_${kind}`,
        status: 400,
      });
    const request = new Request(`${echo.url}/v1/chat/completions`, { method: 'POST', body, headers: jsonHeaders });
    await expect(outbound.gate.fetch(request)).rejects.toMatchObject({ code: `SPILLWAY_BODY_TOO_${kind}` });

    expect(await outbound.sums()).toEqual(before);
  });

  it('and follows a redirect that keeps the body', async () => {
    const hop = await listen((_, res) => res.writeHead(307, { location: url() }).end());
    const response = await outbound.gate.fetch(`${hop.url}/v1/chat/completions`, post(chat('Hello?')));
    await hop.close();

    expect(response.redirected).toBe(true);
    expect(response.url).toBe(url());
    expect((await response.json()).arrived.body).toBe(json);
  });

  it.each<[RequestRedirect, object]>([
    ['manual', { status: 302, body: '' }],
    ['error', { name: 'TypeError', message: 'fetch failed' }],
  ])('and leaves a redirect to the caller that asked for redirect: %s', async (redirect, expected) => {
    const hop = await listen((_, res) => res.writeHead(302, { location: url() }).end());
    const before = outbound.settled.length;

    const governed = await seen(() => outbound.gate.fetch(`${hop.url}/v1/chat/completions`, post(chat('Hello?'), { redirect })));
    await hop.close();
    await outbound.sums();

    expect(governed).toMatchObject(expected);
    expect(outbound.settled.slice(before).map(({ by }) => by)).toEqual(['provider-error']);
  });
});

function bufferOf(body: string): ArrayBuffer {
  const bytes = new TextEncoder().encode(body);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
}
