import { beforeEach, describe, expect, it } from 'vitest';
import { createLedger, type Ledger } from '../../src/observe/ledger.js';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.js';

const HOUR_MS = 3_600_000;
let clock: VirtualClock;
let ledger: Ledger;

beforeEach(() => {
  clock = createVirtualClock();
  ledger = createLedger(clock);
});

const use = (user: string, inputTokens: number, outputTokens = 0, microUsd = 0) =>
  ledger.add({ user }, 'gpt-4o', { inputTokens, outputTokens }, microUsd);
const keys = (top?: number, since?: number) =>
  ledger
    .usage({ scope: 'user', ...(top === undefined ? {} : { top }), ...(since === undefined ? {} : { since }) })
    .map(({ key }) => key);

describe('the ledger', () => {
  it('sums what each key used, in each of its scopes, for its model and for everybody', () => {
    const usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 40 };
    ledger.add({ user: 'ann', organization: 'acme' }, 'gpt-4o', usage, 450);
    ledger.add({ user: 'bob', organization: 'acme' }, 'gpt-4o-mini', usage, 50);
    const each = { calls: 1, inputTokens: 100, outputTokens: 20, cachedInputTokens: 40, answers: 0 };
    const both = { calls: 2, inputTokens: 200, outputTokens: 40, cachedInputTokens: 80, answers: 0, usd: 0.0005 };

    expect(ledger.usage({ scope: 'user' })).toEqual([
      { key: 'ann', ...each, usd: 0.00045 },
      { key: 'bob', ...each, usd: 0.00005 },
    ]);
    expect(ledger.usage({ scope: 'organization' })).toEqual([{ key: 'acme', ...both }]);
    expect(ledger.usage({ scope: 'global' })).toEqual([{ key: 'global', ...both }]);
    expect(ledger.usage({ scope: 'model' }).map(({ key }) => key)).toEqual(['gpt-4o', 'gpt-4o-mini']);
  });

  it('counts what was not reported as nothing', () => {
    ledger.add({ user: 'ann' }, undefined, { inputTokens: undefined, outputTokens: undefined }, 0);

    expect(ledger.usage({ scope: 'user' })).toMatchObject([{ calls: 1, inputTokens: 0, outputTokens: 0 }]);
    expect(ledger.usage({ scope: 'model' })).toEqual([]);
  });

  it('counts answers that no model gave apart from calls', () => {
    ledger.addAnswer({ user: 'ann' }, 'cached');

    expect(ledger.usage({ scope: 'user' })).toMatchObject([{ key: 'ann', calls: 0, inputTokens: 0, answers: 1 }]);
    expect(ledger.usage({ scope: 'model' })).toEqual([]);
  });

  it('knows nothing of a scope that was never named', () => {
    expect(ledger.usage({ scope: 'team' })).toEqual([]);
  });
});

describe('the top', () => {
  it('is the largest by tokens, both ways together, ten unless told otherwise', () => {
    for (let i = 0; i < 12; i++) use(`u${i}`, 100 - i, 2 * i);

    expect(keys()).toEqual(['u11', 'u10', 'u9', 'u8', 'u7', 'u6', 'u5', 'u4', 'u3', 'u2']);
    expect(keys(2)).toEqual(['u11', 'u10']);
    expect(keys(0)).toEqual([]);
    expect(keys(-1)).toEqual([]);
  });

  it('counts the hours since a time, the hour it lies in included', async () => {
    use('early', 10);
    await clock.advance(HOUR_MS);
    use('late', 5);
    const now = clock.now();

    expect(keys(10, now)).toEqual(['late']);
    expect(keys(10, now - 1)).toEqual(['early', 'late']);
    expect(keys(10, now + HOUR_MS - 1)).toEqual(['late']);
  });
});

describe('the bounds', () => {
  it('forget an hour once a day has passed, though nothing is added any more', async () => {
    use('ann', 10);

    await clock.advance(24 * HOUR_MS - 1);
    expect(keys()).toEqual(['ann']);
    await clock.advance(1);

    expect(keys()).toEqual([]);
  });

  it('count further keys of an hour together, without losing any of their tokens', () => {
    for (let i = 0; i < 10_050; i++) use(`u${i}`, 1);
    use('u0', 7);
    const rows = ledger.usage({ scope: 'user', top: 20_000 });

    expect(rows).toHaveLength(10_001);
    expect(rows[0]).toMatchObject({ key: '(others)', inputTokens: 50 });
    expect(rows[1]).toMatchObject({ key: 'u0', inputTokens: 8 });
    expect(rows.reduce((sum, { inputTokens }) => sum + inputTokens, 0)).toBe(10_057);
  });
});

it('gives copies, which later usage does not change', () => {
  use('ann', 10);
  const before = ledger.usage({ scope: 'user' });

  use('ann', 5);

  expect(before).toMatchObject([{ inputTokens: 10 }]);
});
