import { describe, expect, it } from 'vitest';
import type { BudgetOptions } from '../../src/budget/budget.js';
import type { Charge, Refusal } from '../../src/call.js';
import { cheaperModel } from '../../src/ladder/cheaper-model.js';
import { budgetOf, callOf, chargeOf, fullOf, walkOf } from '../support/builders.js';
import { heldBy } from '../support/waiting.js';

const tokens: BudgetOptions = { tokens: 1_000, per: 'minute' };

function refusalOf(...charges: Partial<Charge>[]): Refusal {
  return { reason: 'full', full: charges.map((charge) => ({ charge: chargeOf(charge), waitMs: 100 })), waitMs: 100 };
}

/** Substitutes as models declare them; each is given once. */
function substitutesBy(cheaper: Readonly<Record<string, readonly string[]>>, tried: string[] = ['gpt-4o']) {
  return (of: { model: string | undefined }) => {
    const names = (cheaper[of.model ?? ''] ?? []).filter((name) => !tried.includes(name));
    tried.push(...names);
    return names;
  };
}

describe('cheaperModel helps', () => {
  const step = cheaperModel();

  it.each<[string, Partial<Charge>]>([
    ['the model', { scope: 'model', budget: budgetOf(tokens) }],
    ['money', { budget: budgetOf({ usd: 1, per: 'day' }) }],
    ['a budget for certain models', { budget: budgetOf({ ...tokens, models: ['gpt-4o'] }) }],
  ])('where %s is full', (_, charge) => {
    expect(step.canHelp(refusalOf(charge), callOf())).toBe(true);
  });

  it('not where a budget is full that every model falls under', () => {
    expect(step.canHelp(refusalOf({ budget: budgetOf(tokens) }), callOf())).toBe(false);
    expect(step.canHelp(refusalOf({ scope: 'model' }, { budget: budgetOf(tokens) }), callOf())).toBe(false);
  });

  it('where a call is too large for its model alone', () => {
    expect(step.canHelp({ ...refusalOf({ scope: 'model' }), reason: 'never-fits' }, callOf())).toBe(true);
  });

  it('not where the store is gone, nor a call without a model', () => {
    expect(step.canHelp({ reason: 'closed', full: [], waitMs: 1_000 }, callOf())).toBe(false);
    expect(step.canHelp(refusalOf({ scope: 'model' }), callOf({ model: undefined }))).toBe(false);
  });
});

describe('cheaperModel tries', () => {
  /** The models that were tried, until the one that has room. */
  async function tries(cheaper: Readonly<Record<string, readonly string[]>>, withRoom?: string) {
    const models: (string | undefined)[] = [];
    const found = await cheaperModel().attempt(
      walkOf({
        substitutes: substitutesBy(cheaper),
        async admit(call) {
          models.push(call.model);
          return call.model === withRoom ? heldBy(call) : fullOf({ a: 100 });
        },
      }),
    );
    return { models, found };
  }

  it('the declared substitutes in order, up to the first that has room', async () => {
    const { models, found } = await tries({ 'gpt-4o': ['a', 'b', 'c'] }, 'b');

    expect(models).toEqual(['a', 'b']);
    expect(found).toMatchObject({ call: { model: 'b', requestedModel: 'gpt-4o' } });
  });

  it('the substitutes of substitutes after all that were declared before them', async () => {
    const { models, found } = await tries({ 'gpt-4o': ['a', 'b'], a: ['c'], b: ['d'] }, 'd');

    expect(models).toEqual(['a', 'b', 'c', 'd']);
    expect(found).toMatchObject({ call: { model: 'd' } });
  });

  it('each model once, however they name one another', async () => {
    const { models, found } = await tries({ 'gpt-4o': ['a', 'b'], a: ['b', 'gpt-4o'], b: ['a', 'gpt-4o'] });

    expect(models).toEqual(['a', 'b']);
    expect(found).toBeUndefined();
  });

  it('nothing where no substitute is declared', async () => {
    expect(await tries({})).toEqual({ models: [], found: undefined });
  });
});
