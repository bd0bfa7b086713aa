import { describe, expect, it } from 'vitest';
import type { Answer, Call } from '../../src/call.js';
import { readMessagesBody } from '../../src/dialects/anthropic-read.js';
import { renderMessage, renderMessageError } from '../../src/dialects/anthropic-render.js';
import type { Complaint, StreamEvent } from '../../src/dialects/dialect.js';
import { createSseReader } from '../../src/dialects/sse.js';

const callFor = (fields: object): Call => {
  const draft = readMessagesBody({ model: 'claude-sonnet-4-5', messages: [], ...fields }, '/v1/messages');
  return { draft, stream: draft?.stream } as Call;
};
const STATIC: Answer = { kind: 'static', model: 'spillway-static', text: 'We are busy.' };
const ZEROS = { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 };

/** Events of a stream; each one must carry its own name. */
function eventsOf(answer: Answer) {
  const events: StreamEvent[] = [];
  const reader = createSseReader((event) => events.push(event));
  reader.push(renderMessage(answer, callFor({ stream: true })).body);
  reader.flush();
  // biome-ignore lint/suspicious/noExplicitAny: events are told apart by what a test looks at
  const data = events.map((event) => event.data as any);
  expect(events.map(({ event }) => event)).toEqual(data.map(({ type }) => type));
  return data;
}

describe('a prepared answer', () => {
  it('is a message of its own that says what it is', () => {
    const { status, headers, body } = renderMessage(STATIC, callFor({}));

    expect([status, headers]).toEqual([200, { 'content-type': 'application/json; charset=utf-8' }]);
    expect(JSON.parse(body)).toEqual({
      id: expect.stringMatching(/^msg_spillway_static_[\w-]{36}$/),
      type: 'message',
      role: 'assistant',
      model: 'spillway-static',
      content: [{ type: 'text', text: 'We are busy.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: ZEROS,
      spillway: { outcome: 'static' },
    });
  });

  it('tells usage in the three parts that do not overlap', () => {
    const usage = { inputTokens: 100, outputTokens: 7, cachedInputTokens: 60, cacheWriteTokens: 30 };

    expect(JSON.parse(renderMessage({ ...STATIC, usage }, callFor({})).body).usage).toEqual({
      input_tokens: 10,
      cache_creation_input_tokens: 30,
      cache_read_input_tokens: 60,
      output_tokens: 7,
    });
  });

  it('is accepted, not finished, when the work was deferred', () => {
    expect(renderMessage({ ...STATIC, kind: 'deferred' }, callFor({})).status).toBe(202);
    expect(renderMessage({ ...STATIC, kind: 'deferred' }, callFor({ stream: true })).status).toBe(202);
  });

  it('has an identifier of its own each time', () => {
    const ids = [1, 2].map(() => JSON.parse(renderMessage(STATIC, callFor({})).body).id);

    expect(ids[0]).not.toBe(ids[1]);
  });
});

describe('a stream', () => {
  it('is the whole sequence of events that a model would have sent', () => {
    const { headers } = renderMessage(STATIC, callFor({ stream: true }));
    const [start, ...rest] = eventsOf(STATIC);

    expect(headers).toEqual({ 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache, no-transform' });
    expect(start).toEqual({
      type: 'message_start',
      message: {
        id: expect.stringMatching(/^msg_spillway_static_/),
        type: 'message',
        role: 'assistant',
        model: 'spillway-static',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: ZEROS,
        spillway: { outcome: 'static' },
      },
      spillway: { outcome: 'static' },
    });
    expect(rest).toEqual([
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'We are busy.' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: ZEROS },
      { type: 'message_stop' },
    ]);
  });

  it('cuts long text into pieces, and no surrogate pair', () => {
    const text = `x${'😀'.repeat(1_000)}`;
    const pieces = eventsOf({ ...STATIC, text }).flatMap(({ delta }) => delta?.text ?? []);

    expect(pieces.join('')).toBe(text);
    expect(pieces.length).toBeGreaterThan(5);
    expect(pieces.filter((piece) => !piece.isWellFormed())).toEqual([]);
  });
});

describe('a kept answer', () => {
  const citations = [{ type: 'char_location', cited_text: 'x' }];
  const found = { type: 'web_search_tool_result', tool_use_id: 's', content: [{ url: 'u' }] };
  const body = {
    id: 'msg_7',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5-20250929',
    content: [
      { type: 'thinking', thinking: 'Hm. '.repeat(100), signature: 'c2ln' },
      { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'x' } },
      found,
      { type: 'text', text: 'So:', citations },
      { type: 'tool_use', id: 'a', name: 'f', input: { x: 'y'.repeat(500) } },
      { type: 'tool_use', id: 'b', name: 'g', input: {} },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    container: { id: 'c' },
    usage: { input_tokens: 7, cache_read_input_tokens: 9, output_tokens: 8, service_tier: 'standard' },
    unknown_field: [1],
  };
  const kept: Answer = { kind: 'stale', model: 'claude-sonnet-4-5', text: 'So:', body };

  it('is given back as it was, apart from the mark', () => {
    expect(JSON.parse(renderMessage(kept, callFor({})).body)).toEqual({ ...body, spillway: { outcome: 'stale' } });
  });

  it('begins each block without what its deltas then tell', () => {
    const events = eventsOf(kept);
    const begun = events.filter(({ type }) => type === 'content_block_start').map(({ content_block }) => content_block);
    const inputOf = (at: number) =>
      events.flatMap(({ index, delta }) => (index === at && delta?.type === 'input_json_delta' ? delta.partial_json : []));

    expect(begun).toEqual([
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
      found,
      { type: 'text', text: '', citations: [] },
      { type: 'tool_use', id: 'a', name: 'f', input: {} },
      { type: 'tool_use', id: 'b', name: 'g', input: {} },
    ]);
    expect(events.filter(({ type }) => type === 'content_block_stop').map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(inputOf(4).length).toBeGreaterThan(2);
    expect(JSON.parse(inputOf(4).join(''))).toEqual({ x: 'y'.repeat(500) });
    expect(events).toContainEqual({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'signature_delta', signature: 'c2ln' },
    });
    expect(events).toContainEqual({
      type: 'content_block_delta',
      index: 3,
      delta: { type: 'citations_delta', citation: citations[0] },
    });
  });

  it('keeps its identifier, unknown fields and reason to stop, and tells its usage at the end', () => {
    const events = eventsOf(kept);

    expect(events[0].message).toMatchObject({ id: 'msg_7', model: 'claude-sonnet-4-5-20250929', unknown_field: [1] });
    expect(events[0].message.usage).toEqual({ ...ZEROS, service_tier: 'standard' });
    expect(events.at(-2)).toEqual({
      type: 'message_delta',
      delta: { stop_reason: 'tool_use', stop_sequence: null, container: { id: 'c' } },
      usage: body.usage,
    });
  });
});

describe('an error', () => {
  it.each<[Partial<Complaint>, string]>([
    [{ kind: 'full', dimension: 'tokens', status: 429 }, 'rate_limit_error'],
    [{ kind: 'full', dimension: 'requests', status: 429 }, 'rate_limit_error'],
    [{ kind: 'full', dimension: 'concurrent', status: 429 }, 'rate_limit_error'],
    [{ kind: 'full', status: 503 }, 'overloaded_error'],
    [{ kind: 'full', dimension: 'usd', status: 402 }, 'billing_error'],
    [{ kind: 'closed', status: 503 }, 'overloaded_error'],
    [{ kind: 'never-fits', status: 413 }, 'request_too_large'],
    [{ kind: 'unidentified', status: 401 }, 'authentication_error'],
    [{ kind: 'unknown-model', status: 400 }, 'not_found_error'],
    [{ kind: 'bad-body', status: 400 }, 'invalid_request_error'],
  ])('of %j is told as Anthropic tells it: %s', (complaint, type) => {
    const { status, headers, body } = renderMessageError({ status: 418, kind: 'full', message: 'Why.', ...complaint });

    expect(status).toBe(complaint.status);
    expect(headers).toEqual({ 'content-type': 'application/json; charset=utf-8' });
    expect(JSON.parse(body)).toEqual({ type: 'error', error: { type, message: 'Why.' } });
  });
});
