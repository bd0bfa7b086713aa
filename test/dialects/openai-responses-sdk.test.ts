import { createOpenAI } from '@ai-sdk/openai';
import { APICallError, generateText, jsonSchema, streamText, tool } from 'ai';
import OpenAI, { APIError, RateLimitError } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, Call, Rendered } from '../../src/call.js';
import type { Complaint } from '../../src/dialects/dialect.js';
import { openaiResponses } from '../../src/dialects/openai-responses.js';
import { type Loopback, listen } from '../support/loopback.js';

/** What the server says to the next call: decided by the body that the SDK really sent. */
let respond: (call: Call) => Rendered;
let server: Loopback;
let client: OpenAI;
let provider: ReturnType<typeof createOpenAI>;

beforeAll(async () => {
  server = await listen(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    const draft = openaiResponses.read(body, request.url);
    const { status, headers, body: text } = respond({ draft, body, stream: draft?.stream ?? false } as Call);
    response.writeHead(status, { ...headers }).end(text);
  });
  client = new OpenAI({ apiKey: 'test', baseURL: `${server.url}/v1`, maxRetries: 0 });
  provider = createOpenAI({ apiKey: 'test', baseURL: `${server.url}/v1` });
});
afterAll(() => server.close());

const ASKED = { model: 'gpt-4o', input: 'Hello' };
const answerWith = (answer: Answer) => {
  respond = (call) => openaiResponses.answer(answer, call);
};
const refuseWith = (complaint: Complaint) => {
  respond = (call) => openaiResponses.error(complaint, call);
};

const TEXT = `We are busy.\n${'One 😀 after another. '.repeat(60)}`;
const STATIC: Answer = { kind: 'static', model: 'spillway-static', text: TEXT };
const ARGUMENTS = JSON.stringify({ city: 'Oslo', note: 'x'.repeat(600) });
const USAGE = {
  input_tokens: 7,
  input_tokens_details: { cached_tokens: 2 },
  output_tokens: 8,
  output_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 15,
};
const kept = (output: object[]): Answer => ({
  kind: 'cached',
  model: 'gpt-4o',
  text: '',
  body: {
    id: 'resp_7',
    object: 'response',
    created_at: 1_700_000_000,
    status: 'completed',
    error: null,
    incomplete_details: null,
    model: 'gpt-4o-2024-08-06',
    output,
    tools: [],
    usage: USAGE,
  },
});
const said = (...content: object[]) => ({ id: 'msg_7', type: 'message', status: 'completed', role: 'assistant', content });
const REASONING = {
  id: 'rs_7',
  type: 'reasoning',
  summary: [
    { type: 'summary_text', text: 'First this. ' },
    { type: 'summary_text', text: 'Then that.' },
  ],
};
const CALL = {
  id: 'fc_7',
  type: 'function_call',
  status: 'completed',
  call_id: 'call_7',
  name: 'weather',
  arguments: ARGUMENTS,
};
const MIXED = kept([
  REASONING,
  said(
    {
      type: 'output_text',
      text: 'It rains. ',
      logprobs: [],
      annotations: [{ type: 'url_citation', start_index: 0, end_index: 2, url: 'https://example.com', title: 'x' }],
    },
    { type: 'output_text', text: 'Really.', logprobs: [], annotations: [] },
  ),
  CALL,
]);
const OTHERS = kept([
  { ...REASONING, content: [{ type: 'reasoning_text', text: 'In full.' }] },
  { id: 'ctc_7', type: 'custom_tool_call', status: 'completed', call_id: 'call_8', name: 'sql', input: 'select 1' },
  { id: 'mcp_7', type: 'mcp_call', status: 'completed', name: 'roll', server_label: 'dice', arguments: '{"n":2}', output: '7' },
  { id: 'ci_7', type: 'code_interpreter_call', status: 'completed', code: 'print(7)', container_id: 'c', outputs: null },
  { id: 'ws_7', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'dice' } },
  said({ type: 'output_text', text: '7', logprobs: [], annotations: [] }),
]);
const REFUSED = kept([said({ type: 'refusal', refusal: 'I cannot do that.' })]);

describe('the official SDK', () => {
  it('reads a prepared answer', async () => {
    answerWith(STATIC);

    const response = await client.responses.create(ASKED);

    expect(response.output_text).toBe(TEXT);
    expect(response).toMatchObject({ status: 'completed', model: 'spillway-static', spillway: { outcome: 'static' } });
  });

  it('reads a prepared answer as a stream, event by event', async () => {
    answerWith(STATIC);

    const pieces: string[] = [];
    for await (const event of await client.responses.create({ ...ASKED, stream: true }))
      if (event.type === 'response.output_text.delta') pieces.push(event.delta);

    expect(pieces.join('')).toBe(TEXT);
    expect(pieces.length).toBeGreaterThan(3);
  });

  it.each([
    ['text, reasoning and a call', MIXED],
    ['calls that the provider carries out', OTHERS],
    ['a refusal', REFUSED],
  ])('puts a stream with %s together to the response that was kept', async (_, answer) => {
    answerWith(answer);

    const json = await client.responses.create(ASKED);
    const streamed = await client.responses.stream(ASKED).finalResponse();

    expect(streamed).toMatchObject(json);
    expect(streamed).toMatchObject({ ...(answer.body as object), spillway: { outcome: 'cached' } });
  });

  it('has the same response before the last event as after it', async () => {
    answerWith(MIXED);
    const items: unknown[] = [];
    const texts: string[] = [];

    const stream = client.responses.stream(ASKED);
    stream.on('response.output_item.done', ({ item }) => items.push(item));
    stream.on('response.output_text.delta', ({ snapshot }) => texts.push(snapshot));
    stream.on('response.function_call_arguments.delta', ({ snapshot }) => texts.push(snapshot));
    const { output } = await stream.finalResponse();

    expect(output).toMatchObject(items);
    expect(texts).toEqual(['It rains. ', 'Really.', ARGUMENTS.slice(0, 240), ARGUMENTS.slice(0, 480), ARGUMENTS]);
  });

  it.each<[Complaint, abstract new (...args: never[]) => APIError, object]>([
    [
      { status: 429, kind: 'full', dimension: 'tokens', message: 'Too many tokens.' },
      RateLimitError,
      { status: 429, code: 'rate_limit_exceeded', type: 'tokens', param: null },
    ],
    [
      { status: 402, kind: 'full', dimension: 'usd', message: 'Spent.' },
      APIError,
      { status: 402, code: 'insufficient_quota', type: 'insufficient_quota' },
    ],
  ])('throws what it throws for OpenAI on %o, asked for a stream or not', async (complaint, kind, expected) => {
    refuseWith(complaint);

    for (const stream of [false, true]) {
      const error: unknown = await client.responses.create({ ...ASKED, stream }).catch((caught: unknown) => caught);

      expect(error).toBeInstanceOf(kind);
      expect(error).toMatchObject(expected);
      expect((error as Error).message).toBe(`${complaint.status} ${complaint.message}`);
    }
  });
});

describe('the AI SDK', () => {
  const asked = () => ({ model: provider.responses('gpt-4o'), prompt: 'Hello', maxRetries: 0 });
  const tools = { weather: tool({ inputSchema: jsonSchema<object>({ type: 'object', properties: {} }), execute: () => 'rain' }) };

  it('reads a prepared answer, whole and as a stream', async () => {
    answerWith(STATIC);

    const whole = await generateText(asked());
    const streamed = streamText(asked());

    expect(whole.text).toBe(TEXT);
    expect(await streamed.text).toBe(TEXT);
    expect(await streamed.finishReason).toBe('stop');
    expect((await streamed.response).modelId).toBe('spillway-static');
  });

  it('reads text, reasoning, sources, a call and usage of a kept answer, whole and as a stream', async () => {
    answerWith(MIXED);

    const whole = await generateText({ ...asked(), tools });
    const streamed = streamText({ ...asked(), tools });

    for (const result of [whole, streamed]) {
      expect(await result.text).toBe('It rains. Really.');
      expect((await result.reasoning).map(({ text }) => text).join('')).toBe('First this. Then that.');
      expect((await result.toolCalls).map(({ toolName, input }) => [toolName, input])).toEqual([
        ['weather', JSON.parse(ARGUMENTS)],
      ]);
      expect(await result.sources).toMatchObject([{ url: 'https://example.com' }]);
      expect(await result.usage).toMatchObject({ inputTokens: 7, outputTokens: 8 });
      expect(await result.finishReason).toBe('tool-calls');
    }
  });

  it('reads calls that the provider carries out, and meets no event that it does not know', async () => {
    answerWith(OTHERS);
    const errors: unknown[] = [];

    const streamed = streamText({ ...asked(), onError: ({ error }) => void errors.push(error) });

    expect(await streamed.text).toBe('7');
    expect(errors).toEqual([]);
  });

  it('reads a refusal as a stream', async () => {
    answerWith(REFUSED);
    const errors: unknown[] = [];

    const streamed = streamText({ ...asked(), onError: ({ error }) => void errors.push(error) });

    expect(await streamed.finishReason).toBe('content-filter');
    expect(errors).toEqual([]);
  });

  it('throws the message of a refused call', async () => {
    refuseWith({ status: 429, kind: 'full', dimension: 'tokens', message: 'Too many tokens.' });

    const error: unknown = await generateText(asked()).catch((caught: unknown) => caught);

    expect(APICallError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ statusCode: 429, message: 'Too many tokens.', isRetryable: true });
  });
});
