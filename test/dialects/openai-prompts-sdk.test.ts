import OpenAI, { APIError, InternalServerError, RateLimitError } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, Call } from '../../src/call.js';
import type { Complaint } from '../../src/dialects/dialect.js';
import { createRegistry } from '../../src/dialects/registry.js';
import { type Loopback, listen } from '../support/loopback.js';

/** What the server says next: an answer or a complaint, in the dialect that reads what the SDK really sent. */
let next: Answer | Complaint;
let server: Loopback;
let client: OpenAI;

beforeAll(async () => {
  const registry = createRegistry([]);
  server = await listen(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    const found = registry.detect(body, request.url);
    const call = { ...found, body, stream: found?.draft.stream ?? false } as Call;
    const {
      status,
      headers,
      body: text,
    } = 'status' in next
      ? (found?.dialect ?? registry.fallback).error(next, call)
      : (found?.dialect ?? registry.fallback).answer(next, call);
    response.writeHead(status, { ...headers }).end(text);
  });
  client = new OpenAI({ apiKey: 'test', baseURL: `${server.url}/v1`, maxRetries: 0 });
});
afterAll(() => server.close());

const TEXT = `We are busy.\n${'One 😀 after another. '.repeat(60)}`;
const STATIC: Answer = { kind: 'static', model: 'spillway-static', text: TEXT };
const FULL: Complaint = { status: 429, kind: 'full', dimension: 'tokens', message: 'Too many tokens.' };

describe('the official SDK, completing a prompt', () => {
  const asked = { model: 'gpt-3.5-turbo-instruct', prompt: ['Once', 'Twice'] };

  it('reads a prepared answer to each prompt', async () => {
    next = STATIC;

    const completion = await client.completions.create(asked);

    expect(completion.choices.map(({ text, finish_reason }) => [text, finish_reason])).toEqual([
      [TEXT, 'stop'],
      [TEXT, 'stop'],
    ]);
    expect(completion).toHaveProperty('spillway', { outcome: 'static' });
  });

  it('reads a prepared answer as a stream, with usage when it was asked for', async () => {
    next = { ...STATIC, usage: { inputTokens: 5, outputTokens: 6 } };
    const texts = ['', ''];
    const usages: unknown[] = [];

    const stream = await client.completions.create({ ...asked, stream: true, stream_options: { include_usage: true } });
    for await (const { choices, usage } of stream) {
      for (const { index, text } of choices) texts[index] += text;
      if (usage) usages.push(usage);
    }

    expect(texts).toEqual([TEXT, TEXT]);
    expect(usages).toEqual([{ prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 }]);
  });

  it('throws what it throws for OpenAI', async () => {
    next = FULL;

    const error: unknown = await client.completions.create(asked).catch((caught: unknown) => caught);

    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ code: 'rate_limit_exceeded', type: 'tokens', message: '429 Too many tokens.' });
  });
});

describe('the official SDK, embedding', () => {
  const asked = { model: 'text-embedding-3-small', input: ['Hello', 'world'] };
  const base64 = Buffer.from(new Float32Array([1, 0.5]).buffer).toString('base64');
  const kept = (embedding: unknown): Answer => ({
    kind: 'cached',
    model: 'text-embedding-3-small',
    text: '',
    body: {
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding }],
      model: 'text-embedding-3-small',
      usage: { prompt_tokens: 2, total_tokens: 2 },
    },
  });

  it('reads kept vectors, in base64 as it asks for them or as numbers', async () => {
    next = kept(base64);
    const decoded = await client.embeddings.create(asked);
    next = kept([1, 0.5]);
    const plain = await client.embeddings.create({ ...asked, encoding_format: 'float' });

    expect(decoded.data[0]?.embedding).toEqual([1, 0.5]);
    expect(plain.data[0]?.embedding).toEqual([1, 0.5]);
    expect(plain.usage).toEqual({ prompt_tokens: 2, total_tokens: 2 });
  });

  it('throws a text that is given in the place of vectors', async () => {
    next = STATIC;

    const error: unknown = await client.embeddings.create(asked).catch((caught: unknown) => caught);

    expect(error).toBeInstanceOf(InternalServerError);
    expect((error as Error).message).toBe(`503 ${TEXT}`);
  });

  it('throws what it throws for OpenAI', async () => {
    next = FULL;

    const error: unknown = await client.embeddings.create(asked).catch((caught: unknown) => caught);

    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
  });
});
