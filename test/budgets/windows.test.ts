import { describe, expect, it } from 'vitest';
import type { BudgetOptions, Per } from '../../src/index.js';
import { bodyOf, createPause, createTestGate, INPUT } from '../support/gate.js';
import { kindOf, reasonOf } from '../support/runs.js';
import { settled } from '../support/virtual-clock.js';

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;

/** Users with these budgets; nothing else is in anybody's way. */
function createUsers(...budgets: readonly BudgetOptions[]) {
  const test = createTestGate({ scopes: { user: { budgets, optional: true } }, ladder: [] });
  const ann = () => ({ by: test.gate.as({ user: 'ann' }) });
  return { ...test, ann };
}

/** A budget of two calls of ten tokens, in each of the dimensions that windows have. */
const TWO_CALLS = {
  tokens: { tokens: 20 },
  inputTokens: { inputTokens: 2 * INPUT },
  outputTokens: { outputTokens: 20 - 2 * INPUT },
  requests: { requests: 2 },
  usd: { usd: (2 * (INPUT * 1 + 7 * 2)) / 1_000_000 },
} as const;

describe.each(Object.entries(TWO_CALLS))('a budget of %s', (_, limit) => {
  it.each<[Per, number]>([
    ['second', SECOND],
    [1_500, 1_500],
    ['minute', MINUTE],
    [5 * MINUTE, 5 * MINUTE],
    ['hour', HOUR],
    [7 * DAY, 7 * DAY],
    [366 * DAY, 366 * DAY],
  ])('for a window of %s lets two calls through, and the third when the first has left the window', async (per, windowMs) => {
    const { gate, ask, clock } = createTestGate({
      defaultPrice: { input: 1, output: 2 },
      scopes: { user: { budgets: [{ ...limit, per } as BudgetOptions] } },
      ladder: [],
    });
    const ann = () => ({ by: gate.as({ user: 'ann' }) });
    await ask(10, ann());
    await clock.advance(windowMs / 4);
    await ask(10, ann());
    await clock.advance(windowMs / 4);

    const third = await ask(10, ann());

    if (third.kind !== 'shed') throw new Error('was let in');
    const { reason, waitMs } = third.refusal;
    expect(reason).toBe('full');
    // From the end of the first call's sixtieth of the window on.
    expect(waitMs).toBeGreaterThan(windowMs / 2);
    expect(waitMs).toBeLessThanOrEqual(windowMs / 2 + Math.ceil(windowMs / 60));
    clock.set(clock.now() + waitMs - 1);
    expect(reasonOf(await ask(10, ann()))).toBe('full');
    clock.set(clock.now() + 1);
    expect(kindOf(await ask(10, ann()))).toBe('passed');
    expect(reasonOf(await ask(10, ann()))).toBe('full');
  });

  it.each<[Per & ('day' | 'month'), string, string]>([
    ['day', 'UTC', '2026-01-02T00:00:00Z'],
    ['day', 'America/New_York', '2026-01-01T05:00:00Z'],
    ['day', 'Asia/Kathmandu', '2026-01-01T18:15:00Z'],
    ['month', 'UTC', '2026-02-01T00:00:00Z'],
    ['month', 'Europe/Berlin', '2026-01-31T23:00:00Z'],
  ])('for a %s in %s lets two calls through, and the third when the next one begins', async (per, timeZone, nextAt) => {
    const { gate, ask, clock } = createTestGate({
      defaultPrice: { input: 1, output: 2 },
      scopes: { user: { budgets: [{ ...limit, per, timeZone } as BudgetOptions] } },
      ladder: [],
    });
    const ann = () => ({ by: gate.as({ user: 'ann' }) });
    await ask(10, ann());
    await ask(10, ann());

    const third = await ask(10, ann());

    expect(third).toMatchObject({ kind: 'shed', refusal: { reason: 'full', waitMs: Date.parse(nextAt) - clock.now() } });
    clock.set(Date.parse(nextAt) - 1);
    expect(reasonOf(await ask(10, ann()))).toBe('full');
    clock.set(Date.parse(nextAt));
    expect(kindOf(await ask(10, ann()))).toBe('passed');
  });
});

describe('input and output', () => {
  it('are limited apart: a long prompt takes nothing from what may be said', async () => {
    const { ann, gate, used } = createUsers({ inputTokens: 50, per: 'minute' }, { outputTokens: 1_000, per: 'minute' });
    const answer = { usage: { prompt_tokens: 48, completion_tokens: 30 } };
    await ann().by.run({ body: bodyOf(INPUT + 30) }, async () => answer);

    const refused = await ann().by.run({ body: bodyOf(INPUT + 30) }, async () => answer);

    expect(refused).toMatchObject({ kind: 'shed', refusal: { full: [{ charge: { dimension: 'inputTokens', scope: 'user' } }] } });
    expect([await used('user|ann|inputTokens;60000'), await used('user|ann|outputTokens;60000')]).toEqual([48, 30]);
    expect((await gate.snapshot()).liveReservations).toBe(0);
  });

  it('of an output budget are refused by what earlier answers really took, not by what they might have', async () => {
    const { ask, ann } = createUsers({ outputTokens: 100, per: 'minute' });

    expect(kindOf(await ask(INPUT + 90, { ...ann(), uses: INPUT + 5 }))).toBe('passed');
    expect(kindOf(await ask(INPUT + 90, { ...ann(), uses: INPUT + 95 }))).toBe('passed');

    const refused = await ask(INPUT + 1, ann());
    expect(refused).toMatchObject({ kind: 'shed', refusal: { full: [{ charge: { dimension: 'outputTokens' } }] } });
  });
});

describe('a cap on one call', () => {
  const run = async (budget: BudgetOptions, body: { readonly model: string }) => {
    const { ann } = createUsers(budget);
    let sent: object | undefined;
    const outcome = await ann().by.run({ body }, async (call) => {
      sent = call.body as object;
      return {};
    });
    return { reason: reasonOf(outcome), sent };
  };

  it.each<[string, BudgetOptions, number]>([
    ['output', { outputTokens: 40, per: 'call' }, 40],
    ['input and output', { tokens: 40, per: 'call' }, 40 - INPUT],
  ])('on %s is written into the body: in the place of more, of nothing, and never of less', async (_, budget, maximum) => {
    expect((await run(budget, bodyOf(INPUT + 500))).sent).toEqual(bodyOf(INPUT + maximum));
    expect((await run(budget, bodyOf(INPUT, 'gpt-4o', { max_tokens: undefined }))).sent).toEqual(bodyOf(INPUT + maximum));
    expect((await run(budget, bodyOf(INPUT + 5))).sent).toEqual(bodyOf(INPUT + 5));
  });

  it('on input refuses a longer prompt for ever, and lets one of just that length through', async () => {
    expect(await run({ inputTokens: INPUT - 1, per: 'call' }, bodyOf(10))).toEqual({ reason: 'never-fits', sent: undefined });
    expect((await run({ inputTokens: INPUT, per: 'call' }, bodyOf(10))).sent).toEqual(bodyOf(10));
  });

  it('lets embeddings through whose input fills it to the last token', async () => {
    const embed = async (limit: number) => {
      const { ann } = createUsers({ tokens: limit, per: 'call' });
      const body = { model: 'text-embedding-3-small', input: [[1, 2, 3, 4, 5]] };
      return ann().by.run({ dialect: 'openai-embeddings', body }, async () => ({}));
    };

    expect(kindOf(await embed(5))).toBe('passed');
    expect(reasonOf(await embed(4))).toBe('never-fits');
  });

  it('uses nothing up, however many calls it lets through', async () => {
    const { ask, ann } = createUsers({ tokens: 50, per: 'call' });

    for (let calls = 0; calls < 20; calls++) expect(kindOf(await ask(50, ann()))).toBe('passed');
  });
});

describe('what runs at the same time', () => {
  it('is let through up to its number for each key, whenever it began, and frees its place when it ends', async () => {
    const { ask, gate, clock, ann } = createUsers({ concurrent: 2 });
    const pauses = [createPause(), createPause()];
    const running = pauses.map(({ during }) => ask(10, { ...ann(), during }));
    await clock.advance(10 * MINUTE);

    const third = await ask(10, ann());
    expect(third).toMatchObject({ kind: 'shed', refusal: { full: [{ waitMs: 0, charge: { dimension: 'concurrent' } }] } });
    expect(kindOf(await ask(10, { by: gate.as({ user: 'bob' }) }))).toBe('passed');
    await pauses[0]?.end();

    expect(kindOf(await ask(10, ann()))).toBe('passed');
    await pauses[1]?.end();
    await Promise.all(running);
  });

  it('is held as long as its call runs, however much longer than a lease that is', async () => {
    const { ask, clock, ann } = createUsers({ concurrent: 1 });
    const pause = createPause();
    const running = ask(10, { ...ann(), during: pause.during });
    await clock.advance(20 * MINUTE);

    expect(reasonOf(await ask(10, ann()))).toBe('full');
    await pause.end();
    await running;
    expect(kindOf(await ask(10, ann()))).toBe('passed');
  });
});

describe('a call that outlasts its window', () => {
  const outlast = async (budget: BudgetOptions, ms: number, uses: number) => {
    const test = createUsers(budget);
    const pause = createPause();
    const running = test.ask(100, { ...test.ann(), uses, during: pause.during });
    await test.clock.advance(ms);
    await pause.end();
    await running;
    await settled();
    return test;
  };
  const today = { kind: 'calendar', unit: 'day', timeZone: 'UTC' } as const;

  it('gets no refund out of a later window, and pays there what it took beyond its hold', async () => {
    const less = await outlast({ tokens: 1_000, per: 'minute' }, 2 * MINUTE, 10);
    const more = await outlast({ tokens: 1_000, per: 'minute' }, 2 * MINUTE, 130);

    expect(await less.used('user|ann|tokens;60000')).toBe(0);
    expect(await more.used('user|ann|tokens;60000')).toBe(30);
  });

  it('over midnight is on the bill of the day it began in', async () => {
    const test = await outlast({ tokens: 100, per: 'day' }, DAY, 500);

    expect(await test.used('user|ann|tokens;day@UTC', today)).toBe(0);
    expect(kindOf(await test.ask(100, test.ann()))).toBe('passed');
    test.clock.set(test.clock.now() - DAY);
    expect(await test.used('user|ann|tokens;day@UTC', today)).toBe(500);
  });
});
