import Anthropic, { InternalServerError, NotFoundError, RateLimitError } from '@anthropic-ai/sdk';
import OpenAI, { RateLimitError as OpenAIRateLimitError } from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import { createProvider, type Provider, type ProviderOptions } from './provider.js';

const MODEL = 'claude-sonnet-5';
const ROOM = { tokensPerMinute: 100_000, requestsPerMinute: 500 };

let provider: Provider;
afterEach(() => provider.close());

async function start(options: Partial<ProviderOptions> = {}): Promise<{ anthropic: Anthropic; openai: OpenAI }> {
  provider = await createProvider({ models: { [MODEL]: ROOM }, firstTokenMs: 0, msPerToken: 0, outputTokens: 18, ...options });
  return {
    anthropic: new Anthropic({ baseURL: provider.origin, apiKey: 'none', authToken: null, maxRetries: 0 }),
    openai: new OpenAI({ baseURL: provider.url, apiKey: 'none', maxRetries: 0 }),
  };
}

async function eventsOf(path: string, body: object): Promise<{ type: string }[]> {
  const response = await fetch(`${provider.origin}${path}`, { method: 'POST', body: JSON.stringify({ ...body, stream: true }) });
  return (await response.text())
    .split('\n\n')
    .filter(Boolean)
    .map((event) => {
      const [name, data] = event.split('\n');
      const parsed = JSON.parse(data?.slice('data: '.length) ?? '');
      expect(name).toBe(`event: ${parsed.type}`);
      return parsed;
    });
}

/** Runs of one type count once: how many deltas there are is a matter of length. */
const order = (events: readonly { type: string }[]) =>
  events.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1]);

describe('messages of Anthropic', () => {
  /** 20 characters in one message and a system prompt of 4: charged 24 / 4 + 2 + 1 = 9. */
  const asked = (text = 'How do I deploy this') => ({
    model: MODEL,
    max_tokens: 100,
    system: 'Hm. ',
    messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }],
  });
  const tools = [{ name: 'look_up', input_schema: { type: 'object' as const } }];

  it('tell text, stop reason and usage', async () => {
    const { anthropic } = await start();

    const message = await anthropic.messages.create(asked());

    expect(message.content).toMatchObject([
      { type: 'text', text: expect.stringMatching(/^This is claude-sonnet-5 on "How do I/) },
    ]);
    expect(message).toMatchObject({ stop_reason: 'end_turn', usage: { input_tokens: 9, output_tokens: 18 } });
    expect(provider.stats().models[MODEL]).toMatchObject({ inputTokens: 9, outputTokens: 18, tokensCharged: 27 });
  });

  it('come as the events that Anthropic sends, in its order', async () => {
    await start();

    const events = await eventsOf('/v1/messages', asked());

    expect(order(events)).toEqual([
      'message_start',
      'content_block_start',
      'ping',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    expect(events[0]).toMatchObject({ message: { content: [], usage: { input_tokens: 9, output_tokens: 1 } } });
    expect(events.at(-2)).toMatchObject({ delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 18 } });
  });

  it.each([
    ['text', asked(), {}],
    ['a cut answer', asked(), { max_tokens: 7 }],
    ['the call of a tool', asked('please call tool look_up'), { tools }],
  ])('are put together by the SDK from a stream with %s to what the JSON says', async (_, body, more) => {
    const { anthropic } = await start();

    const { id: _json, ...json } = await anthropic.messages.create({ ...body, ...more });
    const {
      id: _streamed,
      parsed_output: _parsed,
      ...streamed
    } = await anthropic.messages.stream({ ...body, ...more }).finalMessage();

    const withoutId = (content: readonly object[]) => content.map((block) => ({ ...block, id: undefined }));
    expect({ ...streamed, content: withoutId(streamed.content) }).toMatchObject({ ...json, content: withoutId(json.content) });
  });

  it('are refused with the error, the wait and the limits of Anthropic', async () => {
    const { anthropic } = await start({ models: { [MODEL]: { ...ROOM, requestsPerMinute: 1 } }, now: () => 0 });
    await anthropic.messages.create(asked());

    const error = (await anthropic.messages.create(asked()).catch((caught: unknown) => caught)) as RateLimitError;

    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ status: 429, type: 'rate_limit_error' });
    expect(Object.fromEntries([...error.headers].filter(([name]) => /ratelimit|retry/.test(name)))).toEqual({
      'anthropic-ratelimit-requests-limit': '1',
      'anthropic-ratelimit-requests-remaining': '0',
      'anthropic-ratelimit-requests-reset': '1970-01-01T00:01:00Z',
      'anthropic-ratelimit-tokens-limit': '100000',
      'anthropic-ratelimit-tokens-remaining': '99973',
      'anthropic-ratelimit-tokens-reset': '1970-01-01T00:00:01Z',
      'retry-after': '60',
    });
  });

  it.each([
    ['a model that it does not have', { ...asked(), model: 'claude-9' }, {}, NotFoundError, 'not_found_error'],
    ['a spurious 429', asked(), { 'x-fault': '429' }, RateLimitError, 'rate_limit_error'],
    ['a fault of its own', asked(), { 'x-fault': '500' }, InternalServerError, 'api_error'],
  ])('end for %s in the error of the SDK', async (_, body, headers, kind, type) => {
    const { anthropic } = await start();

    const error = await anthropic.messages.create(body, { headers }).catch((caught: unknown) => caught);

    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ type });
  });

  it('without an output maximum are a bad request', async () => {
    await start();
    const { max_tokens: _, ...body } = asked();

    const response = await fetch(`${provider.origin}/v1/messages`, { method: 'POST', body: JSON.stringify(body) });

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
  });
});

describe('Responses of OpenAI', () => {
  /** 20 characters in one message and instructions of 4: charged 24 / 4 + 2 + 1 = 9. */
  const asked = (text = 'How do I deploy this') => ({ model: MODEL, instructions: 'Hm. ', input: text });
  const tools = [{ type: 'function' as const, name: 'look_up', parameters: {}, strict: false }];

  it('tell text, status and usage', async () => {
    const { openai } = await start();

    const response = await openai.responses.create(asked());

    expect(response.output_text).toMatch(/^This is claude-sonnet-5 on "How do I/);
    expect(response).toMatchObject({ status: 'completed', usage: { input_tokens: 9, output_tokens: 18, total_tokens: 27 } });
  });

  it('come as the events that OpenAI sends, numbered and in its order', async () => {
    await start();

    const events = await eventsOf('/v1/responses', asked());

    expect(order(events)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(events.map((event) => (event as { sequence_number?: number }).sequence_number)).toEqual([...events.keys()]);
    expect(events.at(-1)).toMatchObject({ response: { status: 'completed', usage: { input_tokens: 9, output_tokens: 18 } } });
  });

  it.each([
    ['text', asked(), {}],
    ['a cut answer', asked(), { max_output_tokens: 16 }],
    ['the call of a tool', asked('please call tool look_up'), { tools }],
  ])('are put together by the SDK from a stream with %s to what the JSON says', async (_, body, more) => {
    const { openai } = await start();

    const json = await openai.responses.create({ ...body, ...more });
    const streamed = await openai.responses.stream({ ...body, ...more }).finalResponse();

    const { id: jsonId, created_at: _json, output: jsonOutput, ...whole } = json;
    expect(streamed).toMatchObject(whole);
    const withIds = JSON.stringify(jsonOutput).replaceAll(jsonId.slice('resp_'.length), streamed.id.slice('resp_'.length));
    expect(streamed.output).toMatchObject(JSON.parse(withIds));
  });

  it('are refused as chat completions are, and share their limits with them', async () => {
    const { openai } = await start({ models: { [MODEL]: { ...ROOM, requestsPerMinute: 1 } } });
    await openai.chat.completions.create({ model: MODEL, messages: [{ role: 'user', content: 'Hello' }] });

    const error = (await openai.responses.create(asked()).catch((caught: unknown) => caught)) as OpenAIRateLimitError;

    expect(error).toBeInstanceOf(OpenAIRateLimitError);
    expect(error).toMatchObject({ code: 'rate_limit_exceeded', type: 'requests' });
    expect(error.headers.get('x-ratelimit-remaining-requests')).toBe('0');
  });
});
