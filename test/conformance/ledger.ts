import { describe, expect, it } from 'vitest';
import type { Ledger } from '../../src/index.js';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.js';

/** How to make the ledger under test. */
export interface LedgerConformanceOptions {
  /** A ledger that has counted nothing yet, whose hours begin by this clock. */
  create(clock: VirtualClock): Ledger | Promise<Ledger>;
}

const HOUR_MS = 3_600_000;

/** What every ledger has to do. */
export function ledgerConformance(name: string, options: LedgerConformanceOptions): void {
  async function create() {
    const clock = createVirtualClock();
    const ledger = await options.create(clock);
    return {
      clock,
      ledger,
      use: (user: string, inputTokens: number, outputTokens = 0, microUsd = 0) =>
        ledger.add({ user }, 'gpt-4o', { inputTokens, outputTokens }, microUsd),
      keys: async (top?: number, since?: number) => {
        const query = { scope: 'user', ...(top === undefined ? {} : { top }), ...(since === undefined ? {} : { since }) };
        return (await ledger.usage(query)).map(({ key }) => key);
      },
    };
  }

  describe(name, () => {
    it('sums what each key used, in each of its scopes, for its model and for everybody', async () => {
      const { ledger } = await create();
      const usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 40 };
      ledger.add({ user: 'ann', organization: 'acme' }, 'gpt-4o', { ...usage, inputTokens: 101 }, 450);
      ledger.add({ user: 'bob', organization: 'acme' }, 'gpt-4o-mini', usage, 50);
      const each = { calls: 1, inputTokens: 100, outputTokens: 20, cachedInputTokens: 40, answers: 0 };
      const both = { calls: 2, inputTokens: 201, outputTokens: 40, cachedInputTokens: 80, answers: 0, usd: 0.0005 };

      expect(await ledger.usage({ scope: 'user' })).toEqual([
        { key: 'ann', ...each, inputTokens: 101, usd: 0.00045 },
        { key: 'bob', ...each, usd: 0.00005 },
      ]);
      expect(await ledger.usage({ scope: 'organization' })).toEqual([{ key: 'acme', ...both }]);
      expect(await ledger.usage({ scope: 'global' })).toEqual([{ key: 'global', ...both }]);
      expect((await ledger.usage({ scope: 'model' })).map(({ key }) => key)).toEqual(['gpt-4o', 'gpt-4o-mini']);
    });

    it('goes on adding after it was asked', async () => {
      const { ledger, use } = await create();
      use('ann', 10, 1, 5);
      const before = await ledger.usage({ scope: 'user' });

      use('ann', 5, 2, 7);
      use('bob', 1);

      expect(before).toMatchObject([{ inputTokens: 10 }]);
      expect(await ledger.usage({ scope: 'user' })).toMatchObject([
        { key: 'ann', calls: 2, inputTokens: 15, outputTokens: 3, usd: 0.000012 },
        { key: 'bob', calls: 1 },
      ]);
      expect(await ledger.usage({ scope: 'user' })).toHaveLength(2);
    });

    it('counts what was not reported as nothing', async () => {
      const { ledger } = await create();
      ledger.add({ user: 'ann' }, undefined, { inputTokens: undefined, outputTokens: undefined }, 0);

      expect(await ledger.usage({ scope: 'user' })).toMatchObject([{ calls: 1, inputTokens: 0, outputTokens: 0 }]);
      expect(await ledger.usage({ scope: 'model' })).toEqual([]);
    });

    it('counts answers that no model gave apart from calls', async () => {
      const { ledger } = await create();
      ledger.addAnswer({ user: 'ann' }, 'cached');

      expect(await ledger.usage({ scope: 'user' })).toMatchObject([{ key: 'ann', calls: 0, inputTokens: 0, answers: 1 }]);
      expect(await ledger.usage({ scope: 'model' })).toEqual([]);
    });

    it('knows nothing of a scope that was never named', async () => {
      const { ledger, use } = await create();
      use('ann', 1);

      expect(await ledger.usage({ scope: 'team' })).toEqual([]);
    });

    it('tells keys as they were given, whatever they are made of, and never takes one for another', async () => {
      const { use, keys } = await create();
      const odd = [
        'a|b',
        'a%7Cb',
        '{tag}',
        '#hash',
        'Ünïcode 🌊',
        '\ud800',
        '\udfff',
        'a b',
        '"',
        '\\',
        '%',
        '%25',
        'x'.repeat(65),
        `${'x'.repeat(64)}|`,
        `${'é'.repeat(40)}\n`,
        '__proto__',
        'constructor',
        '0',
        '1 2 3|',
      ];
      for (const [index, key] of odd.entries()) use(key, 1_000 - index);

      expect(await keys(50)).toEqual(odd);
    });

    it('sums exactly what no single-precision number could hold', async () => {
      const { ledger, use } = await create();
      use('ann', 2 ** 52, 3, 9_007_199_254);
      await ledger.usage({ scope: 'user' });
      use('ann', 2 ** 52 - 1, 4, 1);

      expect(await ledger.usage({ scope: 'user' })).toMatchObject([
        { inputTokens: Number.MAX_SAFE_INTEGER, outputTokens: 7, usd: 9_007.199255 },
      ]);
    });

    describe('the top', () => {
      it('is the largest by tokens, both ways together, ten unless told otherwise', async () => {
        const { use, keys } = await create();
        for (let i = 0; i < 12; i++) use(`u${i}`, 100 - i, 2 * i);

        expect(await keys()).toEqual(['u11', 'u10', 'u9', 'u8', 'u7', 'u6', 'u5', 'u4', 'u3', 'u2']);
        expect(await keys(2)).toEqual(['u11', 'u10']);
        expect(await keys(0)).toEqual([]);
        expect(await keys(-1)).toEqual([]);
      });

      it('counts the hours since a time, the hour it lies in included', async () => {
        const { clock, use, keys } = await create();
        use('early', 10);
        await clock.advance(HOUR_MS);
        use('late', 5);
        const now = clock.now();

        expect(await keys(10, now)).toEqual(['late']);
        expect(await keys(10, now - 1)).toEqual(['early', 'late']);
        expect(await keys(10, now + HOUR_MS - 1)).toEqual(['late']);
      });
    });

    describe('the bounds', () => {
      it('forget an hour once a day has passed, though nothing is added any more', async () => {
        const { clock, use, keys } = await create();
        use('ann', 10);

        await clock.advance(24 * HOUR_MS - 1);
        expect(await keys()).toEqual(['ann']);
        await clock.advance(1);

        expect(await keys()).toEqual([]);
      });

      it('count further keys of an hour together, without losing any of their tokens', async () => {
        const { ledger, use } = await create();
        for (let i = 0; i < 9_990; i++) use(`u${i}`, 1);
        await ledger.usage({ scope: 'user' });
        for (let i = 9_990; i < 10_050; i++) use(`u${i}`, 1);
        use('u0', 7);
        const rows = await ledger.usage({ scope: 'user', top: 20_000 });

        expect(rows).toHaveLength(10_001);
        expect(rows[0]).toMatchObject({ key: '(others)', inputTokens: 50 });
        expect(rows[1]).toMatchObject({ key: 'u0', inputTokens: 8 });
        expect(rows.reduce((sum, { inputTokens }) => sum + inputTokens, 0)).toBe(10_057);
      });
    });
  });
}
