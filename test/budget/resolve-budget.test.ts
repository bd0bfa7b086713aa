import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Budget } from '../../src/budget/budget.js';
import { type BudgetSetting, resolveBudgets } from '../../src/budget/resolve-budget.js';
import { OptionsError } from '../../src/errors.js';
import { createCheck } from '../../src/options-check.js';

const price = { input: 1, output: 2 };
const models = new Map([
  ['big', { price }],
  ['small', { price: undefined }],
]);
const setting: BudgetSetting = { models, defaultPrice: undefined, unknownModel: 'refuse' };

function resolve(given: unknown, how: Partial<BudgetSetting> = {}): readonly Budget[] {
  const check = createCheck();
  const budgets = resolveBudgets(check, 'budgets', given, { ...setting, ...how });
  check.throwFaults();
  return budgets;
}

function faultsOf(given: unknown, how: Partial<BudgetSetting> = {}): readonly string[] {
  try {
    resolve([given], how);
  } catch (error) {
    if (error instanceof OptionsError) return error.faults;
    throw error;
  }
  return [];
}

describe('resolveBudgets', () => {
  it.each<[object, object]>([
    [
      { tokens: 5, per: 'second' },
      { dimension: 'tokens', limit: 5, window: { kind: 'sliding', ms: 1_000 }, suffix: 'tokens;1000' },
    ],
    [
      { inputTokens: 5, per: 'minute' },
      { dimension: 'inputTokens', window: { kind: 'sliding', ms: 60_000 } },
    ],
    [
      { outputTokens: 5, per: 'hour' },
      { dimension: 'outputTokens', window: { kind: 'sliding', ms: 3_600_000 } },
    ],
    [
      { requests: 0, per: 1_500 },
      { dimension: 'requests', limit: 0, window: { kind: 'sliding', ms: 1_500 }, suffix: 'requests;1500' },
    ],
    [
      { requests: Infinity, per: 31_622_400_000 },
      { limit: Infinity, window: { kind: 'sliding', ms: 31_622_400_000 } },
    ],
    [
      { tokens: 5, per: 'day' },
      { window: { kind: 'calendar', unit: 'day', timeZone: 'UTC' }, suffix: 'tokens;day@UTC' },
    ],
    [
      { tokens: 5, per: 'month', timeZone: 'Europe/Berlin' },
      { window: { kind: 'calendar', unit: 'month', timeZone: 'Europe/Berlin' }, suffix: 'tokens;month@Europe/Berlin' },
    ],
    [
      { tokens: 5, per: 'call' },
      { limit: 5, window: undefined, suffix: 'tokens;call' },
    ],
    [{ concurrent: 3 }, { dimension: 'concurrent', limit: 3, window: { kind: 'concurrent' }, suffix: 'concurrent;running' }],
    [
      { usd: 0.29, per: 'day', models: ['big'] },
      { dimension: 'usd', limit: 290_000 },
    ],
    [
      { usd: 0.000001, per: 'call', models: ['big'] },
      { limit: 1, window: undefined },
    ],
    [{ usd: Infinity, per: 'day', models: ['big'] }, { limit: Infinity }],
  ])('resolves %j', (given, budget) => {
    expect(resolve([given])).toMatchObject([budget]);
  });

  it('refuses when full and keeps to its share without a store, unless told otherwise', () => {
    const [tokens, usd, own] = resolve([
      { tokens: 1, per: 'day' },
      { usd: 1, per: 'day', models: ['big'] },
      { usd: 1, per: 'month', models: ['big'], enforce: 'when-saturated' },
    ]);

    expect(tokens).toMatchObject({ enforce: 'always', name: undefined, models: undefined });
    expect(usd).toMatchObject({ enforce: 'always' });
    expect(own).toMatchObject({ enforce: 'when-saturated' });
  });

  it('gives -0 as 0, and a frozen result', () => {
    const budgets = resolve([{ tokens: -0, per: 'day' }]);

    expect(Object.is(budgets[0]?.limit, 0)).toBe(true);
    expect([budgets, budgets[0], budgets[0]?.window].map((part) => Object.isFrozen(part))).toEqual([true, true, true]);
  });

  const PER = '"second", "minute", "hour", "day", "month", "call" or whole milliseconds from 1_000 to 31_622_400_000';
  const limitMend = 'give a number like 10_000, 0 to block every call or Infinity for no limit';
  const usdMend = 'give one like 50 or 0.25, or Infinity for no limit';
  const all = 'tokens, inputTokens, outputTokens, requests, usd or concurrent';
  it.each<[unknown, string]>([
    [null, 'budgets[0] must be an object, got null; give one like { tokens: 10_000, per: "minute" }'],
    ['10k', 'budgets[0] must be an object, got "10k"; give one like { tokens: 10_000, per: "minute" }'],
    [{}, `budgets[0] needs one of ${all}; give one like { tokens: 10_000, per: "minute" }`],
    [{ tokens: undefined, per: 'day' }, `budgets[0] needs one of ${all}; give one like { tokens: 10_000, per: "minute" }`],
    [{ tokens: 1, requests: 1, per: 'day' }, 'budgets[0] has tokens and requests; give each a budget of its own'],
    [{ tokens: '10k', per: 'minute' }, 'budgets[0].tokens must be a positive integer, got "10k"; give a number like 10_000'],
    [{ tokens: null, per: 'minute' }, 'budgets[0].tokens must be a positive integer, got null; give a number like 10_000'],
    [{ tokens: -1, per: 'minute' }, `budgets[0].tokens must be a positive integer, got -1; ${limitMend}`],
    [{ requests: 1.5, per: 'minute' }, `budgets[0].requests must be a positive integer, got 1.5; ${limitMend}`],
    [{ concurrent: Number.NaN }, `budgets[0].concurrent must be a positive integer, got NaN; ${limitMend}`],
    [{ tokens: 2 ** 53, per: 'day' }, `budgets[0].tokens must be a positive integer, got 9007199254740992; ${limitMend}`],
    [{ usd: 0, per: 'day', models: ['big'] }, `budgets[0].usd must be a positive number of dollars, got 0; ${usdMend}`],
    [{ usd: '5', per: 'day', models: ['big'] }, `budgets[0].usd must be a positive number of dollars, got "5"; ${usdMend}`],
    [{ usd: 1e-7, per: 'day', models: ['big'] }, `budgets[0].usd must be a positive number of dollars, got 1e-7; ${usdMend}`],
    [
      { usd: 1e11, per: 'day', models: ['big'] },
      `budgets[0].usd must be a positive number of dollars, got 100000000000; ${usdMend}`,
    ],
    [
      { usd: Number.NaN, per: 'day', models: ['big'] },
      `budgets[0].usd must be a positive number of dollars, got NaN; ${usdMend}`,
    ],
    [{ tokens: 1 }, `budgets[0].per must be ${PER}, got undefined; give one of them, like per: "minute"`],
    [{ tokens: 1, per: 'week' }, `budgets[0].per must be ${PER}, got "week"; give one of them, like per: "minute"`],
    [{ tokens: 1, per: 999 }, `budgets[0].per must be ${PER}, got 999; give one of them, like per: "minute"`],
    [{ tokens: 1, per: 1_000.5 }, `budgets[0].per must be ${PER}, got 1000.5; give one of them, like per: "minute"`],
    [{ tokens: 1, per: Number.NaN }, `budgets[0].per must be ${PER}, got NaN; give one of them, like per: "minute"`],
    [{ tokens: 1, per: Infinity }, `budgets[0].per must be ${PER}, got Infinity; give one of them, like per: "minute"`],
    [{ tokens: 1, per: 31_622_400_001 }, `budgets[0].per must be ${PER}, got 31622400001; give one of them, like per: "minute"`],
    [{ tokens: 1, per: '60000' }, `budgets[0].per must be ${PER}, got "60000"; give one of them, like per: "minute"`],
    [
      { concurrent: 1, per: 'minute' },
      'budgets[0].per does not go with concurrent, which counts what is running now; take it off',
    ],
    [
      { requests: 1, per: 'call' },
      'budgets[0].per must not be "call" with requests, a call is always one; give a window like per: "minute"',
    ],
    [
      { tokens: 1, per: 'minute', timeZone: 'UTC' },
      'budgets[0].timeZone goes with per: "day" and per: "month" only; take it off',
    ],
    [{ concurrent: 1, timeZone: 'UTC' }, 'budgets[0].timeZone goes with per: "day" and per: "month" only; take it off'],
    [
      { tokens: 1, per: 'day', timeZone: 'Mars/Base' },
      'budgets[0].timeZone must be the IANA name of a time zone, got "Mars/Base"; give one like "Europe/Berlin"',
    ],
    [
      { tokens: 1, per: 'day', timeZone: 1 },
      'budgets[0].timeZone must be the IANA name of a time zone, got 1; give one like "Europe/Berlin"',
    ],
    [{ tokens: 1, per: 'day', name: '' }, 'budgets[0].name must be a string of 1 to 128 characters, got ""; give a short name'],
    [
      { tokens: 1, per: 'day', enforce: true },
      'budgets[0].enforce must be "always", "when-saturated" or "never", got true; leave it out for "always"',
    ],
    [{ tokens: 1, per: 'day', models: 'big' }, 'budgets[0].models must be a list, got "big"; give names out of models'],
    [{ tokens: 1, per: 'day', models: [] }, 'budgets[0].models must not be empty; leave it out for every model'],
    [
      { tokens: 1, per: 'day', models: ['smal'] },
      'budgets[0].models[0] must be one of models, got "smal"; did you mean "small"?',
    ],
    [{ tokens: 1, per: 'day', models: [5] }, 'budgets[0].models[0] must be one of models, got 5; known are "big" and "small"'],
    [{ tokens: 1, per: 'day', models: ['big', 'big'] }, 'budgets[0].models[1] repeats "big"; name it once'],
  ])('refuses %j', (given, fault) => {
    expect(faultsOf(given)).toEqual([fault]);
  });

  it('tells every fault of one budget', () => {
    expect(faultsOf({ token: 1, per: 'minute', name: 5 })).toEqual([
      'budgets[0].token is not an option; did you mean tokens?',
      `budgets[0] needs one of ${all}; give one like { tokens: 10_000, per: "minute" }`,
      'budgets[0].name must be a string of 1 to 128 characters, got 5; give a short name',
    ]);
  });

  describe('with money', () => {
    const unpriced = 'budgets[0].usd can meet models without a price ("small"); give models.small.usdPerMillion, or defaultPrice';
    const unknown =
      'budgets[0].usd can meet models that are not in models, which have no price; give defaultPrice, or unknownModel: "refuse"';
    it.each<[string, object, Partial<BudgetSetting>, readonly string[]]>([
      ['a configured model has no price', {}, {}, [unpriced]],
      ['unknown models are counted', {}, { unknownModel: 'count' }, [unpriced, unknown]],
      ['only priced models are counted', { models: ['big'] }, { unknownModel: 'count' }, []],
      ['an unpriced model is among those counted', { models: ['big', 'small'] }, {}, [unpriced]],
      ['there is a default price', {}, { unknownModel: 'count', defaultPrice: price }, []],
      ['it belongs to a priced model', {}, { unknownModel: 'count', model: { name: 'big', headroomRatio: 0 } }, []],
      ['it belongs to an unpriced model', {}, { model: { name: 'small', headroomRatio: 0 } }, [unpriced]],
      ['it only counts', { enforce: 'never' }, {}, [unpriced]],
    ])('asks for prices when %s', (_, more, how, faults) => {
      expect(faultsOf({ usd: 5, per: 'day', ...more }, how)).toEqual(faults);
    });
  });

  describe('with headroom', () => {
    const withHeadroom = { defaultPrice: price, model: { name: 'big', headroomRatio: 0.1 } };

    it.each<[object, number]>([
      [{ tokens: 100_000, per: 'minute' }, 90_000],
      [{ requests: 15, per: 'minute' }, 13],
      [{ usd: 1, per: 'day' }, 900_000],
      [{ concurrent: 10 }, 10],
      [{ tokens: 10, per: 'call' }, 10],
      [{ tokens: 0, per: 'minute' }, 0],
      [{ tokens: Infinity, per: 'minute' }, Infinity],
    ])('makes the limit of %j %d', (given, limit) => {
      expect(resolve([given], withHeadroom)).toMatchObject([{ limit }]);
    });

    it('refuses a limit that headroom would turn into a block', () => {
      expect(faultsOf({ requests: 1, per: 'second' }, withHeadroom)).toEqual([
        'budgets[0].requests has nothing left under headroomRatio 0.1; give a higher limit or a lower headroomRatio',
      ]);
    });
  });

  describe('the identity of a counter', () => {
    it('does not depend on limit, spelling of the window, order of the models, or what is enforced', () => {
      const suffixes = [
        { tokens: 1, per: 'minute', models: ['big', 'small'] },
        { tokens: 2, per: 60_000, models: ['small', 'big'], enforce: 'never' },
      ].map((given) => resolve([given])[0]?.suffix);

      expect(suffixes).toEqual(['tokens;60000;m=big,small', 'tokens;60000;m=big,small']);
    });

    it('refuses two budgets that would share one in a list, and takes them with a name', () => {
      const twins = [
        { tokens: 1, per: 'minute' },
        { tokens: 2, per: 60_000 },
      ];

      expect(() => resolve(twins)).toThrow('budgets[1] counts the same as budgets[0]; give one of them a name, or take it off');
      expect(resolve([twins[0], { ...twins[1], name: 'second' }])).toHaveLength(2);
    });

    it('tells names from models and lists from names, whatever they are made of', () => {
      const names = ['a', 'b', 'a,b', 'a;n=b', ';', 'x'.repeat(70), `${'x'.repeat(70)},a`, '\ud800', '\udc00', '{', '|'];
      const known = new Map(names.map((name) => [name, { price: undefined }]));
      const part = fc.option(
        fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 }).map((list) => list.toSorted()),
        { nil: undefined },
      );
      const label = fc.option(fc.constantFrom(...names, 'day', 'm=a'), { nil: undefined });
      fc.assert(
        fc.property(part, label, part, label, (models1, name1, models2, name2) => {
          const [one, two] = [
            { tokens: 1, per: 'day', models: models1, name: name1 },
            { tokens: 1, per: 'day', models: models2, name: name2 },
          ].map((given) => resolve([given], { models: known })[0]?.suffix);

          expect(one).toMatch(/^[!-z~]{1,220}$/);
          expect(one === two).toBe(JSON.stringify([models1, name1]) === JSON.stringify([models2, name2]));
        }),
        { numRuns: 1_000 },
      );
    });
  });
});
