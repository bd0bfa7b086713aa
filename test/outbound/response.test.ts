import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Loopback, listen } from '../support/loopback.js';
import { chat, createOutbound, type Outbound, post } from '../support/outbound.js';

let outbound: Outbound;
let raw: Loopback;
/** What the raw server does with the next call. */
let answer: (res: ServerResponse) => unknown;

beforeAll(async () => {
  outbound = await createOutbound();
  raw = await listen((req, res) => {
    req.resume().once('end', () => answer(res));
  });
});
afterAll(async () => {
  await raw.close();
  await outbound.close();
});

const url = () => `${raw.url}/v1/chat/completions`;
const asked = chat('Hello?', { stream: true });
const USAGE = '{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}}';

describe('the response is like the bare one', () => {
  const plain = (res: ServerResponse) => {
    res.writeHead(203, 'Sort Of', { 'content-type': 'application/json', 'x-request-id': 'r1', 'set-cookie': ['a=1', 'b=2'] });
    res.end('{"usage":{"prompt_tokens":9,"completion_tokens":4}}');
  };
  const like = async (response: Response) => {
    const { status, statusText, ok, url, type, redirected, bodyUsed } = response;
    const { date: _, ...headers } = Object.fromEntries(response.headers);
    const cookies = response.headers.getSetCookie();
    return { status, statusText, ok, url, type, redirected, bodyUsed, headers, cookies, body: await response.text() };
  };

  it.each<[string, (response: Response) => Promise<unknown>]>([
    ['in all it says', like],
    ['in what its clone says', async (response) => [await like(response.clone()), await like(response)]],
    ['in what the clone of a clone says', (response) => like(response.clone().clone())],
    ['as JSON', (response) => response.json()],
    ['as a blob', async (response) => (await response.blob()).text()],
    [
      'read into a buffer of the caller',
      async (response) => {
        const reader = response.body?.getReader({ mode: 'byob' });
        let text = '';
        for (;;) {
          const { value, done } = (await reader?.read(new Uint8Array(8))) ?? { done: true, value: undefined };
          text += Buffer.from(value ?? []).toString();
          if (done) return text;
        }
      },
    ],
    ['read twice', async (response) => [await response.text(), await response.text().catch(({ message }) => message)]],
    ['as an instance', async (response) => [response instanceof Response, await response.text()]],
    ['piped on', async (response) => new Response(response.body?.pipeThrough(new TransformStream())).text()],
  ])('%s', async (_, look) => {
    answer = plain;
    const bare = await look(await fetch(url(), post(chat('Hello?'))));

    const governed = await look(await outbound.gate.fetch(url(), post(chat('Hello?'))));

    expect(governed).toEqual(bare);
  });

  it.each([200, 204, 404, 500, 599, 999])('with status %i', async (status) => {
    answer = (res) => res.writeHead(status, { 'content-type': 'text/plain' }).end(status === 204 ? undefined : 'some text');
    const bare = await like(await fetch(url(), post(chat('Hello?'))));

    const governed = await like(await outbound.gate.fetch(url(), post(chat('Hello?'))));

    expect(governed).toEqual(bare);
  });

  it.each<[string, object]>([
    ['JSON', chat('Hello?')],
    ['a stream', asked],
  ])('when the provider compresses %s, and is charged by its usage', async (_, body) => {
    const isStream = 'stream' in body;
    const text = isStream ? `data: ${USAGE}\n\ndata: [DONE]\n\n` : USAGE;
    answer = (res) => {
      const type = isStream ? 'text/event-stream' : 'application/json';
      res.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' }).end(gzipSync(text));
    };
    const before = outbound.settled.length;

    const response = await outbound.gate.fetch(url(), post(body));

    expect(await response.text()).toBe(isStream ? 'data: [DONE]\n\n' : text);
    await outbound.sums();
    expect(outbound.settled.slice(before)).toMatchObject([{ by: 'usage', usage: { inputTokens: 9, outputTokens: 4 } }]);
  });

  it('and says no length that the hidden usage makes wrong', async () => {
    const text = `data: ${USAGE}\n\ndata: [DONE]\n\n`;
    answer = (res) => res.writeHead(200, { 'content-type': 'text/event-stream', 'content-length': text.length }).end(text);

    const response = await outbound.gate.fetch(url(), post(asked));

    expect(response.headers.get('content-length')).toBe(null);
    expect(await response.text()).toBe('data: [DONE]\n\n');
  });
});
