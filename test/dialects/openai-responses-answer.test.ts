import { describe, expect, it } from 'vitest';
import { collectResponse, responseText, responseUsage } from '../../src/dialects/openai-responses-answer.js';

const usage = { input_tokens: 5, output_tokens: 6 };
const message = { type: 'message', content: [{ type: 'output_text', text: 'Hi.' }] };
const whole = (more: object = {}) => ({ object: 'response', status: 'completed', model: 'gpt-4o', output: [message], ...more });

describe('usage', () => {
  it.each(['response.completed', 'response.incomplete', 'response.failed'])('is told by the event %s', (type) => {
    expect(responseUsage({ type, response: { model: 'gpt-4o', usage } })).toMatchObject({
      inputTokens: 5,
      outputTokens: 6,
      model: 'gpt-4o',
    });
  });

  it.each(['response.created', 'response.in_progress', 'response.queued', 'response.output_item.done', 'error', ''])(
    'is not told by the event %j, whatever it carries',
    (type) => {
      expect(responseUsage({ type, response: { usage }, usage })).toBeUndefined();
    },
  );

  it.each([
    ['an input of 0', { input_tokens: 0, output_tokens: 6 }, { inputTokens: undefined, outputTokens: 6 }],
    ['no input', { output_tokens: 6 }, { inputTokens: undefined, outputTokens: 6 }],
    ['an output of 0', { input_tokens: 5, output_tokens: 0 }, { inputTokens: 5, outputTokens: 0 }],
    ['impossible figures', { input_tokens: 1e308, output_tokens: -1 }, { inputTokens: 10_000_000, outputTokens: undefined }],
    [
      'details that are none',
      { ...usage, input_tokens_details: [7], output_tokens_details: { reasoning_tokens: '7' } },
      { inputTokens: 5, cachedInputTokens: undefined, reasoningTokens: undefined },
    ],
  ])('with %s is taken as far as it can be', (_, given, expected) => {
    expect(responseUsage({ usage: given })).toMatchObject(expected);
  });

  it.each([
    [undefined],
    [null],
    [[]],
    [{}],
    [{ usage: null }],
    [{ usage: [5] }],
    [{ usage: { input_tokens: 0, output_tokens: 0 } }],
  ])('is not there in %j', (body) => {
    expect(responseUsage(body)).toBeUndefined();
  });
});

describe('text', () => {
  it.each([
    'output_text',
    'refusal',
    'reasoning_text',
    'reasoning_summary_text',
    'function_call_arguments',
    'custom_tool_call_input',
    'mcp_call_arguments',
    'code_interpreter_call_code',
  ])('of %s counts once: when it is told piece by piece', (kind) => {
    const event = (end: string) => ({ type: `response.${kind}.${end}`, delta: 'abc', text: 'abc', arguments: 'abc' });

    expect(responseText(event('delta'))).toBe('abc');
    expect(responseText(event('done'))).toBe('');
  });

  it.each([
    ['the response so far', { type: 'response.completed', response: whole(), output: [message] }],
    ['a whole item', { type: 'response.output_item.done', item: message }],
    ['a whole part', { type: 'response.content_part.done', part: message.content[0] }],
    ['a picture', { type: 'response.image_generation_call.partial_image', partial_image_b64: 'AAAA' }],
    ['sound', { type: 'response.audio.delta', delta: 'AAAA' }],
    ['a message that begins', { type: 'response.output_item.added', item: message }],
    ['a delta that is no text', { type: 'response.output_text.delta', delta: { text: 'abc' } }],
  ])('counts nothing of %s', (_, event) => {
    expect(responseText(event)).toBe('');
  });

  it('counts the name of what is called when its item begins', () => {
    const item = { type: 'function_call', name: 'weather', arguments: '' };

    expect(responseText({ type: 'response.output_item.added', item })).toBe('weather');
  });

  it('of a response is everything that was generated', () => {
    const output = [
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'a' }], content: [{ type: 'reasoning_text', text: 'b' }] },
      {
        type: 'message',
        content: [
          { type: 'output_text', text: 'c' },
          { type: 'refusal', refusal: 'd' },
          { type: 'other', text: 'x' },
        ],
      },
      { type: 'function_call', name: 'e', arguments: 'f' },
      { type: 'code_interpreter_call', code: 'g', outputs: [{ type: 'logs', logs: 'x' }] },
      { type: 'web_search_call', action: { query: 'x' } },
      null,
    ];

    expect(responseText({ output })).toBe('abcdefg');
  });
});

describe('collecting', () => {
  it('takes the response of the event that completes a stream, as it is', () => {
    const response = whole({ usage });
    const event = { event: 'response.completed', data: { type: 'response.completed', response }, text: '' };

    expect(collectResponse({ events: [event] })).toEqual({
      model: 'gpt-4o',
      text: 'Hi.',
      hasToolCalls: false,
      usage: { inputTokens: 5, outputTokens: 6, model: 'gpt-4o' },
      body: response,
    });
  });

  it.each(['function_call', 'custom_tool_call', 'web_search_call', 'computer_call', 'mcp_approval_request', 'new_kind'])(
    'takes an item of type %s for a call of a tool',
    (type) => {
      expect(collectResponse({ body: whole({ output: [message, { type }] }) })?.hasToolCalls).toBe(true);
    },
  );

  it('takes reasoning for none', () => {
    expect(collectResponse({ body: whole({ output: [{ type: 'reasoning', summary: [] }, message] }) })?.hasToolCalls).toBe(false);
  });

  it.each([
    ['failed', { status: 'failed' }],
    ['was cancelled', { status: 'cancelled' }],
    ['is still made in the background', { status: 'queued' }],
    ['does not say how it ended', { status: undefined }],
    ['reports an error', { error: { code: 'server_error' } }],
    ['says nothing', { output: [] }],
    ['has an item that was cut off', { output: [{ ...message, status: 'incomplete' }] }],
    ['is part of a conversation', { conversation: { id: 'conv_1' } }],
  ])('keeps no response that %s', (_, more) => {
    expect(collectResponse({ body: whole(more) })).toBeUndefined();
  });
});
