import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BudgetOptions } from '../../src/budget/budget.js';
import { type PlanFacts, planCharges, UNDECLARED_OUTPUT_TOKENS } from '../../src/budget/charges.js';
import { createSource, type Source } from '../../src/budget/source.js';
import type { Call } from '../../src/call.js';
import { budgetOf, callOf, draftOf } from '../support/builders.js';

const FACTS: PlanFacts = {
  price: { input: 2, output: 10 },
  isSaturated: false,
  isPaid: () => false,
  isWaited: () => false,
};

function sourceOf(budgets: readonly BudgetOptions[], source: Partial<Source> = {}): Source {
  return createSource({
    scope: 'user',
    key: 'ann',
    prefix: 'user|ann',
    budgets: budgets.map(budgetOf),
    units: 'visit',
    ...source,
  });
}

const plan = (call: Call, budgets: readonly BudgetOptions[], facts: Partial<PlanFacts> = {}, source: Partial<Source> = {}) =>
  planCharges(call, [sourceOf(budgets, source)], { ...FACTS, ...facts });

/** What is held for one budget; `undefined`: nothing. */
const held = (call: Call, budget: BudgetOptions, facts: Partial<PlanFacts> = {}, source: Partial<Source> = {}) =>
  plan(call, [budget], facts, source).charges[0]?.amount;

describe('the two figures', () => {
  it('holds the estimate with its overhead and the expected output on sliding windows', () => {
    expect(held(callOf(), { tokens: 10_000, per: 'minute' })).toBe(160);
    expect(held(callOf(), { tokens: 10_000, per: 5_000 })).toBe(160);
  });

  it('holds the declared output maximum on days and months', () => {
    expect(held(callOf(), { tokens: 10_000, per: 'day' })).toBe(510);
    expect(held(callOf(), { tokens: 10_000, per: 'month', timeZone: 'Europe/Berlin' })).toBe(510);
  });

  it('holds money at the declared output maximum, whatever the window', () => {
    const money = 110 * 2 + 400 * 10;

    expect(held(callOf(), { usd: 1, per: 'minute' })).toBe(money);
    expect(held(callOf(), { usd: 1, per: 'day' })).toBe(money);
  });

  it('assumes a maximum for money and days where none is declared, and never less than is expected', () => {
    const undeclared = callOf({ maximumOutputTokens: undefined });

    expect(held(undeclared, { tokens: 100_000, per: 'day' })).toBe(110 + UNDECLARED_OUTPUT_TOKENS);
    expect(held({ ...undeclared, expectedOutputTokens: 5_000 }, { tokens: 100_000, per: 'day' })).toBe(5_110);
    expect(held(undeclared, { tokens: 100_000, per: 'minute' })).toBe(160);
  });

  it('splits input and output for budgets that count only one of them', () => {
    expect(held(callOf(), { inputTokens: 10_000, per: 'minute' })).toBe(110);
    expect(held(callOf(), { outputTokens: 10_000, per: 'minute' })).toBe(50);
    expect(held(callOf(), { outputTokens: 10_000, per: 'day' })).toBe(400);
  });

  it('holds no money where no price is known', () => {
    expect(held(callOf(), { usd: 1, per: 'day' }, { price: undefined })).toBe(0);
  });
});

describe('what is larger than its limit', () => {
  it('is clamped on a sliding window when only overhead and output make it so', () => {
    const { charges, never } = plan(callOf(), [{ tokens: 105, per: 'minute' }]);

    expect(never).toEqual([]);
    expect(charges).toMatchObject([{ amount: 105, refuseAt: 105 }]);
  });

  it('is clamped on a sliding output budget whatever was declared', () => {
    expect(plan(callOf({ expectedOutputTokens: 300 }), [{ outputTokens: 20, per: 'minute' }])).toMatchObject({
      never: [],
      charges: [{ amount: 20 }],
    });
  });

  it('never fits when the input alone is over the limit', () => {
    const { never } = plan(callOf(), [
      { tokens: 99, per: 'minute' },
      { tokens: 100, per: 'hour' },
    ]);

    expect(never).toMatchObject([{ charge: { limit: 99 }, waitMs: Infinity }]);
  });

  it('never fits when input and declared output are over a day', () => {
    expect(plan(callOf(), [{ tokens: 499, per: 'day' }]).never).toHaveLength(1);
    expect(plan(callOf(), [{ tokens: 500, per: 'day' }]).never).toEqual([]);
    expect(plan(callOf(), [{ outputTokens: 399, per: 'month' }]).never).toHaveLength(1);
  });

  it('never fits when input and declared output cost more than a money limit', () => {
    expect(plan(callOf(), [{ usd: 0.004_199, per: 'minute' }]).never).toHaveLength(1);
    expect(plan(callOf(), [{ usd: 0.004_2, per: 'minute' }]).never).toEqual([]);
  });

  it('is clamped on a day when the output was only assumed', () => {
    const { charges, never } = plan(callOf({ maximumOutputTokens: undefined }), [{ tokens: 1_000, per: 'day' }]);

    expect(never).toEqual([]);
    expect(charges).toMatchObject([{ amount: 1_000 }]);
  });

  it('names every budget into which the call never fits', () => {
    const { never } = plan(callOf(), [
      { tokens: 10, per: 'minute' },
      { requests: 0, per: 'minute' },
      { tokens: 100_000, per: 'day' },
    ]);

    expect(never.map(({ charge }) => charge.dimension)).toEqual(['tokens', 'requests']);
  });
});

describe('caps on one call', () => {
  const capped = (call: Call, ...budgets: BudgetOptions[]) => plan(call, budgets);

  it('lower the output maximum to what they leave, and need no counter', () => {
    const { call, charges, never } = capped(callOf({ expectedOutputTokens: 300 }), { tokens: 350, per: 'call' });

    expect(call).toMatchObject({ maximumOutputTokens: 250, expectedOutputTokens: 250 });
    expect(charges).toEqual([]);
    expect(never).toEqual([]);
  });

  it('give a maximum to a call that declared none, which days and money then count on', () => {
    const { call, charges } = capped(
      callOf({ maximumOutputTokens: undefined }),
      { outputTokens: 200, per: 'call' },
      { tokens: 100_000, per: 'day' },
    );

    expect(call.maximumOutputTokens).toBe(200);
    expect(charges).toMatchObject([{ amount: 310 }]);
  });

  it('leave a call alone that is below them', () => {
    const call = callOf();

    expect(capped(call, { outputTokens: 400, per: 'call' }, { tokens: 500, per: 'call' }).call).toBe(call);
  });

  it('take the smallest of several', () => {
    expect(capped(callOf(), { outputTokens: 300, per: 'call' }, { tokens: 200, per: 'call' }).call.maximumOutputTokens).toBe(100);
  });

  it('cap money by what is left for output after the input is paid', () => {
    expect(capped(callOf(), { usd: 0.001_2, per: 'call' }).call.maximumOutputTokens).toBe(100);
    expect(capped(callOf(), { usd: 0.001_209, per: 'call' }).call.maximumOutputTokens).toBe(100);
  });

  it('let a free output be as long as it likes once the input is paid', () => {
    const price = { input: 2, output: 0 };
    const call = callOf();

    expect(plan(call, [{ usd: 0.000_2, per: 'call' }], { price }).call).toBe(call);
    expect(plan(call, [{ usd: 0.000_199, per: 'call' }], { price }).never).toHaveLength(1);
  });

  it.each<[string, BudgetOptions]>([
    ['tokens', { tokens: 99, per: 'call' }],
    ['tokens, with no room for any output', { tokens: 100, per: 'call' }],
    ['input tokens', { inputTokens: 99, per: 'call' }],
    ['output tokens', { outputTokens: 0, per: 'call' }],
    ['money', { usd: 0.000_2, per: 'call' }],
  ])('refuse a call for ever that is over them: %s', (_, budget) => {
    const { never } = capped(callOf(), budget);

    expect(never).toMatchObject([{ waitMs: Infinity, charge: { scope: 'user', refuseAt: budgetOf(budget).limit } }]);
  });

  it('leave one token for each choice, or refuse', () => {
    const three = callOf({ draft: draftOf({ choices: 3 }) });

    expect(capped(three, { outputTokens: 3, per: 'call' }).call.maximumOutputTokens).toBe(3);
    expect(capped(three, { outputTokens: 2, per: 'call' }).never).toHaveLength(1);
  });

  describe('on a call that generates nothing', () => {
    const embedding = callOf({ expectedOutputTokens: 0, maximumOutputTokens: 0 });

    it.each<BudgetOptions>([
      { tokens: 100, per: 'call' },
      { inputTokens: 100, per: 'call' },
      { outputTokens: 0, per: 'call' },
      { usd: 0.000_2, per: 'call' },
    ])('let one through that fills them to the last: %j', (budget) => {
      const { call, never } = capped(embedding, budget);

      expect(never).toEqual([]);
      expect(call).toBe(embedding);
    });

    it.each<BudgetOptions>([
      { tokens: 99, per: 'call' },
      { inputTokens: 99, per: 'call' },
      { usd: 0.000_199, per: 'call' },
    ])('refuse one for ever whose input is over them: %j', (budget) => {
      expect(capped(embedding, budget).never).toMatchObject([{ waitMs: Infinity }]);
    });
  });

  it('say nothing where they are not enforced', () => {
    const call = callOf();
    const cap = { tokens: 10, per: 'call' } as const;

    expect(plan(call, [{ ...cap, enforce: 'never' }])).toEqual({ call, charges: [], never: [] });
    expect(plan(call, [{ ...cap, enforce: 'when-saturated' }]).never).toEqual([]);
    expect(plan(call, [{ ...cap, enforce: 'when-saturated' }], { isSaturated: true }).never).toHaveLength(1);
    expect(plan(call, [{ ...cap, models: ['gpt-4o-mini'] }]).never).toEqual([]);
  });
});

describe('several calls per request', () => {
  const three = callOf({ callsPerRequest: 3 });

  it('multiply tokens, money and the requests of the model', () => {
    expect(held(three, { tokens: 10_000, per: 'minute' })).toBe(480);
    expect(held(three, { usd: 1, per: 'day' })).toBe(3 * (220 + 4_000));
    expect(held(three, { requests: 100, per: 'minute' }, {}, { scope: 'model', units: 'call' })).toBe(3);
  });

  it('leave the visit one request, and concurrency one', () => {
    expect(held(three, { requests: 100, per: 'minute' })).toBe(1);
    expect(held(three, { concurrent: 5 })).toBe(1);
    expect(held(three, { concurrent: 5 }, {}, { scope: 'model', units: 'call' })).toBe(1);
  });

  it('are clamped to the limit, for one alone would fit', () => {
    expect(plan(three, [{ tokens: 300, per: 'minute' }])).toMatchObject({ never: [], charges: [{ amount: 300 }] });
    expect(plan(three, [{ tokens: 600, per: 'day' }])).toMatchObject({ never: [], charges: [{ amount: 600 }] });
  });
});

describe('which budgets count a call', () => {
  it('leaves out those of other models', () => {
    const forMini = { tokens: 1_000, per: 'minute', models: ['gpt-4o-mini'] } as const;

    expect(held(callOf(), forMini)).toBeUndefined();
    expect(held(callOf({ model: 'gpt-4o-mini' }), forMini)).toBe(160);
    expect(held(callOf({ model: undefined }), forMini)).toBeUndefined();
  });

  it('leaves out unlimited ones', () => {
    expect(held(callOf(), { tokens: Infinity, per: 'minute' })).toBeUndefined();
    expect(held(callOf(), { usd: Infinity, per: 'call' })).toBeUndefined();
  });

  it('counts only the units of a request whose call nobody could read', () => {
    const unread = callOf({ draft: undefined, model: undefined, requestedModel: undefined, dialect: undefined });
    const budgets: BudgetOptions[] = [{ tokens: 1_000, per: 'minute' }, { requests: 5, per: 'minute' }, { concurrent: 1 }];

    expect(plan(unread, budgets).charges.map(({ dimension }) => dimension)).toEqual(['requests', 'concurrent']);
    expect(plan(unread, budgets, {}, { units: 'call' }).charges).toEqual([]);
  });

  it('counts the units of a visit only where nobody paid them yet, and those of calls always', () => {
    const isPaid = (counter: string) => counter === 'user|ann|requests;60000';
    const budgets: BudgetOptions[] = [{ requests: 5, per: 'minute' }, { requests: 50, per: 'day' }, { concurrent: 1 }];

    expect(plan(callOf(), budgets, { isPaid }).charges.map(({ counter }) => counter)).toEqual([
      'user|ann|requests;day@UTC',
      'user|ann|concurrent;running',
    ]);
    expect(plan(callOf(), budgets, { isPaid: () => true }).charges).toEqual([]);
    expect(plan(callOf(), budgets, { isPaid: () => true }, { units: 'call' }).charges).toHaveLength(3);
  });
});

describe('what is not always enforced', () => {
  const shadow = { tokens: 10, per: 'minute', enforce: 'never' } as const;
  const soft = { tokens: 10, per: 'minute', enforce: 'when-saturated' } as const;

  it('is counted in full and never refuses', () => {
    expect(plan(callOf(), [shadow])).toMatchObject({ never: [], charges: [{ amount: 160, limit: 10, refuseAt: Infinity }] });
    expect(plan(callOf(), [soft])).toMatchObject({ never: [], charges: [{ amount: 160, limit: 10, refuseAt: Infinity }] });
  });

  it('refuses while saturated when it is soft', () => {
    expect(plan(callOf(), [soft], { isSaturated: true }).never).toHaveLength(1);
    expect(plan(callOf(), [{ ...soft, tokens: 200 }], { isSaturated: true }).charges).toMatchObject([{ refuseAt: 200 }]);
    expect(plan(callOf(), [shadow], { isSaturated: true }).never).toEqual([]);
  });
});

it('paces the counters that somebody waits for, and no others', () => {
  const isWaited = (counter: string) => counter === 'user|ann|tokens;60000';
  const { charges } = plan(
    callOf(),
    [
      { tokens: 1_000, per: 'minute' },
      { tokens: 1_000, per: 'hour' },
    ],
    { isWaited },
  );

  expect(charges.map(({ paced }) => paced)).toEqual([true, false]);
});

it('holds whole amounts that fit their limits, or says that the call never fits', () => {
  const tokens = fc.integer({ min: 0, max: 2_000 });
  const dimension = fc.constantFrom('tokens', 'inputTokens', 'outputTokens', 'usd', 'requests');
  const per = fc.constantFrom('second', 'minute', 'day', 'call');
  const budgets = fc.array(
    fc.record({ dimension, per, limit: fc.integer({ min: 1, max: 3_000 }), share: fc.constantFrom('always', 'never') }),
    { maxLength: 6 },
  );
  const call = fc.record({
    inputTokens: tokens,
    overhead: tokens,
    expectedOutputTokens: tokens,
    maximumOutputTokens: fc.option(tokens, { nil: undefined }),
    callsPerRequest: fc.integer({ min: 1, max: 4 }),
  });

  fc.assert(
    fc.property(call, budgets, ({ overhead, ...given }, list) => {
      const options = list
        .filter((budget) => !(budget.dimension === 'requests' && budget.per === 'call'))
        .map((budget, index): BudgetOptions => {
          const limit = budget.dimension === 'usd' ? budget.limit / 1_000_000 : budget.limit;
          return { [budget.dimension]: limit, per: budget.per, name: `b${index}`, enforce: budget.share } as never;
        });
      const planned = plan(callOf({ ...given, heldInputTokens: given.inputTokens + overhead }), options);

      for (const { amount } of planned.charges) expect(Number.isSafeInteger(amount) && amount >= 0).toBe(true);
      const impossible = new Set(planned.never.map(({ charge }) => charge.counter));
      for (const { amount, refuseAt } of planned.charges) expect(amount).toBeLessThanOrEqual(refuseAt);
      // Whatever has room for the input and the declared output has room for the call.
      const { inputTokens, maximumOutputTokens = 0 } = given;
      const hasNoCap = options.every((option) => !('per' in option && option.per === 'call'));
      for (const { counter, limit, dimension: what, window } of planned.charges) {
        const isWorst = window.kind === 'calendar';
        const least = inputTokens + (isWorst ? maximumOutputTokens : 0);
        if (hasNoCap && what === 'tokens') expect(impossible.has(counter)).toBe(least > limit && !isShadow(planned, counter));
      }
    }),
    { numRuns: 300 },
  );
});

function isShadow({ charges }: ReturnType<typeof planCharges>, counter: string): boolean {
  return charges.some((charge) => charge.counter === counter && charge.budget.enforce === 'never');
}
