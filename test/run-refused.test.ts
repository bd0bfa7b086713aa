import { describe, expect, it } from 'vitest';
import { cheaperModel } from '../src/ladder/cheaper-model.js';
import { queue } from '../src/ladder/queue.js';
import type { Options } from '../src/options.js';
import { bodyOf, createPause, createTestGate, INPUT } from './support/gate.js';
import { expectNoRejections, forUsers, kindOf, listen, NO_ROOM, reasonOf, tokens, twoModels, USER } from './support/runs.js';
import { settled } from './support/virtual-clock.js';

expectNoRejections();

describe('patience', () => {
  const options = { models: { 'gpt-4o': { budgets: [{ concurrent: 1 }] } }, ladder: [queue({ waitMs: 1_000 })] } as const;

  /** A gate whose only permit is taken. */
  async function busy() {
    const test = createTestGate(options);
    const pause = createPause();
    void test.ask(10, { during: pause.during });
    await settled();
    return { ...test, pause };
  }

  it('is that of the visit, all its runs together', async () => {
    const { ask, clock, gate, pause } = await busy();
    const by = gate.as({});
    const first = ask(10, { by });
    await clock.advance(700);
    await pause.end();
    expect((await first).kind).toBe('queued');
    const taken = createPause();
    void ask(10, { during: taken.during });
    await settled();

    const second = ask(10, { by });
    await clock.advance(299);
    expect(await Promise.race([second, settled()])).toBeUndefined();
    await clock.advance(1);

    expect((await second).kind).toBe('shed');
  });

  it('is used once by runs that wait side by side', async () => {
    const { ask, clock, gate, pause } = await busy();
    const by = gate.as({});
    const both = [ask(10, { by }), ask(10, { by })];
    await clock.advance(600);
    await pause.end();
    expect((await Promise.all(both)).map(kindOf)).toEqual(['queued', 'queued']);
    void ask(10, { during: () => new Promise(() => {}) });
    await settled();

    const third = ask(10, { by });
    await clock.advance(399);
    expect(await Promise.race([third, settled()])).toBeUndefined();
    await clock.advance(1);

    expect((await third).kind).toBe('shed');
  });

  it('of a wrapper that repeats a refused call is used up: it is refused at once', async () => {
    const { ask, clock, gate } = await busy();
    const by = gate.as({});
    const first = ask(10, { by });
    await clock.advance(1_000);
    expect((await first).kind).toBe('shed');
    const timers = clock.timers;

    for (let attempt = 0; attempt < 3; attempt++) expect((await ask(10, { by })).kind).toBe('shed');

    expect(clock.timers).toBe(timers);
  });

  it('is not taken by a wait that is hopeless from the beginning', async () => {
    const { ask, clock, gate } = createTestGate({
      models: { 'gpt-4o': { budgets: [tokens(100)] } },
      ladder: [queue({ waitMs: 1_000 })],
    });
    await ask(100);
    const by = gate.as({});

    expect((await ask(100, { by })).kind).toBe('shed');

    expect(clock.now()).toBe(Date.UTC(2026, 0, 1));
    await clock.advance(60_500);
    const waiting = ask(100, { by });
    await clock.advance(500);
    expect((await waiting).kind).toBe('queued');
  });
});

describe('a full model', () => {
  const chain = (...rooms: readonly number[]): Options<string> => ({
    models: Object.fromEntries(
      rooms.map((room, index) => [
        `m${index}`,
        { budgets: [tokens(room)], cheaper: rooms.length > index + 1 ? [`m${index + 1}`] : [] },
      ]),
    ),
    ladder: [cheaperModel()],
  });

  it('is stepped down from along the chain of substitutes, up to the first with room', async () => {
    const { ask, sent } = createTestGate(chain(NO_ROOM, NO_ROOM, 100, 100));

    expect((await ask(100, { model: 'm0' })).kind).toBe('cheaper');
    expect(sent.map(({ model }) => model)).toEqual(['m2']);
    expect((await ask(100, { model: 'm0' })).kind).toBe('cheaper');
    expect(sent.map(({ model }) => model)).toEqual(['m2', 'm3']);
    expect((await ask(100, { model: 'm0' })).kind).toBe('shed');
  });

  it('is stepped down from to each other model once, though they name one another', async () => {
    const models = { a: { budgets: [tokens(NO_ROOM)], cheaper: ['b'] }, b: { budgets: [tokens(NO_ROOM)], cheaper: ['a'] } };
    const { ask, gate } = createTestGate({ models, ladder: [cheaperModel(), cheaperModel()] });
    const skips = listen(gate, 'step-skipped');

    expect(reasonOf(await ask(100, { model: 'a' }))).toBe('never-fits');

    expect(skips).toMatchObject([
      { step: 'cheaperModel', why: 'no-help' },
      { step: 'cheaperModel', why: 'no-help' },
    ]);
  });

  it('is not stepped down from when the caller would be over its own budget all the same', async () => {
    const { ask, gate } = createTestGate({ ...twoModels(NO_ROOM, 100), ...forUsers(tokens(NO_ROOM)), ladder: [cheaperModel()] });
    const skips = listen(gate, 'step-skipped');

    expect(kindOf(await ask(100, { by: gate.as({ user: 'ann' }) }))).toBe('shed');

    expect(skips).toMatchObject([{ step: 'cheaperModel', why: 'cannot-help' }]);
  });

  it('skips the queue and ends as too large when nothing can ever make it fit', async () => {
    const { ask, gate, clock } = createTestGate({
      models: {
        'gpt-4o': { budgets: [{ inputTokens: 2, per: 'minute' }], cheaper: ['gpt-4o-mini'] },
        'gpt-4o-mini': { budgets: [{ tokens: 2, per: 'call' }] },
      },
      ladder: [queue({ waitMs: 5_000 }), cheaperModel()],
    });
    const [skips, sheds] = [listen(gate, 'step-skipped'), listen(gate, 'call-shed')];

    expect(reasonOf(await ask(100))).toBe('never-fits');

    expect(clock.timers).toBe(0);
    expect(skips).toMatchObject([
      { step: 'queue', why: 'cannot-help' },
      { step: 'cheaperModel', why: 'no-help' },
    ]);
    expect(sheds).toMatchObject([{ reason: 'never-fits', status: 413 }]);
  });

  it('skips the queue and fits on a larger substitute when it is too large for the model alone', async () => {
    const { ask, sent } = createTestGate({
      models: { 'gpt-4o': { budgets: [{ inputTokens: 2, per: 'minute' }], cheaper: ['gpt-4o-mini'] }, 'gpt-4o-mini': {} },
      ladder: [queue({ waitMs: 5_000 }), cheaperModel()],
    });

    expect((await ask(100)).kind).toBe('cheaper');
    expect(sent).toEqual([bodyOf(100, 'gpt-4o-mini')]);
  });

  it('has its own caps on one call for each substitute', async () => {
    const { ask, sent } = createTestGate({
      models: {
        'gpt-4o': { budgets: [tokens(NO_ROOM)], cheaper: ['gpt-4o-mini'] },
        'gpt-4o-mini': { budgets: [{ outputTokens: 20, per: 'call' }] },
      },
      ladder: [cheaperModel()],
    });

    await ask(100);

    expect(sent).toEqual([bodyOf(20 + INPUT, 'gpt-4o-mini')]);
  });
});

describe('a model that is not in the list', () => {
  it('counts on the named scopes only', async () => {
    const { ask, gate, used } = createTestGate({ models: { 'gpt-4o': { budgets: [tokens(10)] } }, ...forUsers(tokens(1_000)) });

    expect(kindOf(await ask(100, { by: gate.as({ user: 'ann' }), model: 'made-up-1' }))).toBe('passed');

    expect(await used(USER)).toBe(100);
    expect((await gate.snapshot()).budgets).toMatchObject([{ used: 0 }]);
  });

  it('is refused, naming the others, where only those are allowed', async () => {
    const { ask, sent } = createTestGate({ ...twoModels(1_000, 1_000), unknownModel: 'refuse' });

    await expect(ask(100, { model: 'made-up-1' })).rejects.toMatchObject({
      code: 'SPILLWAY_BAD_CALL',
      status: 400,
      message: expect.stringContaining('gpt-4o, gpt-4o-mini'),
    });
    expect(sent).toEqual([]);
  });
});

describe('a soft budget', () => {
  const options = (limit: number): Options<string> => ({
    models: { 'gpt-4o': { budgets: [tokens(1_000)] } },
    ...forUsers({ tokens: limit, per: 'minute', enforce: 'when-saturated' }),
    ladder: [],
  });

  it('is passed while there is room for all, and holds once there is little left', async () => {
    const { ask, gate } = createTestGate(options(100));
    const by = () => gate.as({ user: 'ann' });

    expect(kindOf(await ask(400, { by: by() }))).toBe('passed');
    expect(kindOf(await ask(400, { by: by() }))).toBe('passed');
    expect(kindOf(await ask(100, { by: by() }))).toBe('shed');
    expect(kindOf(await ask(100, { by: gate.as({ user: 'bob' }) }))).toBe('passed');
  });

  it('lets nobody wait for it who need not, though others still do', async () => {
    const { ask, gate, clock } = createTestGate({
      ...options(100),
      models: { 'gpt-4o': { budgets: [{ tokens: 1_000, per: 10_000 }] } },
      ladder: [queue({ waitMs: 70_000 })],
    });
    const ann = () => gate.as({ user: 'ann' });
    for (let i = 0; i < 2; i++) await ask(400, { by: ann() });
    const waiting = ask(100, { by: ann() });
    await clock.advance(20_000);
    expect(await gate.snapshot()).toMatchObject({ queueDepth: 1 });

    const later = ask(100, { by: ann() });
    expect(await Promise.race([later.then(kindOf), settled()])).toBe('passed');
    await clock.advance(41_000);

    expect(kindOf(await waiting)).toBe('queued');
  });
});

describe('a shadow budget', () => {
  it('counts, refuses nobody and lets nobody wait', async () => {
    const { ask, gate, used } = createTestGate({ ...forUsers({ ...tokens(10), enforce: 'never' }), ladder: [] });

    expect(kindOf(await ask(100, { by: gate.as({ user: 'ann' }) }))).toBe('passed');
    expect(kindOf(await ask(100, { by: gate.as({ user: 'ann' }) }))).toBe('passed');

    expect(await used(USER)).toBe(200);
  });
});

describe('fairness', () => {
  it('keeps somebody who waits for a budget of his own from holding up all who need only the model', async () => {
    const { ask, gate, clock } = createTestGate({
      models: { 'gpt-4o': { budgets: [{ tokens: 600, per: 'second' }] } },
      scopes: { user: { budgets: [{ tokens: 500, per: 10_000 }], optional: true } },
      ladder: [queue({ waitMs: 12_000 })],
    });
    const by = (user: string) => gate.as({ user });
    await ask(500, { by: by('ann') });
    const heavy = ask(400, { by: by('ann') });
    await settled();

    const light = ask(400, { by: by('bob') });
    await clock.advance(1_100);
    expect(await Promise.race([light.then(kindOf), settled()])).toBe('queued');
    expect(kindOf(await ask(100, { by: by('cid') }))).toBe('passed');
    await clock.advance(10_000);

    expect(kindOf(await heavy)).toBe('queued');
  });

  it('lets nobody whose own budget has room again past those who wait for the model', async () => {
    const { ask, gate, clock } = createTestGate({
      models: { 'gpt-4o': { budgets: [tokens(500)] } },
      scopes: { user: { budgets: [{ requests: 1, per: 'second' }], optional: true } },
      ladder: [queue({ waitMs: 200_000 })],
    });
    const order: string[] = [];
    const wait = (amount: number, user: string) =>
      void ask(amount, { by: gate.as({ user }) }).then(({ kind }) => order.push(`${user} ${kind}`));
    for (const user of ['ann', 'bob']) await ask(200, { by: gate.as({ user }) });
    wait(300, 'ann');
    await settled();
    wait(50, 'bob');

    // Both wait for themselves first. What the model has left then would be enough for Bob, but not for Ann, who came before.
    await clock.advance(10_000);
    expect(order).toEqual([]);
    await clock.advance(100_000);

    expect(order).toEqual(['ann queued', 'bob queued']);
  });
});
