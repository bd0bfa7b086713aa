import { describe, expect, it } from 'vitest';
import type { Answer, Call } from '../../src/call.js';
import { openaiCompletions } from '../../src/dialects/openai-completions.js';
import { dialectConformance } from '../conformance/dialect.js';

const wire = (...data: unknown[]): string =>
  data.map((item) => `data: ${typeof item === 'string' ? item : JSON.stringify(item)}\n\n`).join('');
const completion = (choices: unknown[], more: object = {}) => ({
  id: 'cmpl-1',
  object: 'text_completion',
  created: 1_700_000_000,
  model: 'gpt-3.5-turbo-instruct',
  choices,
  ...more,
});
const choice = (text: unknown, finish_reason: string | null = 'stop', index = 0) => ({
  text,
  index,
  logprobs: null,
  finish_reason,
});

const USAGE = { prompt_tokens: 12, completion_tokens: 34, total_tokens: 46 };
const REPORTED = { inputTokens: 12, outputTokens: 34 };

dialectConformance('openaiCompletions', {
  dialect: openaiCompletions,
  samples: {
    bodies: [
      {
        body: { model: 'gpt-3.5-turbo-instruct', prompt: 'Once upon a time' },
        path: '/v1/completions',
        draft: { model: 'gpt-3.5-turbo-instruct', stream: false, wantsUsage: false, maximumOutputTokens: undefined, choices: 1 },
      },
      {
        body: {
          model: 'davinci-002',
          prompt: ['One', 'Two'],
          suffix: 'The end.',
          stream: true,
          max_tokens: 64,
          n: 2,
          best_of: 3,
        },
        draft: { stream: true, wantsUsage: false, maximumOutputTokens: 64, choices: 6, hasTools: false, hasFormat: false },
      },
      {
        body: { model: 'davinci-002', prompt: [[1, 2, 3], [4]], stream: true, stream_options: { include_usage: true } },
        path: '/v1/completions',
        draft: { stream: true, wantsUsage: true, choices: 2 },
      },
      { body: { model: 'davinci-002', max_tokens: 5 }, path: '/v1/completions', draft: { maximumOutputTokens: 5, choices: 1 } },
      {
        body: { model: 'qwen', prompt: 'List', response_format: { type: 'json_object' } },
        draft: { hasFormat: true },
      },
    ],
    foreign: [
      { body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] } },
      { body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] }, path: '/v1/completions' },
      { body: { model: 'gpt-4o', messages: [], prompt: 'Hello' } },
      { body: { model: 'gpt-4o', prompt: 'Hello' }, path: '/v1/chat/completions' },
      { body: { model: 'gpt-4o', input: 'Hello' } },
      { body: { model: 'gpt-4o', input: 'Hello', prompt: 'Hello' } },
      { body: { model: 'gpt-4o', prompt: { id: 'pmpt_1' } } },
      { body: { model: 'gpt-4o', prompt: { id: 'pmpt_1' } }, path: '/v1/responses' },
      { body: { model: 'gpt-4o' } },
      { body: { prompt: 'Hello' }, path: '/v1/completions' },
      { body: { model: 'dall-e-3', prompt: 'A bird' }, path: '/v1/images/generations' },
      { body: { model: 'sora-2', prompt: 'A bird' }, path: '/v1/videos' },
    ],
    answers: [
      { body: completion([choice('Hi!')], { usage: USAGE }), usage: REPORTED, complete: { text: 'Hi!' } },
      { body: completion([choice('one'), choice('two 你好 😀', 'stop', 1)]), complete: { text: 'one' } },
      { body: completion([choice('')]), complete: { text: '' } },
      { body: completion([choice('cut', 'length')], { usage: USAGE }), usage: REPORTED },
      { body: completion([choice('ok'), choice('cut', 'length', 1)]) },
      { body: completion([choice('bad', 'content_filter')]) },
      { body: completion([choice('half', null)]) },
      { body: completion([choice(7)]) },
      { body: completion([null]) },
      { body: completion([]) },
      { body: completion([choice('Hi!')], { error: { message: 'went wrong' } }) },
      { body: { error: { message: 'Rate limit reached', type: 'requests', param: null, code: 'rate_limit_exceeded' } } },
      {
        body: completion([choice('x')], { usage: { ...USAGE, prompt_tokens: 0 } }),
        usage: { inputTokens: undefined, outputTokens: 34 },
        complete: { text: 'x' },
      },
    ],
    streams: [
      {
        wire: wire(
          completion([choice('Hel', null)], { usage: null }),
          completion([choice('lo 😀', null)], { usage: null }),
          completion([choice('', 'stop')], { usage: null }),
          completion([], { usage: USAGE }),
          '[DONE]',
        ),
        usage: REPORTED,
        complete: { text: 'Hello 😀' },
      },
      {
        wire: wire(completion([choice('b', 'stop', 1)]), completion([choice('a', 'stop', 0)])),
        complete: { text: 'a' },
      },
      { wire: wire(completion([choice('Hel', null)]), completion([choice('lo', 'length')]), '[DONE]') },
      { wire: wire(completion([choice('Hel', null)]), '[DONE]') },
      { wire: wire(completion([choice('Hi')]), { error: { message: 'The server had an error' } }) },
      { wire: wire(completion([{ ...choice('Hi'), logprobs: { tokens: ['Hi'] } }])) },
      { wire: wire(completion([choice('x', 'stop', 1e9)])) },
    ],
  },
});

describe('reading prompts', () => {
  const parts = (more: object) => openaiCompletions.read({ model: 'davinci-002', ...more }, '/v1/completions')?.sections;
  const prompt = (...given: object[]) => ({ kind: 'prompt', parts: given });

  it.each([
    ['a text', 'One', [{ kind: 'text', text: 'One' }]],
    ['texts', ['One', 'Two'], ['One', 'Two'].map((text) => ({ kind: 'text', text }))],
    ['tokens', [1, 2, 3], [{ kind: 'tokens', count: 3 }]],
    ['lists of tokens', [[1, 2, 3], []], [3, 0].map((count) => ({ kind: 'tokens', count }))],
    ['no tokens', [], [{ kind: 'tokens', count: 0 }]],
    ['nothing', null, []],
    ['what is neither', ['One', [1, 'x'], { text: 'x' }, null], undefined],
  ])('gives %s', (_, given, expected) => {
    const neither = [
      { kind: 'text', text: 'One' },
      { kind: 'json', value: [1, 'x'] },
      { kind: 'json', value: { text: 'x' } },
    ];

    expect(parts({ prompt: given })).toEqual([prompt(...(expected ?? neither))]);
  });

  it('gives what comes after the completion too', () => {
    expect(parts({ prompt: 'One', suffix: 'End.' })).toEqual([
      prompt({ kind: 'text', text: 'One' }),
      prompt({ kind: 'text', text: 'End.' }),
    ]);
  });
});

describe('reading the number of choices', () => {
  it.each([
    [{ prompt: 'x', n: 3 }, 3],
    [{ prompt: 'x', best_of: 5 }, 5],
    [{ prompt: 'x', n: 2, best_of: 5 }, 5],
    [{ prompt: ['x', 'y', 'z'] }, 3],
    [{ prompt: ['x', 'y', 'z'], n: 2, best_of: 4 }, 12],
    [{ prompt: [1, 2, 3], n: 2 }, 2],
    [{ prompt: [[1], [2]], n: 2 }, 4],
    [{ prompt: 'x', n: 1e308, best_of: -1 }, 128],
    [{ prompt: 'x', n: '4', best_of: 0 }, 1],
    [{ prompt: Array(3_000).fill('x'), n: 128 }, 262_144],
  ])('of %j gives %s', (fields, choices) => {
    expect(openaiCompletions.read({ model: 'davinci-002', ...fields })?.choices).toBe(choices);
  });
});

describe('a prepared answer', () => {
  const STATIC: Answer = { kind: 'static', model: 'spillway-static', text: 'We are busy.' };
  const callFor = (body: object): Call => {
    const draft = openaiCompletions.read({ model: 'davinci-002', ...body });
    return { draft, body, stream: draft?.stream } as Call;
  };
  const choices = (body: object) => JSON.parse(openaiCompletions.answer(STATIC, callFor(body)).body).choices;

  it('is a completion of its own that says what it is', () => {
    const { status, body } = openaiCompletions.answer(STATIC, callFor({ prompt: 'x' }));

    expect(status).toBe(200);
    expect(JSON.parse(body)).toEqual({
      id: expect.stringMatching(/^cmpl-spillway-static-[\w-]{36}$/),
      object: 'text_completion',
      created: 0,
      model: 'spillway-static',
      choices: [choice('We are busy.')],
      usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
      spillway: { outcome: 'static' },
    });
  });

  it('has a choice for each that is shown, not for each that is made', () => {
    expect(choices({ prompt: ['x', 'y'], n: 2, best_of: 9 }).map(({ index }: { index: number }) => index)).toEqual([0, 1, 2, 3]);
  });

  it('is not repeated without end', () => {
    expect(choices({ prompt: Array(2_000).fill('x'), n: 128 })).toHaveLength(128);
  });

  it('is accepted, not finished, when the work was deferred', () => {
    expect(openaiCompletions.answer({ ...STATIC, kind: 'deferred' }, callFor({ prompt: 'x' })).status).toBe(202);
  });

  it('keeps what a kept answer tells of its tokens', () => {
    const logprobs = { tokens: ['Hi'], token_logprobs: [-0.1] };
    const kept: Answer = { ...STATIC, kind: 'cached', body: completion([{ ...choice('Hi'), logprobs }]) };

    expect(openaiCompletions.answer(kept, callFor({ prompt: 'x', stream: true })).body).toContain(JSON.stringify(logprobs));
  });
});
