import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import OpenAI, { APIError, AuthenticationError, BadRequestError, InternalServerError, RateLimitError } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, Call, Rendered } from '../../src/call.js';
import type { Complaint } from '../../src/dialects/dialect.js';
import { openaiChat } from '../../src/dialects/openai-chat.js';

/** What the server says to the next call: decided by the body that the SDK really sent. */
let respond: (call: Call) => Rendered;
let client: OpenAI;

const server = createServer(async (request, response) => {
  const body = await bodyOf(request);
  const draft = openaiChat.read(body, request.url);
  const { status, headers, body: text } = respond({ draft, body, stream: draft?.stream ?? false } as Call);
  response.writeHead(status, { ...headers }).end(text);
});

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  client = new OpenAI({ apiKey: 'test', baseURL: `http://127.0.0.1:${port}/v1`, maxRetries: 0 });
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const ASKED = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] } as const;
const asked = () => ({ model: ASKED.model, messages: [...ASKED.messages] });
const answerWith = (answer: Answer) => {
  respond = (call) => openaiChat.answer(answer, call);
};
const refuseWith = (complaint: Complaint) => {
  respond = (call) => openaiChat.error(complaint, call);
};

const TEXT = `We are busy.\n${'One 😀 after another. '.repeat(60)}`;
const STATIC: Answer = { kind: 'static', model: 'spillway-static', text: TEXT };
const ARGUMENTS = JSON.stringify({ city: 'Oslo', note: 'x'.repeat(600) });
const KEPT: Answer = {
  kind: 'cached',
  model: 'gpt-4o',
  text: 'Two calls.',
  body: {
    id: 'chatcmpl-7',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'gpt-4o-2024-08-06',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'Two calls.',
          refusal: null,
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'weather', arguments: ARGUMENTS } },
            { id: 'b', type: 'function', function: { name: 'time', arguments: '{}' } },
          ],
        },
        logprobs: null,
        finish_reason: 'tool_calls',
      },
    ],
    usage: { prompt_tokens: 7, completion_tokens: 8, total_tokens: 15 },
  },
};

describe('the official SDK', () => {
  it('reads a prepared answer', async () => {
    answerWith(STATIC);

    const completion = await client.chat.completions.create(asked());

    expect(completion.choices[0]?.message.content).toBe(TEXT);
    expect(completion.choices[0]?.finish_reason).toBe('stop');
    expect(completion.model).toBe('spillway-static');
    expect(completion).toHaveProperty('spillway', { outcome: 'static' });
  });

  it('reads a prepared answer as a stream, chunk by chunk', async () => {
    answerWith(STATIC);

    const pieces: string[] = [];
    for await (const chunk of await client.chat.completions.create({ ...asked(), stream: true }))
      pieces.push(chunk.choices[0]?.delta.content ?? '');

    expect(pieces.join('')).toBe(TEXT);
    expect(pieces.filter((piece) => piece !== '').length).toBeGreaterThan(3);
  });

  it('puts a streamed answer together to the one that was kept, with usage when it was asked for', async () => {
    answerWith(KEPT);

    const stream = client.chat.completions.stream({ ...asked(), stream_options: { include_usage: true } });
    const completion = await stream.finalChatCompletion();

    expect(completion.choices[0]?.message.content).toBe('Two calls.');
    expect(
      completion.choices[0]?.message.tool_calls?.map((call) =>
        call.type === 'function' ? [call.id, call.function.name, call.function.arguments] : [],
      ),
    ).toEqual([
      ['a', 'weather', ARGUMENTS],
      ['b', 'time', '{}'],
    ]);
    expect(completion.choices[0]?.finish_reason).toBe('tool_calls');
    expect(completion.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 8 });
    expect(completion.id).toBe('chatcmpl-7');
  });

  it('reads every choice that was asked for', async () => {
    answerWith(STATIC);

    const json = await client.chat.completions.create({ ...asked(), n: 3 });
    const streamed = await client.chat.completions.stream({ ...asked(), n: 3 }).finalChatCompletion();

    expect(json.choices.map(({ message }) => message.content)).toEqual([TEXT, TEXT, TEXT]);
    expect(streamed.choices.map(({ message }) => message.content)).toEqual([TEXT, TEXT, TEXT]);
  });

  it.each<[Complaint, abstract new (...args: never[]) => APIError, object]>([
    [
      { status: 429, kind: 'full', dimension: 'tokens', message: 'Too many tokens.' },
      RateLimitError,
      { status: 429, code: 'rate_limit_exceeded', type: 'tokens', param: null },
    ],
    [
      { status: 429, kind: 'full', dimension: 'requests', message: 'Too many requests.' },
      RateLimitError,
      { status: 429, code: 'rate_limit_exceeded', type: 'requests', param: null },
    ],
    [
      { status: 402, kind: 'full', dimension: 'usd', message: 'Spent.' },
      APIError,
      { status: 402, code: 'insufficient_quota', type: 'insufficient_quota' },
    ],
    [{ status: 503, kind: 'closed', message: 'Not now.' }, InternalServerError, { status: 503, code: 'server_is_overloaded' }],
    [{ status: 413, kind: 'never-fits', message: 'Too large.' }, APIError, { status: 413, code: 'request_too_large' }],
    [{ status: 401, kind: 'unidentified', message: 'Who?' }, AuthenticationError, { status: 401, code: 'missing_identity' }],
    [
      { status: 400, kind: 'unknown-model', message: 'Use another.' },
      BadRequestError,
      { status: 400, code: 'model_not_found', param: 'model' },
    ],
  ])('throws what it throws for OpenAI on %o, asked for a stream or not', async (complaint, kind, expected) => {
    refuseWith(complaint);

    for (const stream of [false, true]) {
      const error: unknown = await client.chat.completions.create({ ...asked(), stream }).catch((caught: unknown) => caught);

      expect(error).toBeInstanceOf(kind);
      expect(error).toMatchObject(expected);
      expect((error as Error).message).toBe(`${complaint.status} ${complaint.message}`);
    }
  });
});

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}
