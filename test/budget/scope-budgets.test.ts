import { describe, expect, it, vi } from 'vitest';
import type { Budget, BudgetOptions } from '../../src/budget/budget.js';
import { createBudgetsOf } from '../../src/budget/scope-budgets.js';
import { OptionsError } from '../../src/errors.js';
import { createVirtualClock, settled } from '../support/virtual-clock.js';

type Given = (key: string) => unknown;

const TTL_MS = 5_000;
const list = (tokens: number): readonly BudgetOptions[] => [{ tokens, per: 'minute' }];

function create(given: Given, ttlMs = TTL_MS) {
  const clock = createVirtualClock();
  const budgetsFor = vi.fn(given);
  const setting = { models: new Map(), defaultPrice: undefined, unknownModel: 'count', ttlMs, clock } as const;
  return { clock, budgetsFor, budgetsOf: createBudgetsOf(budgetsFor as never, 'user', setting) };
}

const limitOf = (budgets: readonly Budget[]) => budgets[0]?.limit;

describe('budgets from a function of the key', () => {
  it('gives what a synchronous function returns at once, asking it anew for every call', () => {
    let tokens = 1;
    const { budgetsOf, budgetsFor } = create(() => list(tokens));

    expect(budgetsOf('a')).toMatchObject([{ limit: 1 }]);
    tokens = 2;
    expect(budgetsOf('a')).toMatchObject([{ limit: 2 }]);
    expect(budgetsFor.mock.calls).toEqual([['a'], ['a']]);
  });

  it('checks a list once, however many keys it is returned for', () => {
    const plan = list(7);
    const { budgetsOf } = create(() => plan);

    expect(budgetsOf('a')).toBe(budgetsOf('b'));
  });

  it('passes on what the function throws', () => {
    const failure = new Error('no such plan');
    const { budgetsOf } = create(() => {
      throw failure;
    });

    expect(() => budgetsOf('a')).toThrow(failure);
  });

  it('asks once for concurrent callers of one key, and once for each key', async () => {
    const { budgetsOf, budgetsFor } = create(async (key) => list(key.length));

    const found = await Promise.all([budgetsOf('a'), budgetsOf('a'), budgetsOf('bb')]);

    expect(found.map(limitOf)).toEqual([1, 1, 2]);
    expect(budgetsFor.mock.calls).toEqual([['a'], ['bb']]);
  });

  it('takes any thenable as a promise', async () => {
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested
    const { budgetsOf } = create(() => ({ then: (done: (value: unknown) => void) => done(list(3)) }));

    expect(limitOf(await budgetsOf('a'))).toBe(3);
  });

  it('keeps the result of a promise for the time to live from when it came, without a timer', async () => {
    const { clock, budgetsOf, budgetsFor } = create(async () => list(1));

    const first = await budgetsOf('a');
    await clock.advance(TTL_MS - 1);
    expect(budgetsOf('a')).toBe(first);
    expect(clock.timers).toBe(0);
    await clock.advance(1);
    await budgetsOf('a');

    expect(budgetsFor).toHaveBeenCalledTimes(2);
  });

  it('shares a promise under way even with no time to live', async () => {
    const { budgetsOf, budgetsFor } = create(async () => list(1), 0);

    await Promise.all([budgetsOf('a'), budgetsOf('a')]);
    expect(budgetsFor).toHaveBeenCalledTimes(1);
    await budgetsOf('a');

    expect(budgetsFor).toHaveBeenCalledTimes(2);
  });

  it('does not keep a result longer when the clock is set back', async () => {
    const { clock, budgetsOf, budgetsFor } = create(async () => list(1));

    await budgetsOf('a');
    clock.set(clock.now() - 3_600_000);
    await budgetsOf('a');

    expect(budgetsFor).toHaveBeenCalledTimes(2);
  });

  it('passes a rejection on to all who share it, and asks again afterwards', async () => {
    const failure = new Error('database gone');
    let isDown = true;
    const { budgetsOf } = create(async () => {
      if (isDown) throw failure;
      return list(4);
    });

    const both = await Promise.allSettled([budgetsOf('a'), budgetsOf('a')]);
    isDown = false;

    expect(both).toEqual([
      { status: 'rejected', reason: failure },
      { status: 'rejected', reason: failure },
    ]);
    expect(limitOf(await budgetsOf('a'))).toBe(4);
  });

  it('forgets the oldest of more than ten thousand keys, and only that one', async () => {
    const { budgetsOf, budgetsFor } = create(async () => list(1));

    for (let key = 0; key <= 10_000; key++) void budgetsOf(`key-${key}`);
    await settled();
    budgetsFor.mockClear();
    await budgetsOf('key-10000');
    await budgetsOf('key-1');
    expect(budgetsFor).not.toHaveBeenCalled();
    await budgetsOf('key-0');

    expect(budgetsFor.mock.calls).toEqual([['key-0']]);
  });

  it.each<[string, unknown, readonly string[]]>([
    [
      'no list',
      undefined,
      [
        'scopes.user.budgets(key) must be a list, got undefined; give budgets like [{ tokens: 10_000, per: "minute" }], or [] for none',
      ],
    ],
    [
      'bad budgets',
      [
        { tokens: 'secret-key', per: 'minute' },
        { requests: 1, per: 'minute', 'secret-key': 1 },
      ],
      [
        'scopes.user.budgets(key)[0].tokens must be a positive integer, got a string; give a number like 10_000',
        'scopes.user.budgets(key)[1] has an unknown option; known are tokens, inputTokens, outputTokens, requests, usd, concurrent, per, timeZone, name, models, enforce and onStoreError',
      ],
    ],
    [
      'an unknown model',
      [{ tokens: 1, per: 'minute', models: ['secret-key'] }],
      ['scopes.user.budgets(key)[0].models[0] must be one of models, got a string; there are no models'],
    ],
    [
      'money that meets models without a price',
      [{ usd: 5, per: 'day' }],
      [
        'scopes.user.budgets(key)[0].usd can meet models that are not in models, which have no price; give defaultPrice, or unknownModel: "refuse"',
      ],
    ],
  ])('refuses %s with a code of its own, saying which scope and never which key', async (_, given, faults) => {
    const sync = create(() => given);
    const promised = create(async () => given);

    let thrown: unknown;
    try {
      sync.budgetsOf('secret-key');
    } catch (error) {
      thrown = error;
    }
    const rejected = await Promise.resolve(promised.budgetsOf('secret-key')).catch((error: unknown) => error);

    for (const error of [thrown, rejected]) {
      expect(error).toBeInstanceOf(OptionsError);
      expect(error).toMatchObject({ code: 'SPILLWAY_BAD_BUDGET', faults, status: 500 });
      expect(String(error)).not.toContain('secret-key');
    }
  });

  it('takes an empty list as no budgets', () => {
    expect(create(() => []).budgetsOf('a')).toEqual([]);
  });
});
