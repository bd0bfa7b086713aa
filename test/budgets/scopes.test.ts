import { describe, expect, it } from 'vitest';
import { type BudgetOptions, type Call, cheaperModel, type Options, type Refusal } from '../../src/index.js';
import { bodyOf, createPause, createTestGate } from '../support/gate.js';
import { kindOf, listen, reasonOf, requests, tokens } from '../support/runs.js';
import { settled } from '../support/virtual-clock.js';

const MODELS = { 'gpt-4o': { cheaper: ['gpt-4o-mini'] }, 'gpt-4o-mini': {} };

function createUsers(budgets: readonly BudgetOptions[], options: Options<string> = {}) {
  const test = createTestGate({ models: MODELS, scopes: { user: { budgets, optional: true } }, ladder: [], ...options });
  return { ...test, ann: () => ({ by: test.gate.as({ user: 'ann' }) }), bob: () => ({ by: test.gate.as({ user: 'bob' }) }) };
}

/** Scope, key and dimension of what was full. */
const fullOf = ({ full }: Refusal) => full.map(({ charge: { scope, key, dimension } }) => `${scope} ${key} ${dimension}`);

describe('a budget of some models', () => {
  const TEN_A_DAY: BudgetOptions = { requests: 2, per: 'day', models: ['gpt-4o'] };
  const COUNTER = 'user|ann|requests;day@UTC;m=gpt-4o';
  const DAY = { kind: 'calendar', unit: 'day', timeZone: 'UTC' } as const;

  it('counts calls on these, and lets others through free', async () => {
    const { ask, ann, bob, used } = createUsers([TEN_A_DAY]);

    const kinds: string[] = [];
    for (const model of ['gpt-4o', 'gpt-4o-mini', 'in-no-list', 'gpt-4o', 'gpt-4o', 'gpt-4o-mini'])
      kinds.push(kindOf(await ask(10, { ...ann(), model })));

    expect(kinds).toEqual(['passed', 'passed', 'passed', 'passed', 'shed', 'passed']);
    expect(await used(COUNTER, DAY)).toBe(2);
    expect(kindOf(await ask(10, bob()))).toBe('passed');
  });

  it('counts a model by its aliases and dated names too', async () => {
    const { ask, ann, used } = createUsers([TEN_A_DAY], { models: { 'gpt-4o': { aliases: ['best'] } } });

    await ask(10, { ...ann(), model: 'best' });
    await ask(10, { ...ann(), model: 'gpt-4o-2024-08-06' });

    expect(reasonOf(await ask(10, ann()))).toBe('full');
    expect(await used(COUNTER, DAY)).toBe(2);
  });

  it('is stepped round by a cheaper model that it does not count', async () => {
    const { ask, ann, used } = createUsers([TEN_A_DAY], { ladder: [cheaperModel()] });

    const kinds: string[] = [];
    for (let calls = 0; calls < 4; calls++) kinds.push(kindOf(await ask(10, ann())));

    expect(kinds).toEqual(['passed', 'passed', 'cheaper', 'cheaper']);
    expect(await used(COUNTER, DAY)).toBe(2);
  });

  it('adds up the models it names in one counter, tokens and all', async () => {
    const both: BudgetOptions = { tokens: 100, per: 'minute', models: ['gpt-4o-mini', 'gpt-4o'] };
    const { ask, ann } = createUsers([both]);

    await ask(60, { ...ann(), model: 'gpt-4o' });

    expect(reasonOf(await ask(60, { ...ann(), model: 'gpt-4o-mini' }))).toBe('full');
    expect(kindOf(await ask(60, { ...ann(), model: 'in-no-list' }))).toBe('passed');
  });

  it('counts what calls inside a job use on its models, and not what they use on others', async () => {
    const { ask, ann, used } = createUsers([{ tokens: 1_000, per: 'minute', models: ['gpt-4o'] }]);

    await ask(300, { ...ann(), during: () => ask(100, { model: 'gpt-4o' }), model: 'gpt-4o-mini' });

    expect(await used('user|ann|tokens;60000;m=gpt-4o')).toBe(100);
  });
});

describe('an optional scope', () => {
  const options: Options<string> = {
    scopes: {
      organization: { budgets: [tokens(100)], optional: true },
      user: { budgets: [tokens(1_000)], optional: true },
    },
  };

  it('without a key is passed over, and nobody else pays for it', async () => {
    const { ask, gate, used } = createUsers([], options);

    for (let calls = 0; calls < 3; calls++) await ask(60, { by: gate.as({ user: 'ann' }) });

    expect(await used('user|ann|tokens;60000')).toBe(180);
    expect(await used('organization|acme|tokens;60000')).toBe(0);
  });

  it('with a key is counted and refuses, whoever in it asks', async () => {
    const { ask, gate } = createUsers([], options);
    await ask(60, { by: gate.as({ user: 'ann', organization: 'acme' }) });

    const refused = await ask(60, { by: gate.as({ user: 'bob', organization: 'acme' }) });

    expect(refused.kind === 'shed' && fullOf(refused.refusal)).toEqual(['organization acme tokens']);
    expect(kindOf(await ask(60, { by: gate.as({ user: 'bob' }) }))).toBe('passed');
  });
});

describe('a job without the identity that its scopes need', () => {
  it('tells so for each of them, and counts where it can', async () => {
    const { ask, gate, used } = createTestGate({
      scopes: { global: { budgets: [tokens(1_000)] }, organization: { budgets: [] }, user: { budgets: [] } },
      ladder: [],
    });
    const missing = listen(gate, 'identity-missing');

    await ask(60, { by: gate.as({ user: 'ann' }) });

    expect(missing).toMatchObject([{ scope: 'organization' }]);
    expect(await used('global|global|tokens;60000')).toBe(60);
  });
});

describe('several budgets', () => {
  it('are held all or none: a refusal by one leaves no trace in the others', async () => {
    const { ask, used } = createUsers([], {
      models: { 'gpt-4o': { budgets: [tokens(1_000), { concurrent: 5 }] } },
      scopes: { global: { budgets: [requests(5), { tokens: 50, per: 'minute' }] } },
    });

    await ask(40);

    expect(reasonOf(await ask(40))).toBe('full');

    const counters = ['model|gpt-4o|tokens;60000', 'global|global|tokens;60000', 'global|global|requests;60000'];
    expect(await Promise.all(counters.map((counter) => used(counter)))).toEqual([40, 40, 1]);
    expect(await used('model|gpt-4o|concurrent;running', { kind: 'concurrent' })).toBe(0);
  });

  it('that are full are all named, and the wait is the longest of them', async () => {
    const { ask, ann } = createUsers(
      [
        { requests: 1, per: 'minute' },
        { tokens: 100, per: 'hour' },
      ],
      { models: { 'gpt-4o': { budgets: [{ tokens: 100, per: 5_000 }, tokens(1_000)] } } },
    );
    await ask(80, ann());

    const refused = await ask(80, ann());

    if (refused.kind !== 'shed') throw new Error('was let in');
    const { full, waitMs } = refused.refusal;
    expect(fullOf(refused.refusal)).toEqual(['model gpt-4o tokens', 'user ann requests', 'user ann tokens']);
    expect(full.map(({ waitMs: each }) => each)).toEqual([5_084, 61_000, 3_660_000]);
    expect(waitMs).toBe(3_660_000);
  });
});

describe('what is not enforced', () => {
  it('counts far beyond its limit, is never named, and delays nobody', async () => {
    const shadow: BudgetOptions = { tokens: 10, per: 'minute', enforce: 'never', name: 'trial' };
    const { ask, ann, used } = createUsers([shadow, requests(3)]);

    for (let calls = 0; calls < 3; calls++) expect(kindOf(await ask(100, ann()))).toBe('passed');
    const refused = await ask(100, ann());

    expect(refused.kind === 'shed' && fullOf(refused.refusal)).toEqual(['user ann requests']);
    expect(await used('user|ann|tokens;60000;n=trial')).toBe(300);
  });

  it('while there is room for all is counted too, and refuses once there is none: of money and of running calls as well', async () => {
    const soft = { enforce: 'when-saturated' } as const;
    const { ask, ann, bob, clock } = createUsers(
      [
        { concurrent: 1, ...soft },
        { requests: 1, per: 'hour', ...soft },
      ],
      { models: { 'gpt-4o': { budgets: [{ tokens: 100, per: 'minute' }] } } },
    );
    const pause = createPause();
    const running = ask(40, { ...ann(), during: pause.during });
    await settled();
    expect(kindOf(await ask(40, ann()))).toBe('passed');

    // 80 of 100 are used.
    const refused = await ask(10, ann());

    expect(refused.kind === 'shed' && fullOf(refused.refusal)).toEqual(['user ann concurrent', 'user ann requests']);
    expect(kindOf(await ask(10, bob()))).toBe('passed');
    await pause.end();
    await running;
    await clock.advance(61_000);
    expect(kindOf(await ask(10, ann()))).toBe('passed');
  });

  it.each(['always', 'when-saturated', 'never'] as const)('changes no counter by being enforced %s', async (enforce) => {
    const { ask, ann, used } = createUsers([{ ...tokens(1_000), enforce }]);

    await ask(100, ann());

    expect(await used('user|ann|tokens;60000')).toBe(100);
  });
});

describe('a limit', () => {
  it('of nothing blocks every call, and one without end blocks none', async () => {
    const { ask, gate } = createTestGate({
      scopes: { user: { budgets: (key) => [{ requests: key === 'ann' ? 0 : Infinity, per: 'day' }] } },
      ladder: [],
    });

    expect(reasonOf(await ask(10, { by: gate.as({ user: 'ann' }) }))).toBe('never-fits');
    for (let calls = 0; calls < 5; calls++) expect(kindOf(await ask(10, { by: gate.as({ user: 'bob' }) }))).toBe('passed');
  });

  it('that a plan raises or lowers meets what was counted before', async () => {
    let limit = 100;
    const { ask, gate } = createTestGate({ scopes: { user: { budgets: () => [tokens(limit)] } }, ladder: [] });
    const ann = () => ({ by: gate.as({ user: 'ann' }) });
    await ask(100, ann());
    expect(reasonOf(await ask(100, ann()))).toBe('full');

    limit = 200;
    expect(kindOf(await ask(100, ann()))).toBe('passed');
    limit = 150;
    expect(reasonOf(await ask(10, ann()))).toBe('full');
  });
});

describe('a pool', () => {
  const pooled = (pool: string | ((call: Call) => string)): Options<string> => ({
    models: {
      'gpt-4o': { budgets: [tokens(100)], pool },
      'gpt-4o-mini': { budgets: [tokens(100)], pool },
    },
    scopes: {},
  });

  it('that two models name is one counter for both', async () => {
    const { ask, used } = createUsers([], pooled('deployment-1'));

    await ask(60, { model: 'gpt-4o' });

    expect(reasonOf(await ask(60, { model: 'gpt-4o-mini' }))).toBe('full');
    expect(await used('model|deployment-1|tokens;60000')).toBe(60);
  });

  it('that is a function is asked for each call, which then counts on the key it names', async () => {
    let key = 'key-1';
    const { ask, used } = createUsers(
      [],
      pooled(() => key),
    );
    await ask(60);
    expect(reasonOf(await ask(60))).toBe('full');

    key = 'key-2';
    expect(kindOf(await ask(60))).toBe('passed');

    expect([await used('model|key-1|tokens;60000'), await used('model|key-2|tokens;60000')]).toEqual([60, 60]);
  });

  it('is told the call: its model, its body and who asks', async () => {
    const seen: unknown[] = [];
    const { ask, gate, used } = createTestGate({
      models: {
        'gpt-4o': {
          budgets: [tokens(1_000)],
          pool({ model, body, visit }) {
            seen.push({ model, body, identity: { ...visit.identity } });
            return `of-${visit.identity.organization}`;
          },
        },
      },
      scopes: { organization: { budgets: [] } },
      ladder: [],
    });

    await ask(60, { by: gate.as({ organization: 'acme' }) });

    expect(seen[0]).toEqual({ model: 'gpt-4o', body: bodyOf(60), identity: { organization: 'acme' } });
    expect(await used('model|of-acme|tokens;60000')).toBe(60);
  });

  it('of whatever characters has a counter of its own', async () => {
    const pools = ['a b', 'a|b', '{a}', 'x'.repeat(500)];
    const { gate } = createUsers(
      [],
      pooled(({ body }) => pools[(body as { seed: number }).seed] as string),
    );

    for (const seed of pools.keys())
      expect(kindOf(await gate.run({ body: bodyOf(60, 'gpt-4o', { seed }) }, async () => ({})))).toBe('passed');
  });

  it('whose function throws fails the call, with nothing held', async () => {
    const { ask, counts, sent } = createUsers(
      [],
      pooled(() => {
        throw new Error('no key left');
      }),
    );

    await expect(ask(60)).rejects.toThrow('no key left');

    expect([counts.unsettled, sent.length]).toEqual([0, 0]);
  });
});
