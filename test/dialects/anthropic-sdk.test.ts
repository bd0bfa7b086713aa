import { buffer } from 'node:stream/consumers';
import Anthropic, {
  type APIError,
  AuthenticationError,
  BadRequestError,
  ContentTooLargeError,
  PaymentRequiredError,
  RateLimitError,
  ServiceUnavailableError,
} from '@anthropic-ai/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, Call, Rendered } from '../../src/call.js';
import { anthropicMessages } from '../../src/dialects/anthropic.js';
import type { Complaint, Draft, StreamEvent } from '../../src/dialects/dialect.js';
import { createSseReader } from '../../src/dialects/sse.js';
import { type Loopback, listen } from '../support/loopback.js';

/** What the server says to the next call: decided by the body that the SDK really sent. */
let respond: (call: Call) => Rendered;
let seen: Draft | undefined;
let server: Loopback;
let client: Anthropic;

beforeAll(async () => {
  server = await listen(async (request, response) => {
    const body: unknown = JSON.parse((await buffer(request)).toString());
    seen = anthropicMessages.read(body, request.url);
    const { status, headers, body: text } = respond({ draft: seen, body, stream: seen?.stream ?? false } as Call);
    response.writeHead(status, { ...headers }).end(text);
  });
  client = new Anthropic({ apiKey: 'test', authToken: null, baseURL: server.url, maxRetries: 0 });
});
afterAll(() => server.close());

const asked = () => ({ model: 'claude-sonnet-5', max_tokens: 64, messages: [{ role: 'user' as const, content: 'Hello' }] });
const answerWith = (answer: Answer) => {
  respond = (call) => anthropicMessages.answer(answer, call);
};

const TEXT = `We are busy.\n${'One 😀 after another. '.repeat(60)}`;
const STATIC: Answer = { kind: 'static', model: 'spillway-static', text: TEXT };
const INPUT = { city: 'Oslo', note: 'x'.repeat(600) };
const KEPT: Answer = {
  kind: 'cached',
  model: 'claude-sonnet-5',
  text: 'Two calls.',
  body: {
    id: 'msg_7',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-5-20260901',
    content: [
      { type: 'thinking', thinking: 'Hm. '.repeat(100), signature: 'c2ln' },
      {
        type: 'text',
        text: 'Two calls.',
        citations: [{ type: 'char_location', cited_text: 'x', document_index: 0, document_title: null, start_char_index: 0 }],
      },
      { type: 'tool_use', id: 'a', name: 'weather', input: INPUT },
      { type: 'tool_use', id: 'b', name: 'time', input: {} },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 7, cache_creation_input_tokens: 0, cache_read_input_tokens: 30, output_tokens: 8 },
  },
};

describe('the official SDK', () => {
  it('sends what is read by path and by shape', async () => {
    answerWith(STATIC);
    const tools = [{ name: 'weather', description: 'Tells it.', input_schema: { type: 'object' as const } }];

    await client.messages.create({ ...asked(), system: 'Be brief.', tools, tool_choice: { type: 'any' } });

    expect(seen).toMatchObject({ model: 'claude-sonnet-5', maximumOutputTokens: 64, hasTools: true });
    expect(seen?.sections.map(({ kind, role }) => role ?? kind)).toEqual(['system', 'user', 'tools']);
  });

  it('reads a prepared answer', async () => {
    answerWith(STATIC);

    const message = await client.messages.create(asked());

    expect(message.content).toEqual([{ type: 'text', text: TEXT }]);
    expect(message).toMatchObject({ stop_reason: 'end_turn', model: 'spillway-static', spillway: { outcome: 'static' } });
  });

  it('reads a prepared answer as a stream, event by event', async () => {
    answerWith(STATIC);

    const pieces: string[] = [];
    for await (const event of await client.messages.create({ ...asked(), stream: true }))
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') pieces.push(event.delta.text);

    expect(pieces.join('')).toBe(TEXT);
    expect(pieces.length).toBeGreaterThan(3);
  });

  it('puts a prepared answer together from its stream', async () => {
    answerWith(STATIC);

    const stream = client.messages.stream(asked());

    expect(await stream.finalText()).toBe(TEXT);
    expect(await stream.finalMessage()).toMatchObject({ stop_reason: 'end_turn', spillway: { outcome: 'static' } });
  });

  it('puts a streamed answer together to the one that was kept', async () => {
    answerWith(KEPT);

    const message = await client.messages.stream(asked()).finalMessage();

    expect(message).toMatchObject(KEPT.body as object);
  });

  it.each<[Complaint, abstract new (...args: never[]) => APIError, string]>([
    [{ status: 429, kind: 'full', dimension: 'tokens', message: 'Too many tokens.' }, RateLimitError, 'rate_limit_error'],
    [{ status: 402, kind: 'full', dimension: 'usd', message: 'Spent.' }, PaymentRequiredError, 'billing_error'],
    [{ status: 503, kind: 'closed', message: 'Not now.' }, ServiceUnavailableError, 'overloaded_error'],
    [{ status: 413, kind: 'never-fits', message: 'Too large.' }, ContentTooLargeError, 'request_too_large'],
    [{ status: 401, kind: 'unidentified', message: 'Who?' }, AuthenticationError, 'authentication_error'],
    [{ status: 400, kind: 'unknown-model', message: 'Use another.' }, BadRequestError, 'not_found_error'],
    [{ status: 400, kind: 'bad-body', message: 'Not readable.' }, BadRequestError, 'invalid_request_error'],
  ])('throws what it throws for Anthropic on %o, asked for a stream or not', async (complaint, kind, type) => {
    respond = (call) => anthropicMessages.error(complaint, call);

    for (const ask of [
      () => client.messages.create(asked()),
      () => client.messages.create({ ...asked(), stream: true }),
      () => client.messages.stream(asked()).finalMessage(),
    ]) {
      const error: unknown = await ask().catch((caught: unknown) => caught);

      expect(error).toBeInstanceOf(kind);
      expect(error).toMatchObject({ status: complaint.status, type, apiMessage: complaint.message });
    }
  });
});

describe('streams of gateways', () => {
  const collect = (wire: string) => {
    const events: StreamEvent[] = [];
    const reader = createSseReader((event) => events.push(event));
    reader.push(wire);
    reader.flush();
    return anthropicMessages.collect({ events });
  };
  const sse = (event: { readonly type: string }, name = event.type) => `event: ${name}\ndata: ${JSON.stringify(event)}\n\n`;
  const message = { id: 'gen-1', type: 'message', role: 'assistant', model: 'claude', content: [] };
  const start = { type: 'message_start', message: { ...message, usage: { input_tokens: 0, output_tokens: 0 } } };
  const block = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
  const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi!' } };
  const stop = { type: 'content_block_stop', index: 0 };
  const end = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { input_tokens: 5, output_tokens: 6 } };
  const all = [start, block, delta, stop, end, { type: 'message_stop' }];

  it.each([
    [
      'with comments and pings in between',
      all.map((event) => `: waiting\n\n${sse(event)}event: ping\ndata: {"type":"ping"}\n\n`),
    ],
    ['without names of events', all.map((event) => `data: ${JSON.stringify(event)}\n\n`)],
    ['with names of their own', all.map((event) => sse(event, 'completion'))],
    ['with lines that end in CRLF', all.map((event) => sse(event).replaceAll('\n', '\r\n'))],
    ['with the last mark of chats', [...all.map((event) => sse(event)), 'data: [DONE]\n\n']],
  ])('%s are read like any other', (_, wire) => {
    expect(collect(wire.join(''))).toMatchObject({ text: 'Hi!', usage: { inputTokens: 5, outputTokens: 6 } });
  });
});
