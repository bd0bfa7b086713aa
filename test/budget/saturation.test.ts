import { describe, expect, it } from 'vitest';
import type { BudgetOptions } from '../../src/budget/budget.js';
import { createSaturation } from '../../src/budget/saturation.js';
import type { Charge } from '../../src/call.js';
import { budgetOf, chargeOf } from '../support/builders.js';

const NOW_MS = 1_000_000;
const MINUTE_MS = 60_000;

const shared = (options: BudgetOptions, charge: Partial<Charge> = {}) =>
  chargeOf({ scope: 'model', counter: 'model|gpt-4o', budget: budgetOf(options), ...charge });
const sourceOf = (scope: string, counter: string) => ({ scope, counters: [counter] });
const tokens = (charge: Partial<Charge> = {}) => shared({ tokens: 1_000, per: 'minute' }, charge);
const isHigh = (saturation: ReturnType<typeof createSaturation>, nowMs = NOW_MS) =>
  saturation.isHigh([sourceOf('model', 'model|gpt-4o')], nowMs);

describe('saturation', () => {
  it('is high from the ratio on', () => {
    const saturation = createSaturation(0.8);

    saturation.see([tokens()], [799], NOW_MS);
    expect(isHigh(saturation)).toBe(false);
    saturation.see([tokens()], [800], NOW_MS);
    expect(isHigh(saturation)).toBe(true);
    expect(saturation.of('model|gpt-4o')).toBe(0.8);
  });

  it('goes down again with what is seen next', () => {
    const saturation = createSaturation(0.8);

    saturation.see([tokens()], [1_000], NOW_MS);
    saturation.see([tokens()], [100], NOW_MS + 1);

    expect(isHigh(saturation)).toBe(false);
  });

  it('is forgotten when nothing was seen for longer than the window', () => {
    const saturation = createSaturation(0.8);

    saturation.see([tokens()], [1_000], NOW_MS);

    expect(isHigh(saturation, NOW_MS + MINUTE_MS)).toBe(true);
    expect(isHigh(saturation, NOW_MS + MINUTE_MS + 1)).toBe(false);
  });

  it('is forgotten after a minute for days, months and running calls', () => {
    const saturation = createSaturation(0.8);

    saturation.see([shared({ concurrent: 4 })], [4], NOW_MS);

    expect(isHigh(saturation, NOW_MS + MINUTE_MS)).toBe(true);
    expect(isHigh(saturation, NOW_MS + MINUTE_MS + 1)).toBe(false);
  });

  it('asks only about the counters of the call', () => {
    const saturation = createSaturation(0.8);

    saturation.see([tokens()], [1_000], NOW_MS);

    expect(saturation.isHigh([sourceOf('model', 'model|gpt-4o-mini'), sourceOf('global', 'global|global')], NOW_MS)).toBe(false);
    expect(saturation.isHigh([sourceOf('global', 'global|global'), sourceOf('model', 'model|gpt-4o')], NOW_MS)).toBe(true);
  });

  it('takes global budgets for shared, and those of any other scope not', () => {
    const saturation = createSaturation(0.8);

    saturation.see(
      [tokens({ scope: 'user', counter: 'user|ann' }), tokens({ scope: 'global', counter: 'global' })],
      [1_000, 900],
      NOW_MS,
    );

    expect(saturation.of('user|ann')).toBeUndefined();
    expect(saturation.of('global')).toBe(0.9);
  });

  it.each(['never', 'when-saturated'] as const)('takes no notice of a shared budget that is enforced %s', (enforce) => {
    const saturation = createSaturation(0.8);

    saturation.see([shared({ tokens: 1_000, per: 'minute', enforce })], [5_000], NOW_MS);

    expect(isHigh(saturation)).toBe(false);
  });

  it('takes a limit of nothing for full', () => {
    const saturation = createSaturation(0.8);

    saturation.see([shared({ requests: 0, per: 'minute' })], [0], NOW_MS);

    expect(isHigh(saturation)).toBe(true);
  });
});
