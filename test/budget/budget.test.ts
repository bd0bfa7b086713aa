import { describe, expect, it } from 'vitest';
import { type BudgetOptions, createSpillway, type Options, OptionsError } from '../../src/index.js';

describe('the type of a budget', () => {
  it('takes one dimension, with what goes with it', () => {
    const budgets: readonly BudgetOptions[] = [
      { tokens: 1, per: 'minute', name: 'a' },
      { inputTokens: 1, per: 'call' },
      { outputTokens: 1, per: 1_000, enforce: 'never' },
      { requests: 1, per: 'day', timeZone: 'Europe/Berlin' },
      { usd: 1, per: 'month' },
      { concurrent: 1 },
    ];

    expect(() => createSpillway({ defaultPrice: { input: 1, output: 1 }, scopes: { global: { budgets } } })).not.toThrow();
  });

  it('refuses what options refuse, and they say how to mend it', () => {
    const budgets: readonly BudgetOptions[] = [
      // @ts-expect-error two dimensions are two budgets
      { tokens: 1, requests: 1, per: 'minute' },
      // @ts-expect-error money and tokens as well
      { usd: 1, tokens: 1, per: 'day' },
      // @ts-expect-error what runs now is another budget than what is asked in a minute
      { concurrent: 1, requests: 1, per: 'minute' },
      // @ts-expect-error what runs now has no window
      { concurrent: 1, per: 'minute' },
      // @ts-expect-error and no time zone
      { concurrent: 1, timeZone: 'UTC' },
      // @ts-expect-error tokens need a window
      { tokens: 1 },
      // @ts-expect-error there must be something to count
      { per: 'minute' },
    ];
    let faults: readonly string[] = [];

    try {
      createSpillway({ defaultPrice: { input: 1, output: 1 }, scopes: { global: { budgets } } });
    } catch (error) {
      if (error instanceof OptionsError) faults = error.faults;
    }

    const path = (index: number) => `scopes.global.budgets[${index}]`;
    expect(faults).toEqual([
      `${path(0)} has tokens and requests; give each a budget of its own`,
      `${path(1)} has tokens and usd; give each a budget of its own`,
      `${path(2)} has requests and concurrent; give each a budget of its own`,
      expect.stringContaining(`${path(3)}.per does not go with concurrent`),
      expect.stringContaining(`${path(4)}.timeZone goes with per: "day" and per: "month" only`),
      expect.stringContaining(`${path(5)}.per must be "second", "minute"`),
      expect.stringContaining(`${path(6)} needs one of tokens, inputTokens`),
    ]);
  });

  it('refuses two dimensions wherever budgets are given', () => {
    const options = {
      models: {
        // @ts-expect-error of a model
        'gpt-4o': { budgets: [{ tokens: 1, requests: 1, per: 'minute' }] },
      },
      scopes: {
        // @ts-expect-error of a key
        user: { budgets: () => [{ tokens: 1, requests: 1, per: 'minute' as const }] },
      },
    } satisfies Options<'user'>;

    expect(() => createSpillway(options as never)).toThrow('has tokens and requests; give each a budget of its own');
  });
});
