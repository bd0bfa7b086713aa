import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Dialect } from '../src/dialects/dialect.js';
import { OptionsError } from '../src/errors.js';
import type { Step } from '../src/ladder/step.js';
import { type IdentityGiven, type MountOptions, type ResolvedMount, resolveMount } from '../src/mount-options.js';
import { type Options, resolveOptions } from '../src/options.js';
import type { Store } from '../src/stores/store.js';

const step: Step = { name: 'nothing', canHelp: () => false, attempt: async () => undefined };
const method = () => undefined;
const methods = {
  read: method,
  rewrite: method,
  usage: method,
  text: method,
  isUsageOnly: method,
  collect: method,
  answer: method,
  error: method,
};
const dialect = { name: 'openai-chat', ...methods } as unknown as Dialect;
const store = { reserve: method, settle: method, renew: method, peek: method, close: method } as unknown as Store;

const gateWith = (options: Options) => resolveOptions(options, { ladder: [step], store: () => store });
const gate = gateWith({ scopes: { global: { budgets: [] }, organization: { budgets: [], optional: true } } });
const strict = gateWith({ scopes: { organization: { budgets: [] }, user: { budgets: [] } } });

function resolve(options: unknown, of = gate): ResolvedMount {
  return resolveMount(options as MountOptions, of, (name) => (name === 'openai-chat' ? dialect : undefined));
}

function faultsOf(options: unknown, of = gate): readonly string[] {
  try {
    resolve(options, of);
  } catch (error) {
    if (error instanceof OptionsError && error.code === 'SPILLWAY_BAD_OPTIONS') return error.faults;
    throw error;
  }
  return [];
}

describe('resolveMount', () => {
  it('needs nothing when no scope needs a key, and takes the ladder of the gate', () => {
    const mount = resolve({});

    expect(mount).toMatchObject({
      route: undefined,
      identify: undefined,
      skip: undefined,
      dialect: undefined,
      refuseWith: undefined,
    });
    expect(mount.headers).toEqual({ ietf: true, dialect: true, outcome: true });
    expect(mount.ladder).toBe(gate.ladder);
    expect(mount.budgets.size).toBe(0);
    expect(mount.callsPerRequest({})).toBe(1);
    expect(Object.isFrozen(mount)).toBe(true);
  });

  it('keeps what is given', () => {
    const identify = () => ({ user: 'ada' });
    const skip = () => true;

    const mount = resolve(
      { route: 'chat', identify, skip, ladder: [], dialect, callsPerRequest: 3, headers: false, refuseWith: 402 },
      strict,
    );

    expect(mount).toMatchObject({ route: 'chat', identify, skip, ladder: [], refuseWith: 402 });
    expect(mount.headers).toEqual({ ietf: false, dialect: false, outcome: false });
    expect(mount.dialect).toBe(dialect);
    expect(mount.callsPerRequest({})).toBe(3);
  });

  it('writes the headers that an object leaves out', () => {
    expect(resolve({ headers: { dialect: false } }).headers).toEqual({ ietf: true, dialect: false, outcome: true });
    expect(resolve({ headers: {} }).headers).toEqual({ ietf: true, dialect: true, outcome: true });
  });

  it('refuses as the gate does when it says nothing itself', () => {
    const paid = gateWith({ refuseWith: 402 });

    expect(resolve({}, paid).refuseWith).toBe(402);
    expect(resolve({ refuseWith: 403 }, paid).refuseWith).toBe(403);
  });

  it('looks a dialect up by its name', () => {
    expect(resolve({ dialect: 'openai-chat' }).dialect).toBe(dialect);
  });

  it('resolves budgets of the route and of configured scopes', () => {
    const { budgets } = resolve({
      route: 'chat',
      budgets: { organization: [{ requests: 3, per: 'minute' }], route: [{ tokens: 5, per: 'day' }], global: [] },
    });

    expect(budgets.get('route')).toMatchObject([{ dimension: 'tokens', limit: 5 }]);
    expect(budgets.get('organization')).toMatchObject([{ dimension: 'requests', limit: 3 }]);
    expect(budgets.get('global')).toEqual([]);
    expect(budgets.size).toBe(3);
  });

  it('takes the prices of the gate for budgets of money', () => {
    const priced = gateWith({ models: { a: { usdPerMillion: { input: 1, output: 1 } } }, unknownModel: 'refuse' });
    const options = { route: 'chat', budgets: { route: [{ usd: 2, per: 'day' }] } };

    expect(resolve(options, priced).budgets.get('route')).toMatchObject([{ limit: 2_000_000 }]);
    expect(faultsOf(options)).toEqual([
      'budgets.route[0].usd can meet models that are not in models, which have no price; give defaultPrice, or unknownModel: "refuse"',
    ]);
  });

  it('asks a function how many calls a request makes, and refuses nonsense from it', () => {
    const mount = resolve({ callsPerRequest: (req: { calls: unknown }) => req.calls });

    expect([mount.callsPerRequest({ calls: 1 }), mount.callsPerRequest({ calls: 1_000 })]).toEqual([1, 1_000]);
    for (const calls of [0, 1_001, 1.5, Number.NaN, undefined, Promise.resolve(2)])
      expect(() => mount.callsPerRequest({ calls })).toThrow('callsPerRequest(req) must be a whole number from 1 to 1_000');
    expect(() => mount.callsPerRequest({ calls: 'from the body' })).toThrow(
      'got a string; give how many calls one request makes',
    );
  });

  it.each<[unknown, string]>([
    [null, 'options must be an object, got null; give one like { route: "chat" }'],
    [{ rout: 'chat' }, 'rout is not an option; did you mean route?'],
    [{ route: '' }, 'route must be a string of 1 to 128 characters, got ""; give a short name like "chat"'],
    [{ identify: 'user' }, 'identify must be a function, got "user"; give one like (req) => ({ user: req.user.id })'],
    [{ skip: true }, 'skip must be a function, got true; give one like (req) => false'],
    [
      { route: 'a', budgets: [] },
      'budgets must be an object, got a list; give budgets by scope, like { route: [{ tokens: 10_000, per: "minute" }] }',
    ],
    [{ route: 'a', budgets: { organisation: [] } }, 'budgets.organisation is not an option; did you mean organization?'],
    [{ route: 'a', budgets: { user: [] } }, 'budgets.user is not an option; known are global, organization and route'],
    [
      { route: 'a', budgets: { route: () => [] } },
      'budgets.route must be a list, got a function; give budgets like [{ tokens: 10_000, per: "minute" }], or [] for none',
    ],
    [
      { route: 'a', budgets: { route: [{ tokens: '10k', per: 'minute' }] } },
      'budgets.route[0].tokens must be a positive integer, got "10k"; give a number like 10_000',
    ],
    [{ budgets: { route: [] } }, 'route must be given together with budgets, got undefined; give a short name like "chat"'],
    [
      { budgets: { organization: [] } },
      'route must be given together with budgets, got undefined; give a short name like "chat"',
    ],
    [
      { ladder: [step, step, {}] },
      'ladder[2] must be a step, which has the methods canHelp and attempt, but lacks canHelp and attempt; give one like cheaperModel()',
    ],
    [{ dialect: 'openai' }, 'dialect must be a dialect or the name of one, got "openai"; give a name like "openai-chat"'],
    [{ dialect: 5 }, 'dialect must be a dialect, got 5; spread a built-in one, like { ...openaiChat, name, read }'],
    [
      { callsPerRequest: 0 },
      'callsPerRequest must be a whole number from 1 to 1_000, got 0; give how many calls one request makes',
    ],
    [
      { callsPerRequest: '3' },
      'callsPerRequest must be a whole number from 1 to 1_000, got "3"; give how many calls one request makes',
    ],
    [
      { headers: 'no' },
      'headers must be true, false or an object, got "no"; leave it out for all, or give some like { outcome: false }',
    ],
    [{ headers: { itef: false } }, 'headers.itef is not an option; did you mean ietf?'],
    [{ headers: { ietf: 1 } }, 'headers.ietf must be true or false, got 1; leave it out for true'],
    [
      { refuseWith: 200 },
      'refuseWith must be a whole number from 400 to 599 or a function, got 200; give one like 402, or (refusal) => (refusal.reason === "full" ? 402 : undefined)',
    ],
  ])('refuses %j with its path and mend', (options, fault) => {
    expect(faultsOf(options)).toEqual([fault]);
  });

  it('needs identify when a scope needs a key', () => {
    expect(faultsOf({}, strict)).toEqual([
      'identify must be a function, got undefined; give one like (req) => ({ organization: ... }) for organization and user, or make the scope optional: true',
    ]);
  });

  it('tells all faults at once', () => {
    expect(faultsOf({ headers: 1, callsPerRequest: 0, budgets: { user: [{}] } }, strict)).toHaveLength(5);
  });

  it('resolves anything, or throws an OptionsError and nothing else', () => {
    const name = fc.constantFrom(
      'route',
      'identify',
      'skip',
      'budgets',
      'ladder',
      'dialect',
      'callsPerRequest',
      'headers',
      'refuseWith',
      '__proto__',
    );
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.dictionary(name, fc.anything())), (options) => {
        try {
          expect(Object.isFrozen(resolve(options))).toBe(true);
        } catch (error) {
          if (!(error instanceof OptionsError)) throw error;
          expect(error.faults.length).toBeGreaterThan(0);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('the types of a mount', () => {
  it('know the scopes of the gate', () => {
    const good: IdentityGiven<'global' | 'user'> = { user: 1n };
    const mount: MountOptions<'global' | 'user', { user?: { id: string } }> = {
      identify: (req) => ({ user: req.user?.id }),
      budgets: { user: [{ tokens: 1, per: 'minute' }], global: [], route: [] },
    };
    // @ts-expect-error global is never named
    const global: IdentityGiven<'global' | 'user'> = { global: 'x' };
    // @ts-expect-error not a scope of this gate
    const unknown: MountOptions<'global' | 'user'> = { identify: () => ({ tenant: 'x' }) };

    expect([good, mount, global, unknown]).toHaveLength(4);
  });
});
