import { describe, expect, it } from 'vitest';
import { chatText, collectChat } from '../../src/dialects/openai-chat-answer.js';

const event = (data: unknown) => ({ event: undefined, data, text: JSON.stringify(data) });
const DONE = { event: undefined, data: undefined, text: '[DONE]' };
const delta = (fields: object, end: string | null = null, index = 0) => ({
  choices: [{ index, delta: fields, finish_reason: end }],
});
const fold = (...data: unknown[]) => collectChat({ events: [...data.map(event), DONE] });

describe('text', () => {
  it('is everything that was generated, in all choices', () => {
    const first = {
      reasoning_content: 'think ',
      content: 'say ',
      refusal: 'not ',
      tool_calls: [{ function: { name: 'f ', arguments: 'a ' } }, { custom: { name: 'g ', input: 'b ' } }],
      function_call: { name: 'h ', arguments: 'c ' },
    };

    expect(
      chatText({ choices: [{ message: first }, { delta: { reasoning: 'hm ', content: [{ type: 'text', text: 'x' }] } }] }),
    ).toBe('think say not f a g b h c hm x');
  });

  it('is empty for a chunk that adds none', () => {
    expect(chatText({ choices: [{ delta: { role: 'assistant', content: '' } }] })).toBe('');
    expect(chatText({ choices: [], usage: { prompt_tokens: 1 } })).toBe('');
  });
});

describe('collecting a stream', () => {
  it('puts a whole completion together', () => {
    const head = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'gpt-5', system_fingerprint: 'fp', service_tier: 'default' };
    const found = fold(
      { ...head, id: '', model: '', choices: [], prompt_filter_results: [] },
      { ...head, ...delta({ role: 'assistant', content: '' }) },
      { ...head, ...delta({ reasoning_content: 'Let me ' }) },
      { ...head, ...delta({ reasoning_content: 'see.' }) },
      { ...head, ...delta({ content: 'It ' }) },
      { ...head, ...delta({ content: 'rains.' }, 'stop') },
      { ...head, choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } },
    );

    expect(found).toEqual({
      model: 'gpt-5',
      text: 'It rains.',
      hasToolCalls: false,
      usage: { inputTokens: 3, outputTokens: 4, model: 'gpt-5' },
      body: {
        ...head,
        object: 'chat.completion',
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: 'It rains.', refusal: null, reasoning_content: 'Let me see.' },
            logprobs: null,
            finish_reason: 'stop',
          },
        ],
        usage: { prompt_tokens: 3, completion_tokens: 4 },
      },
    });
  });

  it('puts calls of tools together by their index', () => {
    const found = fold(
      delta({ content: null, tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }] }),
      delta({ tool_calls: [{ index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '{' } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: '{"x"' } }] }),
      delta({
        tool_calls: [
          { index: 1, function: { arguments: '}' } },
          { index: 0, function: { arguments: ':1}' } },
        ],
      }),
      delta({}, 'tool_calls'),
    );

    expect(found?.hasToolCalls).toBe(true);
    expect(found?.body).toMatchObject({
      choices: [
        {
          message: {
            content: null,
            tool_calls: [
              { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
              { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
            ],
          },
        },
      ],
    });
  });

  it('takes each call with an identifier as a new one where a server leaves the index out', () => {
    const found = fold(
      delta({ tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }] }),
      delta({ tool_calls: [{ id: 'b', function: { name: 'g', arguments: '{' } }] }),
      delta({ tool_calls: [{ function: { arguments: '}' } }] }, 'tool_calls'),
    );

    expect(found?.body).toMatchObject({
      choices: [
        { message: { tool_calls: [{ function: { name: 'f', arguments: '{}' } }, { function: { name: 'g', arguments: '{}' } }] } },
      ],
    });
  });

  it('puts the older function call together', () => {
    const found = fold(
      delta({ content: null, function_call: { name: 'f', arguments: '' } }),
      delta({ function_call: { arguments: '{"x":' } }),
      delta({ function_call: { arguments: '1}' } }, 'function_call'),
    );

    expect(found?.hasToolCalls).toBe(true);
    expect(found?.body).toMatchObject({
      choices: [{ message: { content: null, function_call: { name: 'f', arguments: '{"x":1}' } } }],
    });
  });

  it('needs no last mark when every choice has ended', () => {
    expect(collectChat({ events: [event(delta({ content: 'x' }, 'stop'))] })?.text).toBe('x');
  });

  it('ignores what comes after the last mark', () => {
    const events = [event(delta({ content: 'x' }, 'stop')), DONE, event({ error: { message: 'late' } })];

    expect(collectChat({ events })?.text).toBe('x');
  });

  it.each([
    ['a call far out of order', delta({ tool_calls: [{ index: 1_000_000, function: { name: 'f' } }] })],
    ['a call of a custom tool', delta({ tool_calls: [{ index: 0, type: 'custom', custom: { name: 'f', input: 'x' } }] })],
    ['a choice that cannot be', delta({ content: 'x' }, 'stop', -1)],
    ['an error', { error: { message: 'overloaded' } }],
    ['audio', delta({ audio: { id: 'a', data: 'AAAA' } })],
  ])('gives up on %s', (_, data) => {
    expect(fold(delta({ content: 'x' }), data, delta({}, 'stop'))).toBeUndefined();
  });
});
