import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../src/clock.js';
import type { Dialect } from '../src/dialects/dialect.js';
import { OptionsError } from '../src/errors.js';
import type { Step } from '../src/ladder/step.js';
import { DEFAULTS, type Options, type ResolvedOptions, resolveOptions } from '../src/options.js';
import { nearest, show } from '../src/options-check.js';
import type { Store } from '../src/stores/store.js';
import { createVirtualClock } from './support/virtual-clock.js';

const step: Step = { name: 'nothing', canHelp: () => false, attempt: async () => undefined };
const method = () => undefined;
const store = { reserve: method, settle: method, renew: method, peek: method, close: method } as unknown as Store;
const dialect = {
  name: 'my-chat',
  ...{
    read: method,
    rewrite: method,
    usage: method,
    text: method,
    isUsageOnly: method,
    collect: method,
    answer: method,
    error: method,
  },
} as unknown as Dialect;
const perMinute = (tokens: unknown) => ({ tokens, per: 'minute' });

function resolve(options: unknown): ResolvedOptions {
  return resolveOptions(options as Options, { ladder: [step], store: () => store });
}

function faultsOf(options: unknown): readonly string[] {
  try {
    resolve(options);
  } catch (error) {
    if (error instanceof OptionsError && error.code === 'SPILLWAY_BAD_OPTIONS') return error.faults;
    throw error;
  }
  return [];
}

describe('resolveOptions', () => {
  it('fills in every default when nothing is given', () => {
    const resolved = resolve({});

    expect(resolved).toMatchObject({
      scopes: [],
      ladder: [step],
      store,
      dialects: [],
      unknownModel: DEFAULTS.unknownModel,
      defaultPrice: undefined,
      softUntilRatio: 0.8,
      overheadRatio: 0.1,
      imageOverheadRatio: 0.15,
      leaseMs: 30_000,
      stallMs: 60_000,
      bodyBytes: 4_194_304,
      tapBytes: 4_194_304,
      logger: undefined,
      clock: systemClock,
      random: Math.random,
    });
    expect(resolved.models.size).toBe(0);
    expect(resolved.findModel('gpt-4o')).toBeUndefined();
  });

  it('keeps what was given, with undefined as not given', () => {
    const clock = createVirtualClock();
    const logger = { info: method, warn: method };
    const random = () => 0.5;

    const resolved = resolve({
      ladder: [],
      store,
      dialects: [dialect],
      unknownModel: 'refuse',
      leaseMs: 500,
      stallMs: undefined,
      clock,
      logger,
      random,
    });

    expect(resolved).toMatchObject({ ladder: [], unknownModel: 'refuse', leaseMs: 500, stallMs: 60_000 });
    expect(resolved.dialects).toEqual([dialect]);
    expect([resolved.store, resolved.clock, resolved.logger, resolved.random]).toEqual([store, clock, logger, random]);
  });

  it('makes the default store once, only when none is given and nothing is faulty', () => {
    let made = 0;
    const defaults = {
      ladder: [],
      store: () => {
        made++;
        return store;
      },
    };

    resolveOptions({ store }, defaults);
    expect(() => resolveOptions({ leaseMs: -1 }, defaults)).toThrow(OptionsError);
    expect(made).toBe(0);
    resolveOptions({}, defaults);
    expect(made).toBe(1);
  });

  it('keeps the order of the scopes, and gives a list to every key', () => {
    const { scopes } = resolve({
      scopes: { global: { budgets: [] }, organization: { budgets: [perMinute(5)], optional: true } },
    });

    expect(scopes.map(({ name, optional }) => [name, optional])).toEqual([
      ['global', false],
      ['organization', true],
    ]);
    expect(scopes[1]?.budgetsOf('a')).toBe(scopes[1]?.budgetsOf('b'));
    expect(scopes[1]?.budgetsOf('a')).toMatchObject([{ dimension: 'tokens', limit: 5 }]);
  });

  it('asks a function of global for its budgets too', () => {
    const { scopes } = resolve({ scopes: { global: { budgets: (key: string) => [{ requests: key.length, per: 'day' }] } } });

    expect(scopes[0]?.budgetsOf('global')).toMatchObject([{ dimension: 'requests', limit: 6 }]);
  });

  it('neither changes nor keeps what was given, and freezes what it returns', () => {
    const given = {
      models: { big: { budgets: [perMinute(10)], cheaper: ['small'], usdPerMillion: { input: 1, output: 2 } }, small: {} },
      scopes: { user: { budgets: [{ tokens: 1, per: 'minute', models: ['small', 'big'] }] } },
      ladder: [step],
    };
    const before = structuredClone({ ...given, ladder: [] });

    const resolved = resolve(given);
    const big = resolved.models.get('big');

    expect({ ...given, ladder: [] }).toEqual(before);
    (given.ladder as unknown[]).push('later');
    given.models.big.cheaper.push('later');
    given.models.big.usdPerMillion.input = 99;
    expect(resolved.ladder).toEqual([step]);
    expect(big?.cheaper).toEqual(['small']);
    expect(big?.price).toEqual({ input: 1, output: 2 });
    const parts = [
      resolved,
      resolved.ladder,
      resolved.scopes,
      resolved.scopes[0],
      big,
      big?.budgets,
      big?.budgets[0],
      big?.price,
    ];
    expect(parts.map((part) => Object.isFrozen(part))).toEqual(parts.map(() => true));
  });

  const faulty: readonly (readonly [unknown, string])[] = [
    [null, 'options must be an object, got null; give one like { models: { "gpt-4o": {} } }'],
    [[], 'options must be an object, got a list; give one like { models: { "gpt-4o": {} } }'],
    [new Map(), 'options must be an object, got a Map; give one like { models: { "gpt-4o": {} } }'],
    [{ scops: {} }, 'scops is not an option; did you mean scopes?'],
    [{ LeaseMs: 1 }, 'LeaseMs is not an option; did you mean leaseMs?'],
    [{ models: { a: { budget: [] } } }, 'models.a.budget is not an option; did you mean budgets?'],
    [{ scopes: { user: { budgets: [], max: 1 } } }, 'scopes.user.max is not an option; known are budgets and optional'],
    [
      { scopes: { user: { budgets: [{ tokens: 1, per: 'minute', nam: 'x' }] } } },
      'scopes.user.budgets[0].nam is not an option; did you mean name?',
    ],
    [
      { models: { 'gpt-4o': { usdPerMillion: { input: 1, outptu: 1, output: 1 } } } },
      'models["gpt-4o"].usdPerMillion.outptu is not an option; did you mean output?',
    ],
    [{ models: 'gpt-4o' }, 'models must be an object, got "gpt-4o"; give models by name, like { "gpt-4o": {} }'],
    [{ scopes: [] }, 'scopes must be an object, got a list; give scopes by name, like { user: { budgets: [...] } }'],
    [
      { scopes: { user: {} } },
      'scopes.user.budgets must be a list or a function of the key, got undefined; give [{ tokens: 10_000, per: "minute" }], or [] for none',
    ],
    [{ scopes: { user: 5 } }, 'scopes.user must be an object, got 5; give { budgets: [{ tokens: 10_000, per: "minute" }] }'],
    [
      { scopes: { user: { budgets: [], optional: 'yes' } } },
      'scopes.user.optional must be true or false, got "yes"; leave it out for false',
    ],
    [
      { scopes: { global: { budgets: [], optional: true } } },
      'scopes.global.optional must not be true, global has one key that is always there; take it off',
    ],
    [{ scopes: { model: { budgets: [] } } }, 'scopes.model is a name that spillway uses itself; give the scope another one'],
    [{ scopes: { route: { budgets: [] } } }, 'scopes.route is a name that spillway uses itself; give the scope another one'],
    [
      { scopes: { '': { budgets: [] } } },
      'scopes[""] must be named by a letter and up to 39 letters, digits, - or _; give the scope a name like user',
    ],
    [
      { scopes: { 'a b': { budgets: [] } } },
      'scopes["a b"] must be named by a letter and up to 39 letters, digits, - or _; give the scope a name like user',
    ],
    [{ unknownModel: 'deny' }, 'unknownModel must be "count" or "refuse", got "deny"; leave it out for "count"'],
    [{ softUntilRatio: 80 }, 'softUntilRatio must be a number from 0 to 1, got 80; give a share like 0.1'],
    [{ overheadRatio: '0.1' }, 'overheadRatio must be a number from 0 to 1, got "0.1"; give a share like 0.1'],
    [{ imageOverheadRatio: Number.NaN }, 'imageOverheadRatio must be a number from 0 to 1, got NaN; give a share like 0.1'],
    [
      { imageSize: { width: 1, height: 1 } },
      'imageSize must be a function, got an object; give one like (address) => ({ width: 800, height: 600 })',
    ],
    [{ leaseMs: 1 }, 'leaseMs must be a whole number from 100 to 86_400_000, got 1; give milliseconds like 30_000'],
    [{ stallMs: 1.5 }, 'stallMs must be a whole number from 1 to 86_400_000, got 1.5; give milliseconds like 30_000'],
    [{ budgetsTtlMs: -1 }, 'budgetsTtlMs must be a whole number from 0 to 86_400_000, got -1; give milliseconds like 30_000'],
    [
      { bodyBytes: Infinity },
      'bodyBytes must be a whole number from 1 to 1_073_741_824, got Infinity; give bytes like 4_194_304',
    ],
    [{ tapBytes: 5n }, 'tapBytes must be a whole number from 0 to 1_073_741_824, got 5n; give bytes like 4_194_304'],
    [
      { defaultPrice: 3 },
      'defaultPrice must be an object, got 3; give dollars per million tokens, like { input: 2.5, output: 10 }',
    ],
    [
      { defaultPrice: { input: 1 } },
      'defaultPrice.output must be a finite number of dollars, 0 or more, got undefined; give one like 2.5',
    ],
    [
      { defaultPrice: { input: -1, output: 1 } },
      'defaultPrice.input must be a finite number of dollars, 0 or more, got -1; give one like 2.5',
    ],
    [
      { defaultPrice: { input: 1, output: 1, perRequest: Infinity } },
      'defaultPrice.perRequest must be a finite number of dollars, 0 or more, got Infinity; give one like 2.5',
    ],
    [
      { ladder: step },
      'ladder must be a list, got an object; give steps like [queue({ waitMs: 1_000 }), cheaperModel()], or [] for none',
    ],
    [{ ladder: [() => step] }, 'ladder[0] must be a step, got a function; call it, like queue()'],
    [
      { ladder: [step, { name: 'x', canHelp: method }] },
      'ladder[1] must be a step, which has the methods canHelp and attempt, but lacks attempt; give one like cheaperModel()',
    ],
    [
      { ladder: [{ ...step, name: '' }] },
      'ladder[0].name must be a string of 1 to 128 characters, got ""; name the step, for events',
    ],
    [{ ladder: [{ ...step, forPeople: 1 }] }, 'ladder[0].forPeople must be true or false, got 1; leave it out for false'],
    [{ ladder: [{ ...step, learn: true }] }, 'ladder[0].learn must be a function, got true; leave it out'],
    [
      { store: { reserve: method, settle: method } },
      'store must be a store, which has the methods reserve, settle, renew, peek and close, but lacks renew, peek and close; give one like memoryStore()',
    ],
    [{ store: 'redis://' }, 'store must be a store, got "redis://"; give one like memoryStore()'],
    [{ store: { ...store, onNotice: 1 } }, 'store.onNotice must be a function, got 1; leave it out'],
    [
      { ledger: { add: method, addAnswer: method, usage: method, close: 1 } },
      'ledger.close must be a function, got 1; leave it out',
    ],
    [{ ledger: [] }, 'ledger must be a ledger, got a list; give one like redisLedger(client), or leave it out'],
    [
      { ledger: { add: method } },
      'ledger must be a ledger, which has the methods add, addAnswer and usage, but lacks addAnswer and usage; give one like redisLedger(client), or leave it out',
    ],
    [
      { dialects: [{ ...dialect, text: undefined, error: undefined }] },
      'dialects[0] must be a dialect, which has the methods read, rewrite, usage, text, isUsageOnly, collect, answer and error, but lacks text and error; spread a built-in one, like { ...openaiChat, name, read }',
    ],
    [
      { dialects: [{ ...dialect, name: 5 }] },
      'dialects[0].name must be a string of 1 to 128 characters, got 5; name the dialect',
    ],
    [{ clock: Date }, "clock must be a clock, got a function; leave it out for the machine's"],
    [
      { clock: { now: method } },
      "clock must be a clock, which has the methods now and after, but lacks after; leave it out for the machine's",
    ],
    [
      { logger: { info: method } },
      'logger must be a logger, which has the methods info and warn, but lacks warn; give one like pino()',
    ],
    ...[399, 600, 402.5, Number.NaN, '402'].map((refuseWith): [unknown, string] => [
      { refuseWith },
      `refuseWith must be a whole number from 400 to 599 or a function, got ${JSON.stringify(refuseWith) === 'null' ? 'NaN' : JSON.stringify(refuseWith)}; give one like 402, or (refusal) => (refusal.reason === "full" ? 402 : undefined)`,
    ]),
    [{ dialects: [{ ...dialect, limits: {} }] }, 'dialects[0].limits must be a function, got an object; leave it out'],
    [{ random: 0.5 }, 'random must be a function, got 0.5; leave it out for Math.random'],
  ];
  it.each(faulty.map(([options, fault]) => ({ options, fault })))('says $fault', ({ options, fault }) => {
    expect(faultsOf(options)).toEqual([fault]);
  });

  it('tells all faults at once', () => {
    const options = {
      models: { big: { budgets: [{ tokens: '10k', per: 'minute' }], cheaper: ['small'], headroomRatio: 1 } },
      scopes: { user: { budgets: [perMinute(1), perMinute('10k')] } },
      stallMS: 5,
      leaseMs: '30s',
    };

    const faults = faultsOf(options);

    expect(faults).toEqual([
      'stallMS is not an option; did you mean stallMs?',
      'models.big.headroomRatio must be a number from 0 to less than 1, got 1; give a share like 0.1',
      'models.big.budgets[0].tokens must be a positive integer, got "10k"; give a number like 10_000',
      'models.big.cheaper[0] must be one of models, got "small"; known are "big"',
      'scopes.user.budgets[1].tokens must be a positive integer, got "10k"; give a number like 10_000',
      'leaseMs must be a whole number from 100 to 86_400_000, got "30s"; give milliseconds like 30_000',
    ]);
    expect(() => resolve(options)).toThrow(/^6 faults:\n- stallMS is not an option/);
  });

  it('reads own properties only', () => {
    const polluted = Object.create({ leaseMs: 'polluted' });

    expect(resolve(polluted).leaseMs).toBe(30_000);
  });

  it('takes hostile names as names', () => {
    const options = JSON.parse(`{
      "models": { "__proto__": { "aliases": ["constructor"] }, "toString": {} },
      "scopes": { "user": { "budgets": [{ "tokens": 1, "per": "minute", "models": ["__proto__"] }] } }
    }`);

    const resolved = resolve(options);

    expect([...resolved.models.keys()]).toEqual(['__proto__', 'toString']);
    expect(resolved.findModel('constructor')?.name).toBe('__proto__');
    expect(resolved.findModel('hasOwnProperty')).toBeUndefined();
    expect(faultsOf(JSON.parse('{ "__proto__": { "leaseMs": 1 } }'))).toHaveLength(1);
    expect(faultsOf({ scopes: JSON.parse('{ "__proto__": { "budgets": [] } }') })).toHaveLength(1);
  });

  it('shows neither long strings nor whole objects', () => {
    const [fault = ''] = faultsOf({ unknownModel: 'x'.repeat(5_000) });

    expect(fault.length).toBeLessThan(200);
    expect(faultsOf({ leaseMs: { secret: 1 } })[0]).toContain('got an object;');
  });

  const names = [
    'models',
    'scopes',
    'ladder',
    'store',
    'dialects',
    'unknownModel',
    'defaultPrice',
    'leaseMs',
    'clock',
    'logger',
    'random',
  ];
  const budget = fc.dictionary(
    fc.constantFrom('tokens', 'usd', 'concurrent', 'per', 'timeZone', 'name', 'models', 'enforce', '__proto__'),
    fc.oneof(fc.anything(), fc.constantFrom('minute', 'day', 'call', 5, 'UTC', ['a'], 'never')),
  );
  const entry = fc.record(
    {
      budgets: fc.oneof(fc.array(fc.oneof(budget, fc.anything())), fc.anything()),
      cheaper: fc.oneof(fc.array(fc.constantFrom<unknown>('a', '__proto__', 5)), fc.anything()),
      aliases: fc.oneof(fc.array(fc.constantFrom<unknown>('a', 'b', Symbol('x'))), fc.anything()),
      usdPerMillion: fc.anything(),
      optional: fc.anything(),
      headroomRatio: fc.anything(),
    },
    { requiredKeys: [] },
  );
  const table = fc.dictionary(
    fc.constantFrom('a', 'b', 'global', '__proto__', 'constructor', ''),
    fc.oneof(entry, fc.anything()),
  );

  it.each([
    [
      'anything at all',
      fc.anything({ withBigInt: true, withNullPrototype: true, withMap: true, withSet: true, withTypedArray: true }),
    ],
    ['known names with anything in them', fc.dictionary(fc.constantFrom(...names), fc.anything({ withBigInt: true }))],
    ['nearly good options', fc.record({ models: table, scopes: table }, { requiredKeys: [] })],
  ])('resolves %s, or throws an OptionsError and nothing else', (_, arbitrary) => {
    fc.assert(
      fc.property(arbitrary, (options) => {
        try {
          expect(Object.isFrozen(resolve(options))).toBe(true);
        } catch (error) {
          if (!(error instanceof OptionsError)) throw error;
          expect(error.faults.length).toBeGreaterThan(0);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('nearest', () => {
  it.each<[string, string | undefined]>([
    ['tokenz', 'tokens'],
    ['tokesn', 'tokens'],
    ['TIMEZONE', 'timeZone'],
    ['pre', 'per'],
    ['p', undefined],
    ['limit', undefined],
    ['requestsPer', undefined],
    ['x'.repeat(100_000), undefined],
  ])('finds for %.20s what was probably meant', (name, meant) => {
    expect(nearest(name, ['tokens', 'requests', 'per', 'timeZone'])).toBe(meant);
  });
});

describe('show', () => {
  it.each<[unknown, string]>([
    ['10k', '"10k"'],
    ['a\nb', '"a\\nb"'],
    [10n, '10n'],
    [null, 'null'],
    [undefined, 'undefined'],
    [Symbol('secret'), 'a symbol'],
    [Object.create(null), 'an object'],
    [new Date(0), 'a Date'],
    [Promise.resolve(), 'a Promise'],
  ])('says what kind of value it is', (value, text) => {
    expect(show(value)).toBe(text);
  });
});
