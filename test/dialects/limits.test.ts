import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OwnLimit } from '../../src/dialects/dialect.js';
import { anthropicLimits, goDuration, openaiLimits } from '../../src/dialects/limits.js';
import { parseGoDuration } from '../support/ratelimit.js';

const NOW_MS = Date.UTC(2026, 0, 1);

describe('limits in the headers of a dialect', () => {
  const own = (fields: Partial<OwnLimit>): OwnLimit => ({
    dimension: 'tokens',
    limit: 100,
    remaining: 40,
    resetMs: 1_200,
    ...fields,
  });

  it('of OpenAI tell requests and tokens, each by the budget with least left', () => {
    const limits = [
      own({ limit: 9_000, remaining: 41 }),
      own({}),
      own({ dimension: 'requests', limit: 5, remaining: 0, resetMs: 360_000 }),
    ];

    expect(openaiLimits(limits)).toEqual({
      'x-ratelimit-limit-requests': '5',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '6m0s',
      'x-ratelimit-limit-tokens': '100',
      'x-ratelimit-remaining-tokens': '40',
      'x-ratelimit-reset-tokens': '1.2s',
    });
  });

  it('of Anthropic tell input and output apart, with instants', () => {
    expect(
      anthropicLimits([own({}), own({ dimension: 'inputTokens' }), own({ dimension: 'outputTokens', resetMs: 0 })], NOW_MS),
    ).toEqual({
      'anthropic-ratelimit-tokens-limit': '100',
      'anthropic-ratelimit-tokens-remaining': '40',
      'anthropic-ratelimit-tokens-reset': '2026-01-01T00:00:02Z',
      'anthropic-ratelimit-input-tokens-limit': '100',
      'anthropic-ratelimit-input-tokens-remaining': '40',
      'anthropic-ratelimit-input-tokens-reset': '2026-01-01T00:00:02Z',
      'anthropic-ratelimit-output-tokens-limit': '100',
      'anthropic-ratelimit-output-tokens-remaining': '40',
      'anthropic-ratelimit-output-tokens-reset': '2026-01-01T00:00:00Z',
    });
  });

  it('take the later reset of two budgets with as much left', () => {
    const limits = [own({ resetMs: 5_000 }), own({ limit: 200, resetMs: 9_000 }), own({ limit: 300, resetMs: undefined })];

    expect(openaiLimits(limits)).toMatchObject({ 'x-ratelimit-limit-tokens': '200', 'x-ratelimit-reset-tokens': '9s' });
  });

  it('leave out what no budget of the caller limits, and resets that nobody knows', () => {
    expect(openaiLimits([own({ dimension: 'concurrent' }), own({ dimension: 'inputTokens' })])).toEqual({});
    expect(openaiLimits([own({ resetMs: undefined })])).toEqual({
      'x-ratelimit-limit-tokens': '100',
      'x-ratelimit-remaining-tokens': '40',
    });
  });

  it.each([
    [0, '0s'],
    [0.2, '1ms'],
    [9, '9ms'],
    [999, '999ms'],
    [1_000, '1s'],
    [1_200, '1.2s'],
    [59_999, '59.999s'],
    [60_000, '1m0s'],
    [60_001, '1m1s'],
    [360_000, '6m0s'],
    [3_600_000, '1h0m0s'],
    [3_723_000, '1h2m3s'],
    [86_400_000, '24h0m0s'],
  ])('write %d ms as %s', (ms, text) => {
    expect(goDuration(ms)).toBe(text);
  });

  it('write durations that Go reads, a second longer at most and never shorter', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 4e10, noNaN: true }), (ms) => {
        const read = parseGoDuration(goDuration(ms));

        expect(read).toBeGreaterThanOrEqual(ms);
        expect(read - ms).toBeLessThanOrEqual(ms < 60_000 ? 1 : 1_001);
      }),
    );
  });
});
