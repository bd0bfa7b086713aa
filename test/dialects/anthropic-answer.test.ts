import { describe, expect, it } from 'vitest';
import { createAnswerReader } from '../../src/dialects/answer-reader.js';
import { anthropicMessages } from '../../src/dialects/anthropic.js';
import { messageText, messageUsage } from '../../src/dialects/anthropic-answer.js';

const text = (words: string) => ({ type: 'text', text: words });
const started = (usage: object = {}, more: object = {}) => ({
  type: 'message_start',
  message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-opus-5', content: [], usage, ...more },
});
const begun = (index: unknown, block: unknown) => ({ type: 'content_block_start', index, content_block: block });
const delta = (index: unknown, fields: object) => ({ type: 'content_block_delta', index, delta: fields });
const said = (index: unknown, words: string) => delta(index, { type: 'text_delta', text: words });
const stopped = (index: unknown) => ({ type: 'content_block_stop', index });
const ended = (usage?: object, more: object = {}) => ({
  type: 'message_delta',
  delta: { stop_reason: 'end_turn', stop_sequence: null, ...more },
  usage,
});
const STOP = { type: 'message_stop' };
const spoken = [begun(0, text('')), said(0, 'x'), stopped(0)];

describe('usage', () => {
  it('counts what was read from the cache and written to it as a part of the prompt', () => {
    const usage = {
      input_tokens: 10,
      cache_creation_input_tokens: 200,
      cache_read_input_tokens: 3_000,
      output_tokens: 50,
      output_tokens_details: { thinking_tokens: 32 },
    };

    expect(messageUsage({ type: 'message', model: 'claude-opus-5', usage })).toEqual({
      inputTokens: 3_210,
      outputTokens: 50,
      cachedInputTokens: 3_000,
      cacheWriteTokens: 200,
      reasoningTokens: 32,
      model: 'claude-opus-5',
    });
  });

  it.each([
    ['no prompt', { output_tokens: 5 }, { inputTokens: undefined, outputTokens: 5 }],
    ['a prompt of 0', { input_tokens: 0, output_tokens: 5 }, { inputTokens: undefined, outputTokens: 5 }],
    [
      'a prompt from the cache only',
      { input_tokens: 0, cache_read_input_tokens: 7 },
      { inputTokens: 7, outputTokens: undefined },
    ],
    ['an output of 0', { input_tokens: 5, output_tokens: 0 }, { inputTokens: 5, outputTokens: 0 }],
    ['figures of the cache that are null', { input_tokens: 5, cache_read_input_tokens: null }, { inputTokens: 5 }],
    ['fractions', { input_tokens: 5.9, output_tokens: 0.5 }, { inputTokens: 5, outputTokens: 0 }],
    ['impossible figures', { input_tokens: 1e308, output_tokens: -1 }, { inputTokens: 10_000_000, outputTokens: undefined }],
  ])('with %s is taken as far as it can be', (_, usage, expected) => {
    expect(messageUsage({ usage })).toMatchObject(expected);
  });

  it.each([
    [undefined],
    [null],
    [{}],
    [{ usage: null }],
    [{ usage: {} }],
    [{ usage: [1, 2] }],
    [{ usage: { input_tokens: 0, output_tokens: 0 } }],
    [{ usage: { input_tokens: '5', output_tokens: Number.NaN } }],
    [{ type: 'message_start', usage: { input_tokens: 5 } }],
    [{ type: 'message_start', message: { usage: { input_tokens: 0, output_tokens: 3 } } }],
  ])('is not there in %j', (body) => {
    expect(messageUsage(body)).toBeUndefined();
  });
});

describe('usage of a stream', () => {
  const usageOf = (events: readonly object[], isComplete = true) => {
    const reader = createAnswerReader({
      dialect: anthropicMessages,
      contentType: 'text/event-stream',
      tapBytes: 1_000_000,
      learnBytes: 0,
      countText: (words) => words.length,
    });
    for (const event of events) reader.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
    return reader.findings(isComplete);
  };
  const start = started({ input_tokens: 10, cache_read_input_tokens: 90, cache_creation_input_tokens: 0, output_tokens: 3 });

  it('keeps the prompt of its beginning when its end tells the output only', () => {
    const { usage } = usageOf([start, ...spoken, ended({ output_tokens: 40 }), STOP]);

    expect(usage).toMatchObject({ inputTokens: 100, outputTokens: 40, cachedInputTokens: 90, model: 'claude-opus-5' });
  });

  it('keeps the prompt of its beginning when its end fills in zeros', () => {
    const zeros = { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };

    const { usage } = usageOf([start, ...spoken, ended({ ...zeros, output_tokens: 40 }), STOP]);

    expect(usage).toMatchObject({ inputTokens: 100, outputTokens: 40, cachedInputTokens: 90 });
  });

  it('takes the prompt of its end, which tools of the provider may have made longer', () => {
    const { usage } = usageOf([
      start,
      ...spoken,
      ended({ input_tokens: 500, cache_read_input_tokens: 90, output_tokens: 40 }),
      STOP,
    ]);

    expect(usage).toMatchObject({ inputTokens: 590, outputTokens: 40 });
  });

  it('takes the prompt of its end where its beginning fills in zeros', () => {
    const { usage } = usageOf([
      started({ input_tokens: 0, output_tokens: 0 }),
      ...spoken,
      ended({ input_tokens: 7, output_tokens: 4 }),
    ]);

    expect(usage).toMatchObject({ inputTokens: 7, outputTokens: 4 });
  });

  it('counts what was sent when it breaks off, whatever its beginning says of the output', () => {
    const { usage, outputTokens } = usageOf([start, begun(0, text('')), said(0, 'x'.repeat(70))], false);

    expect(usage?.inputTokens).toBe(100);
    expect(outputTokens).toBe(70);
  });
});

describe('text', () => {
  it('is everything that was generated, but no result of a tool', () => {
    const content = [
      { type: 'thinking', thinking: 'think ', signature: 'c2ln' },
      text('say '),
      { type: 'tool_use', name: 'f', input: { x: 1 } },
      { type: 'server_tool_use', name: 'web_search', input: {} },
      { type: 'web_search_tool_result', content: [text('found')] },
      { type: 'redacted_thinking', data: 'AAAA' },
    ];

    expect(messageText({ type: 'message', content })).toBe('think say f{"x":1}web_search');
  });

  it.each([
    ['', started()],
    ['f', begun(0, { type: 'tool_use', name: 'f', input: {} })],
    ['f{"x":1}', begun(0, { type: 'tool_use', name: 'f', input: { x: 1 } })],
    ['a', begun(0, text('a'))],
    ['a', said(0, 'a')],
    ['hm', delta(0, { type: 'thinking_delta', thinking: 'hm' })],
    ['{"x', delta(0, { type: 'input_json_delta', partial_json: '{"x' })],
    ['', delta(0, { type: 'signature_delta', signature: 'c2ln' })],
    ['', delta(0, { type: 'citations_delta', citation: { cited_text: 'x' } })],
    ['', stopped(0)],
    ['', ended({ output_tokens: 5 })],
    ['', { type: 'error', error: { message: 'x' } }],
  ])('is %j in one event', (expected, event) => {
    expect(messageText(event)).toBe(expected);
  });

  it('is found in an input nested 10,000 deep', () => {
    let input: unknown = {};
    for (let level = 0; level < 10_000; level++) input = { x: input };

    expect(messageText({ content: [{ type: 'tool_use', name: 'f', input }] }).length).toBeGreaterThan(10_000);
  });
});
