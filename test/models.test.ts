import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OptionsError } from '../src/errors.js';
import { countingOf, createFindModel, type ResolvedModels, resolveModels } from '../src/models.js';
import { createCheck, show } from '../src/options-check.js';

function resolve(models: unknown, headroomRatio = 0): ResolvedModels {
  const check = createCheck();
  const defaults = { headroomRatio, tokenFactor: 1 };
  const resolved = resolveModels(check, models, { defaultPrice: undefined, unknownModel: 'count' }, defaults);
  check.throwFaults();
  return resolved;
}

function faultsOf(models: unknown): readonly string[] {
  try {
    resolve(models);
  } catch (error) {
    if (error instanceof OptionsError) return error.faults;
    throw error;
  }
  return [];
}

describe('resolveModels', () => {
  it('resolves a model without options to one without a limit, in a pool of its own', () => {
    const { models } = resolve({ 'gpt-4o': {} });

    expect(models.get('gpt-4o')).toEqual({
      name: 'gpt-4o',
      budgets: [],
      cheaper: [],
      pool: 'gpt-4o',
      price: undefined,
      countAs: undefined,
      tokenFactor: 1,
    });
  });

  it.each(['gpt-4o', 'openai/gpt-4o', 'claude-sonnet-4-5', 'gemini-2.5-pro', 'cl100k_base', 'O200K_BASE'])(
    'takes a model to count like by any name that is known: %s',
    (countAs) => {
      expect(resolve({ llama: { countAs, tokenFactor: 1.1 } }).models.get('llama')).toMatchObject({ countAs, tokenFactor: 1.1 });
    },
  );

  it('keeps pools, substitutes, aliases and prices', () => {
    const pool = () => 'key-1';

    const { models, aliases } = resolve({
      big: { cheaper: ['small', 'tiny'], pool, aliases: ['large'], usdPerMillion: { input: 2, output: 8, cachedInput: 0 } },
      small: { pool: 'shared', cheaper: ['tiny'] },
      tiny: { pool: 'shared' },
    });

    expect(models.get('big')).toMatchObject({ cheaper: ['small', 'tiny'], pool, price: { input: 2, output: 8, cachedInput: 0 } });
    expect(models.get('small')?.pool).toBe(models.get('tiny')?.pool);
    expect([...aliases]).toEqual([['large', 'big']]);
  });

  it('takes headroom off, by the model or by default', () => {
    const budgets = [{ tokens: 1_000, per: 'minute' }];

    const { models } = resolve({ a: { budgets, headroomRatio: 0.25 }, b: { budgets } }, 0.1);

    expect(models.get('a')?.budgets).toMatchObject([{ limit: 750 }]);
    expect(models.get('b')?.budgets).toMatchObject([{ limit: 900 }]);
  });

  it('lets a model have a budget of money when it has a price, whatever the others have', () => {
    const { models } = resolve({ a: { budgets: [{ usd: 5, per: 'day' }], usdPerMillion: { input: 1, output: 1 } }, b: {} });

    expect(models.get('a')?.budgets).toMatchObject([{ dimension: 'usd', limit: 5_000_000 }]);
  });

  const poolMend = 'leave it out for a counter of its own';
  it.each<[unknown, readonly string[]]>([
    [
      { a: null },
      [
        'models.a must be an object, got null; give { budgets: [{ tokens: 100_000, per: "minute" }] }, or {} for a model without a limit',
      ],
    ],
    [{ '': {} }, ['models[""] must be a string of 1 to 128 characters, got ""; name the model as bodies do']],
    ...['llama', '', 7, null, 'x'.repeat(500)].map((countAs): [unknown, readonly string[]] => [
      { a: { countAs } },
      [
        `models.a.countAs must be a model whose way of counting is known, got ${show(countAs)}; give one like "gpt-4o" or "cl100k_base"`,
      ],
    ]),
    ...[0, 0.09, 10.1, -1, Number.NaN, '1'].map((tokenFactor): [unknown, readonly string[]] => [
      { a: { tokenFactor } },
      [`models.a.tokenFactor must be a number from 0.1 to 10, got ${show(tokenFactor)}; give a factor like 1.1`],
    ]),
    [{ a: { cheaper: 'b' }, b: {} }, ['models.a.cheaper must be a list, got "b"; give names out of models']],
    [{ a: { cheaper: ['a'] } }, ['models.a.cheaper[0] names the model itself; take it off']],
    [{ a: { cheaper: ['b', 'b'] }, b: {} }, ['models.a.cheaper[1] repeats "b"; name it once']],
    [
      { 'gpt-4o': { cheaper: ['gpt-4o-mni'] }, 'gpt-4o-mini': {} },
      ['models["gpt-4o"].cheaper[0] must be one of models, got "gpt-4o-mni"; did you mean "gpt-4o-mini"?'],
    ],
    [{ a: { aliases: 'b' } }, ['models.a.aliases must be a list, got "b"; give other names, like ["gpt-4o-latest"]']],
    [
      { a: { aliases: [5] } },
      ['models.a.aliases[0] must be a string of 1 to 128 characters, got 5; give a name as bodies write it'],
    ],
    [{ a: { aliases: ['b'] }, b: {} }, ['models.a.aliases[0] is the name of another model, got "b"; take it off']],
    [{ a: { aliases: ['x'] }, b: { aliases: ['x'] } }, ['models.b.aliases[0] repeats "x", an alias of "a"; keep one of them']],
    [{ a: { aliases: ['x', 'x'] } }, ['models.a.aliases[1] repeats "x", an alias of "a"; keep one of them']],
    [{ a: { pool: '' } }, [`models.a.pool must be a string of 1 to 128 characters, got ""; ${poolMend}`]],
    [{ a: { pool: 5 } }, [`models.a.pool must be a string or a function of the call, got 5; ${poolMend}`]],
    [
      { a: { headroomRatio: -0.1 } },
      ['models.a.headroomRatio must be a number from 0 to less than 1, got -0.1; give a share like 0.1'],
    ],
    [
      { a: { usdPerMillion: { input: '2', output: Number.NaN } } },
      [
        'models.a.usdPerMillion.input must be a finite number of dollars, 0 or more, got "2"; give one like 2.5',
        'models.a.usdPerMillion.output must be a finite number of dollars, 0 or more, got NaN; give one like 2.5',
      ],
    ],
    [
      { a: { budgets: [{ usd: 5, per: 'day' }], usdPerMillion: 5 } },
      ['models.a.usdPerMillion must be an object, got 5; give dollars per million tokens, like { input: 2.5, output: 10 }'],
    ],
  ])('refuses %j', (models, faults) => {
    expect(faultsOf(models)).toEqual(faults);
  });
});

describe('createFindModel', () => {
  const { models, aliases } = resolve({
    'gpt-4o': { aliases: ['my-gpt'] },
    'gpt-4o-2024-05-13': {},
    'gpt-4': {},
    'claude-sonnet-4': { aliases: ['sonnet-latest'] },
    'llama-70b': {},
    'gemini-2.5-pro': {},
  });
  const findModel = createFindModel(models, aliases);

  it.each<[string, string | undefined]>([
    ['gpt-4o', 'gpt-4o'],
    ['my-gpt', 'gpt-4o'],
    ['my-gpt-2024-08-06', 'gpt-4o'],
    ['gpt-4o-2024-08-06', 'gpt-4o'],
    ['gpt-4o-2024-05-13', 'gpt-4o-2024-05-13'],
    ['gpt-4-0613', 'gpt-4'],
    ['gpt-4-2407', 'gpt-4'],
    ['gpt-4o-latest', 'gpt-4o'],
    ['sonnet-latest', 'claude-sonnet-4'],
    ['claude-sonnet-4-20250514', 'claude-sonnet-4'],
    ['claude-sonnet-4@20240620', 'claude-sonnet-4'],
    ['gemini-2.5-pro-001', 'gemini-2.5-pro'],
    ['gemini-2.5-pro@001', 'gemini-2.5-pro'],
    ['gemini-2.5-pro-preview-05-06', 'gemini-2.5-pro'],
    ['gemini-2.5-pro-exp-03-2025', 'gemini-2.5-pro'],
    ['gemini-2.5-pro-preview', undefined],
    ['llama-70b-8192', undefined],
    ['llama-70b-4096', undefined],
    ['gpt-4o-mini', undefined],
    ['gpt-4o-2024-08-06-latest', undefined],
    ['openai/gpt-4o', undefined],
    ['GPT-4o', undefined],
    ['-latest', undefined],
    ['', undefined],
    ['__proto__', undefined],
    [`${'-2024'.repeat(200_000)}x`, undefined],
  ])('finds for %.40s the right model or none', (name, found) => {
    expect(findModel(name)?.name).toBe(found);
  });

  it('never throws, and finds only configured models', () => {
    const names = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.stringMatching(/^(gpt-4o?|my-gpt)[-@\d]{0,12}(-latest)?$/),
      fc.anything(),
    );
    fc.assert(
      fc.property(names, (name) => {
        const found = findModel(name as string);

        if (found) expect(models.get(found.name)).toBe(found);
        if (models.has(name as string)) expect(found?.name).toBe(name);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('countingOf', () => {
  const { models, aliases } = resolve({ llama: { countAs: 'cl100k_base', tokenFactor: 1.2, aliases: ['ours'] }, 'gpt-4o': {} });
  const findModel = createFindModel(models, aliases);

  it.each([
    ['llama', 'cl100k_base', 1.2],
    ['ours', 'cl100k_base', 1.2],
    ['llama-latest', 'cl100k_base', 1.2],
    ['gpt-4o-2024-08-06', 'gpt-4o', 1],
    ['unheard-of', 'unheard-of', 1],
    ['', '', 1],
  ])('of %j is that of %s, times %f', (name, model, tokenFactor) => {
    expect(countingOf(findModel, name)).toEqual({ model, tokenFactor });
  });
});
