import { describe, expect, it } from 'vitest';
import { completionUsage, isUsageChunk } from '../../src/dialects/openai-usage.js';

describe('usage', () => {
  it('is told with its details and the model of the answer', () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 50,
      prompt_tokens_details: { cached_tokens: 64, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 32 },
    };

    expect(completionUsage({ model: 'gpt-4o-2024-08-06', usage })).toEqual({
      inputTokens: 100,
      outputTokens: 50,
      cachedInputTokens: 64,
      reasoningTokens: 32,
      model: 'gpt-4o-2024-08-06',
    });
  });

  it.each([
    ['a prompt of 0', { prompt_tokens: 0, completion_tokens: 5 }, { inputTokens: undefined, outputTokens: 5 }],
    ['no prompt', { completion_tokens: 5 }, { inputTokens: undefined, outputTokens: 5 }],
    ['no completion', { prompt_tokens: 5 }, { inputTokens: 5, outputTokens: undefined }],
    ['a completion of 0', { prompt_tokens: 5, completion_tokens: 0 }, { inputTokens: 5, outputTokens: 0 }],
    ['fractions', { prompt_tokens: 5.9, completion_tokens: 0.5 }, { inputTokens: 5, outputTokens: 0 }],
    ['impossible figures', { prompt_tokens: 1e308, completion_tokens: -1 }, { inputTokens: 10_000_000, outputTokens: undefined }],
  ])('with %s is taken as far as it can be', (_, usage, expected) => {
    expect(completionUsage({ usage })).toMatchObject(expected);
  });

  it.each([
    [undefined],
    [null],
    [{}],
    [{ usage: null }],
    [{ usage: {} }],
    [{ usage: [1, 2] }],
    [{ usage: { prompt_tokens: 0, completion_tokens: 0 } }],
    [{ usage: { prompt_tokens: '5', completion_tokens: Number.NaN } }],
    [{ usage: { prompt_tokens_details: { cached_tokens: 5 } } }],
  ])('is not there in %j', (body) => {
    expect(completionUsage(body)).toBeUndefined();
  });
});

describe('a chunk that only carries usage', () => {
  it.each([
    [true, { choices: [], usage: { prompt_tokens: 1 } }],
    [true, { choices: [], usage: {} }],
    [false, { choices: [], prompt_filter_results: [] }],
    [false, { choices: [], usage: null }],
    [false, { choices: [{ delta: {} }], usage: { prompt_tokens: 1 } }],
    [false, { usage: { prompt_tokens: 1 } }],
    [false, undefined],
  ])('is seen (%s) in %j', (expected, data) => {
    expect(isUsageChunk(data)).toBe(expected);
  });
});
