import { describe, expect, it } from 'vitest';
import { collectMessage } from '../../src/dialects/anthropic-answer.js';

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
const collect = (...events: unknown[]) =>
  collectMessage({ events: events.map((data) => ({ event: undefined, data, text: JSON.stringify(data) })) });

describe('collecting a stream', () => {
  it('puts a whole message together', () => {
    const usage = { input_tokens: 5, cache_read_input_tokens: 7, output_tokens: 1, service_tier: 'standard' };
    const citation = { type: 'char_location', cited_text: 'x' };

    const found = collect(
      started(usage, { stop_reason: null, container: null }),
      begun(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'Let me ' }),
      delta(0, { type: 'thinking_delta', thinking: 'see.' }),
      delta(0, { type: 'signature_delta', signature: 'c2ln' }),
      stopped(0),
      { type: 'ping' },
      begun(1, { ...text(''), citations: [] }),
      delta(1, { type: 'citations_delta', citation }),
      said(1, 'It '),
      { type: 'an_event_of_the_future', index: 9 },
      said(1, 'rains.'),
      stopped(1),
      begun(2, { type: 'redacted_thinking', data: 'AAAA' }),
      stopped(2),
      ended({ output_tokens: 40, input_tokens: null }, { container: { id: 'c' } }),
      STOP,
    );

    expect(found).toEqual({
      model: 'claude-opus-5',
      text: 'It rains.',
      hasToolCalls: false,
      usage: { inputTokens: 12, outputTokens: 40, cachedInputTokens: 7, model: 'claude-opus-5' },
      body: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude-opus-5',
        content: [
          { type: 'thinking', thinking: 'Let me see.', signature: 'c2ln' },
          { type: 'text', text: 'It rains.', citations: [citation] },
          { type: 'redacted_thinking', data: 'AAAA' },
        ],
        stop_reason: 'end_turn',
        stop_sequence: null,
        container: { id: 'c' },
        usage: { ...usage, output_tokens: 40 },
      },
    });
  });

  it('puts inputs of tools together, and leaves the empty one of a tool that takes none', () => {
    const found = collect(
      started(),
      begun(0, { type: 'tool_use', id: 'a', name: 'f', input: {} }),
      delta(0, { type: 'input_json_delta', partial_json: '{"x":' }),
      delta(0, { type: 'input_json_delta', partial_json: ' [1]}' }),
      stopped(0),
      begun(1, { type: 'tool_use', id: 'b', name: 'g', input: {} }),
      delta(1, { type: 'input_json_delta', partial_json: '' }),
      stopped(1),
      ended({}, { stop_reason: 'tool_use' }),
      STOP,
    );

    expect(found?.hasToolCalls).toBe(true);
    expect(found?.body).toMatchObject({
      content: [
        { type: 'tool_use', id: 'a', name: 'f', input: { x: [1] } },
        { type: 'tool_use', id: 'b', name: 'g', input: {} },
      ],
    });
  });

  it('believes the reason to stop where usage comes in an event of its own', () => {
    const usage = { type: 'message_delta', delta: { stop_reason: null }, usage: { input_tokens: 3, output_tokens: 4 } };

    const found = collect(
      started(),
      ...spoken,
      ended(undefined, { stop_reason: 'stop_sequence', stop_sequence: '###' }),
      usage,
      STOP,
    );

    expect(found?.body).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: '###' });
    expect(found?.usage).toMatchObject({ inputTokens: 3, outputTokens: 4 });
  });

  it('has no calls where the provider ran its own tools', () => {
    const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'x' } };

    expect(collect(started(), begun(0, search), stopped(0), ended(), STOP)?.hasToolCalls).toBe(false);
  });

  it('ignores what comes after its end', () => {
    expect(collect(started(), ...spoken, ended(), STOP, { type: 'error', error: { message: 'late' } })?.text).toBe('x');
  });

  const call = begun(0, { type: 'tool_use', id: 'a', name: 'f', input: {} });
  it.each<[string, unknown[]]>([
    ['has no beginning', [...spoken, ended(), STOP]],
    ['begins twice', [started(), started(), ...spoken, ended(), STOP]],
    ['begins with content', [started({}, { content: [text('x')] }), ...spoken, ended(), STOP]],
    ['reports an error', [started(), ...spoken, { type: 'error', error: { message: 'x' } }, ended(), STOP]],
    ['tells no reason to stop', [started(), ...spoken, STOP]],
    ['ends before a block does', [started(), begun(0, text('')), said(0, 'x'), ended(), STOP]],
    ['breaks off before its end', [started(), ...spoken, ended()]],
    ['skips a block', [started(), begun(1, text('')), said(1, 'x'), stopped(1), ended(), STOP]],
    ['begins a block inside another', [started(), begun(0, text('')), begun(0, text('')), stopped(0), ended(), STOP]],
    ['says something outside of a block', [started(), said(0, 'x'), ended(), STOP]],
    ['says something in another block', [started(), begun(0, text('')), said(1, 'x'), stopped(0), ended(), STOP]],
    ['ends a block that has not begun', [started(), stopped(0), ended(), STOP]],
    ['numbers a block as no list does', [started(), begun(-1, text('')), stopped(-1), ended(), STOP]],
    ['has a block that is none', [started(), begun(0, 'text'), stopped(0), ended(), STOP]],
    ['says text in a call', [started(), call, said(0, 'x'), stopped(0), ended(), STOP]],
    ['says what is not known', [started(), begun(0, text('')), delta(0, { type: 'new_delta' }), stopped(0), ended(), STOP]],
    [
      'has an input cut off',
      [started(), call, delta(0, { type: 'input_json_delta', partial_json: '{"x' }), stopped(0), ended(), STOP],
    ],
    [
      'has an input that is none',
      [started(), call, delta(0, { type: 'input_json_delta', partial_json: '[1]' }), stopped(0), ended(), STOP],
    ],
  ])('gives up on one that %s', (_, events) => {
    expect(collect(...events)).toBeUndefined();
  });
});
