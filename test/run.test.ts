import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { BudgetOptions } from '../src/budget/budget.js';
import type { Outcome } from '../src/call.js';
import { cheaperModel } from '../src/ladder/cheaper-model.js';
import { queue } from '../src/ladder/queue.js';
import type { Step } from '../src/ladder/step.js';
import type { EventName } from '../src/observe/events.js';
import type { Options } from '../src/options.js';
import type { Gate } from '../src/spillway.js';
import { answerOf, bodyOf, createPause, createTestCore, createTestGate, INPUT, MINUTE, RUNNING } from './support/gate.js';
import { settled } from './support/virtual-clock.js';

const MODEL = 'model|gpt-4o|tokens;60000';
const MINI = 'model|gpt-4o-mini|tokens;60000';
const USER = 'user|ann|tokens;60000';

const tokens = (limit: number): BudgetOptions => ({ tokens: limit, per: 'minute' });
const requests = (limit: number): BudgetOptions => ({ requests: limit, per: 'minute' });

/** Less than any call takes. */
const NO_ROOM = INPUT - 1;

/** Two models of this many tokens a minute, the first with the second as its substitute. */
const twoModels = (first: number, second: number): Options<string> => ({
  models: { 'gpt-4o': { budgets: [tokens(first)], cheaper: ['gpt-4o-mini'] }, 'gpt-4o-mini': { budgets: [tokens(second)] } },
});
const forUsers = (...budgets: readonly BudgetOptions[]): Options<string> => ({ scopes: { user: { budgets, optional: true } } });

function listen<E extends EventName>(gate: Gate, name: E) {
  const events: object[] = [];
  gate.on(name, (event) => void events.push(event));
  return events;
}

const kindOf = (outcome: Outcome<unknown>) => outcome.kind;
const reasonOf = (outcome: Outcome<unknown>) => (outcome.kind === 'shed' ? outcome.refusal.reason : undefined);

describe('a run', () => {
  it('is sent as it came, and settled from the usage that its value shows', async () => {
    const { ask, sent, used } = createTestGate({ models: { 'gpt-4o': { budgets: [tokens(1_000)] } } });

    const outcome = await ask(100, { uses: 40 });

    expect(outcome).toMatchObject({ kind: 'passed', value: answerOf(40) });
    expect(sent).toEqual([bodyOf(100)]);
    expect(await used(MODEL)).toBe(40);
  });

  it('holds its estimate while it is under way', async () => {
    const { ask, used } = createTestGate({ models: { 'gpt-4o': { budgets: [tokens(1_000)] } } });
    const pause = createPause();

    const running = ask(100, { uses: 40, during: pause.during });
    await settled();
    expect(await used(MODEL)).toBe(100);
    await pause.end();
    await running;

    expect(await used(MODEL)).toBe(40);
  });

  it('is refused without being sent, and changes no count', async () => {
    const { ask, sent, used } = createTestGate({ models: { 'gpt-4o': { budgets: [tokens(150)] } }, ladder: [] });
    await ask(100);

    const outcome = await ask(100);

    expect(outcome).toMatchObject({ kind: 'shed', refusal: { reason: 'full', full: [{ charge: { scope: 'model' } }] } });
    expect(sent).toHaveLength(1);
    expect(await used(MODEL)).toBe(100);
  });

  it('passes on what it throws, keeping the request that the provider may have counted and no token', async () => {
    const { gate, used } = createTestGate({ models: { 'gpt-4o': { budgets: [tokens(1_000), requests(10)] } } });
    const failure = Object.assign(new Error('overloaded'), { status: 503 });

    await expect(gate.run({ body: bodyOf(100) }, () => Promise.reject(failure))).rejects.toBe(failure);

    expect(await used(MODEL)).toBe(0);
    expect(await used('model|gpt-4o|requests;60000')).toBe(1);
    expect(await gate.snapshot()).toMatchObject({ liveReservations: 0 });
  });

  it('pays for what was being made when it is aborted', async () => {
    const { gate, used } = createTestGate({ models: { 'gpt-4o': { budgets: [tokens(1_000)] } } });
    const abort = () => Promise.reject(new DOMException('aborted', 'AbortError'));

    await expect(gate.run({ body: bodyOf(100) }, abort)).rejects.toThrow('aborted');
    expect(await used(MODEL)).toBe(100);
    await expect(gate.run({ body: bodyOf(100, 'gpt-4o', { stream: true }) }, abort)).rejects.toThrow('aborted');
    expect(await used(MODEL)).toBe(100 + INPUT);
  });
});

describe('a run inside another', () => {
  it('draws on its hold when it asks for the same model', async () => {
    const { ask, used } = createTestGate({ models: { 'gpt-4o': { budgets: [tokens(100)] } }, ladder: [] });
    let inner: Outcome<unknown> | undefined;
    let during = 0;

    await ask(100, {
      async during() {
        inner = await ask(80, { uses: 60 });
        during = await used(MODEL);
      },
    });

    expect(inner).toMatchObject({ kind: 'passed' });
    // 60 really used, and 20 that the outer one still holds.
    expect(during).toBe(80);
    expect(await used(MODEL)).toBe(60);
  });

  it('needs room only for the difference', async () => {
    const { ask } = createTestGate({ models: { 'gpt-4o': { budgets: [tokens(200)] } }, ladder: [] });
    await ask(50);
    const kinds: string[] = [];

    await ask(100, {
      async during() {
        kinds.push(kindOf(await ask(151)));
        kinds.push(kindOf(await ask(150)));
      },
    });

    expect(kinds).toEqual(['shed', 'passed']);
  });

  it('draws what is left of the hold, and not twice', async () => {
    const { ask, used } = createTestGate({ models: { 'gpt-4o': { budgets: [tokens(140)] } }, ladder: [] });
    const kinds: string[] = [];

    await ask(100, {
      async during() {
        kinds.push(kindOf(await ask(70)));
        kinds.push(kindOf(await ask(71)));
        kinds.push(kindOf(await ask(70)));
      },
    });

    expect(kinds).toEqual(['passed', 'shed', 'passed']);
    expect(await used(MODEL)).toBe(140);
  });

  it('of another model reserves for itself, under the same identity', async () => {
    const { ask, gate, used } = createTestGate({ ...twoModels(1_000, 1_000), ...forUsers(tokens(1_000)) });
    const pause = createPause();
    const by = gate.as({ user: 'ann' });

    const running = ask(100, { by, during: () => ask(50, { model: 'gpt-4o-mini', during: pause.during }) });
    await settled();
    expect([await used(MODEL), await used(MINI), await used(USER)]).toEqual([100, 50, 150]);
    await pause.end();
    await running;

    expect([await used(MODEL), await used(MINI), await used(USER)]).toEqual([0, 50, 50]);
  });

  it('is sent with the model that was admitted for the run around it', async () => {
    const { ask, sent, used } = createTestGate({ ...twoModels(NO_ROOM, 100), ladder: [cheaperModel()] });
    let inner: Outcome<unknown> | undefined;

    const outer = await ask(100, {
      async during() {
        inner = await ask(100);
      },
    });

    expect([outer.kind, inner?.kind]).toEqual(['cheaper', 'cheaper']);
    expect(sent.map(({ model }) => model)).toEqual(['gpt-4o-mini', 'gpt-4o-mini']);
    expect([await used(MODEL), await used(MINI)]).toEqual([0, 100]);
  });

  it('draws as well when it asks by itself for the model that was admitted', async () => {
    const { ask, sent } = createTestGate({ ...twoModels(NO_ROOM, 100), ladder: [cheaperModel()] });
    let inner: Outcome<unknown> | undefined;

    await ask(100, {
      async during() {
        inner = await ask(100, { model: 'gpt-4o-mini' });
      },
    });

    expect(inner?.kind).toBe('passed');
    expect(sent).toHaveLength(2);
  });

  it('draws through a run of another model between them', async () => {
    const { ask, used } = createTestGate({ ...twoModels(100, 100), ladder: [] });
    let inner: Outcome<unknown> | undefined;

    await ask(100, {
      during: () =>
        ask(10, {
          model: 'gpt-4o-mini',
          async during() {
            inner = await ask(100, { uses: 70 });
          },
        }),
    });

    expect(inner?.kind).toBe('passed');
    expect([await used(MODEL), await used(MINI)]).toEqual([70, 0]);
  });

  it('of a model that is in no list draws and is not rewritten', async () => {
    const { ask, gate, sent, used } = createTestGate({ ...forUsers(tokens(100)), ladder: [] });
    const by = gate.as({ user: 'ann' });
    let inner: Outcome<unknown> | undefined;

    await ask(100, {
      by,
      model: 'made-up-1',
      async during() {
        inner = await ask(100, { model: 'made-up-1', uses: 30 });
      },
    });

    expect(inner?.kind).toBe('passed');
    expect(sent).toEqual([bodyOf(100, 'made-up-1'), bodyOf(100, 'made-up-1')]);
    expect(await used(USER)).toBe(30);
  });

  it('under a request whose call nobody could read reserves for itself', async () => {
    const { core, visitIn, callIn, run, used } = createTestCore({ models: { 'gpt-4o': { budgets: [tokens(100)] } } });
    const outer = visitIn();
    const unread = core.draft(outer, undefined, undefined, { question: 'hi' });
    let inner: Outcome<unknown> | undefined;

    await run(unread, {
      kind: 'request',
      async during() {
        inner = await run(callIn(visitIn(), 100), { uses: 40 });
      },
    });

    expect(inner?.kind).toBe('passed');
    expect(await used(MODEL)).toBe(40);
  });

  it('goes on with its hold though others of that line wait, and behind them once it is used up', async () => {
    const { ask, gate } = createTestGate({
      models: { 'gpt-4o': { budgets: [tokens(300)] } },
      ladder: [queue({ waitMs: 200_000 })],
    });
    const [first, second] = [createPause(), createPause()];
    const inner: Promise<Outcome<unknown>>[] = [];
    void ask(100, { during: async () => void (await ask(250)) });
    void ask(100, {
      async during() {
        await first.during();
        inner.push(ask(100));
        await second.during();
        inner.push(ask(50));
        await settled();
      },
    });
    await settled();
    expect(await gate.snapshot()).toMatchObject({ queueDepth: 1 });

    await first.end();
    expect(await Promise.race([inner[0]?.then(kindOf), settled()])).toBe('passed');
    await second.end();

    expect(await Promise.race([inner[1]?.then(kindOf), settled()])).toBeUndefined();
    expect(await gate.snapshot()).toMatchObject({ queueDepth: 2, budgets: [{ used: 200 }] });
    await gate.close();
  });

  it('stands on its own once the run around it has ended', async () => {
    const { ask, used } = createTestGate({ models: { 'gpt-4o': { budgets: [tokens(150)] } }, ladder: [] });
    const [outer, inner] = [createPause(), createPause()];
    let late: Promise<Outcome<unknown>> | undefined;

    const running = ask(100, {
      async during() {
        late = (async () => {
          await inner.during();
          return ask(150);
        })();
        await outer.during();
      },
    });
    await outer.end();
    await running;
    expect(await used(MODEL)).toBe(100);
    await inner.end();

    expect(reasonOf((await late) as Outcome<unknown>)).toBe('full');
  });
});

describe('the units of a visit', () => {
  const REQUESTS = 'user|ann|requests;60000';
  const CONCURRENT = 'user|ann|concurrent;running';
  const scoped = (...budgets: readonly BudgetOptions[]) => createTestGate({ ...forUsers(...budgets), ladder: [] });

  it('are one request however many calls it makes, one after the other or at once', async () => {
    const { ask, gate, used } = scoped(requests(1));
    const by = gate.as({ user: 'ann' });

    const kinds = (await Promise.all([1, 2, 3].map(() => ask(10, { by })))).map(kindOf);
    kinds.push(kindOf(await ask(10, { by })));

    expect(kinds).toEqual(['passed', 'passed', 'passed', 'passed']);
    expect(await used(REQUESTS)).toBe(1);
  });

  it('are one request for each visit', async () => {
    const { ask, gate, used } = scoped(requests(1));

    await ask(10, { by: gate.as({ user: 'ann' }) });

    expect(reasonOf(await ask(10, { by: gate.as({ user: 'ann' }) }))).toBe('full');
    expect(await used(REQUESTS)).toBe(1);
  });

  it('are asked for by one of parallel runs at a time: refused, none passes unpaid', async () => {
    const { ask, gate, used } = scoped(requests(1));
    await ask(10, { by: gate.as({ user: 'ann' }) });
    const by = gate.as({ user: 'ann' });

    const outcomes = await Promise.all([ask(10, { by }), ask(10, { by })]);

    expect(outcomes.map(reasonOf)).toEqual(['full', 'full']);
    expect(await used(REQUESTS)).toBe(1);
  });

  it('come back when the only call failed, and are paid by the next one', async () => {
    const { ask, gate, used } = scoped(requests(1));
    const by = gate.as({ user: 'ann' });
    await expect(by.run({ body: bodyOf(10) }, () => Promise.reject(new Error('down')))).rejects.toThrow('down');
    expect(await used(REQUESTS)).toBe(0);

    await ask(10, { by });

    expect(await used(REQUESTS)).toBe(1);
  });

  it('come back when the call that paid them failed and so did the one that passed on them before', async () => {
    const { ask, gate, used } = scoped(requests(5));
    const by = gate.as({ user: 'ann' });
    const [first, second] = [createPause(), createPause()];
    const failAfter = (pause: typeof first) => async () => {
      await pause.during();
      throw new Error('down');
    };

    const ended = Promise.allSettled([first, second].map((pause) => by.run({ body: bodyOf(10) }, failAfter(pause))));
    await settled();
    await second.end();
    await first.end();
    await ended;
    expect(await used(REQUESTS)).toBe(0);
    await ask(10, { by });

    expect(await used(REQUESTS)).toBe(1);
  });

  it('stay when the call that paid them failed and another one of the visit passed on them', async () => {
    const { ask, gate, used } = scoped(requests(5));
    const by = gate.as({ user: 'ann' });
    const pause = createPause();
    const fail = async () => {
      await pause.during();
      throw new Error('down');
    };

    const ended = Promise.allSettled([by.run({ body: bodyOf(10) }, fail), ask(10, { by, during: pause.during })]);
    await settled();
    await pause.end();
    await ended;

    expect(await used(REQUESTS)).toBe(1);
  });

  it('hold concurrency once for runs inside one another, and for each of those side by side', async () => {
    const { ask, gate, used } = scoped({ concurrent: 5 });
    const by = gate.as({ user: 'ann' });
    const pause = createPause();
    const nested = () => ask(10, { by, during: () => ask(10, { by, during: pause.during }) });

    const running = Promise.all([nested(), nested()]);
    await settled();
    expect(await used(CONCURRENT, RUNNING)).toBe(2);
    await pause.end();
    await running;

    expect(await used(CONCURRENT, RUNNING)).toBe(0);
  });

  it('hold concurrency again for a run that begins inside one which has ended', async () => {
    const { ask, gate, used } = scoped({ concurrent: 5 });
    const by = gate.as({ user: 'ann' });
    const [begin, pause] = [createPause(), createPause()];
    let late: Promise<Outcome<unknown>> | undefined;

    await ask(10, {
      by,
      async during() {
        late = begin.during().then(() => ask(10, { by, during: pause.during }));
      },
    });
    await begin.end();
    expect(await used(CONCURRENT, RUNNING)).toBe(1);
    await pause.end();
    await late;

    expect(await used(CONCURRENT, RUNNING)).toBe(0);
  });

  it('let runs inside pass when side by side they fill the concurrency', async () => {
    const { ask, gate } = scoped({ concurrent: 2 });
    const by = gate.as({ user: 'ann' });
    const pause = createPause();
    let inner: Outcome<unknown> | undefined;

    const first = ask(10, {
      by,
      async during() {
        await pause.during();
        inner = await ask(10, { by });
      },
    });
    const second = ask(10, { by, during: pause.during });
    await settled();
    await pause.end();
    await Promise.all([first, second]);

    expect(inner?.kind).toBe('passed');
  });

  it('count calls, and not visits, on the model', async () => {
    const { ask, gate, used } = createTestGate({ models: { 'gpt-4o': { budgets: [requests(10)] } } });
    const by = gate.as({});

    await Promise.all([ask(10, { by }), ask(10, { by })]);
    await ask(10, { during: () => ask(10) });

    expect(await used('model|gpt-4o|requests;60000')).toBe(3);
  });
});

describe('a request of several calls', () => {
  const options = { models: { 'gpt-4o': { budgets: [tokens(300), requests(3)] } }, ...forUsers(requests(1)), ladder: [] };

  it('is admitted whole, or not at all', async () => {
    const { visitIn, callIn, run, used } = createTestCore(options);
    const pause = createPause();

    const running = run(callIn(visitIn({ identity: { user: 'ann' } }), 100, 'gpt-4o', 3), {
      kind: 'request',
      during: pause.during,
    });
    await settled();
    expect([await used(MODEL), await used('model|gpt-4o|requests;60000'), await used('user|ann|requests;60000')]).toEqual([
      300, 3, 1,
    ]);
    expect(reasonOf(await run(callIn(visitIn(), 100)))).toBe('full');
    await pause.end();
    await running;
  });

  it('gives its calls room, and gets back what they leave', async () => {
    const { visitIn, callIn, run, used } = createTestCore(options);
    const inner: string[] = [];

    await run(callIn(visitIn({ identity: { user: 'ann' } }), 100, 'gpt-4o', 3), {
      kind: 'request',
      async during() {
        for (let i = 0; i < 2; i++) inner.push(kindOf(await run(callIn(visitIn(), 100), { uses: 60 })));
      },
    });

    expect(inner).toEqual(['passed', 'passed']);
    expect([await used(MODEL), await used('model|gpt-4o|requests;60000'), await used('user|ann|requests;60000')]).toEqual([
      120, 2, 1,
    ]);
  });

  it('that was one call after all is charged as one', async () => {
    const { visitIn, callIn, run, used } = createTestCore(options);

    await run(callIn(visitIn(), 100, 'gpt-4o', 3), { kind: 'request', uses: 60 });

    expect([await used(MODEL), await used('model|gpt-4o|requests;60000')]).toEqual([60, 1]);
  });
});

describe('concurrency', () => {
  const COUNTER = 'model|gpt-4o|concurrent;running';
  const options = { models: { 'gpt-4o': { budgets: [{ concurrent: 1 }] } } } as const;

  it('is freed when the call ends, and lets the next one in at once', async () => {
    const { ask, clock } = createTestGate({ ...options, ladder: [queue({ waitMs: 5_000 })] });
    const pause = createPause();
    const first = ask(10, { during: pause.during });
    await clock.advance(400);
    const second = ask(10);
    await clock.advance(600);

    await pause.end();

    expect((await first).kind).toBe('passed');
    expect((await second).kind).toBe('queued');
    expect(clock.now() - Date.UTC(2026, 0, 1)).toBe(1_000);
  });

  it('is that of the call and not of the request around it', async () => {
    const { visitIn, callIn, run, used } = createTestCore({ ...options, ladder: [] });
    const seen: number[] = [];

    await run(callIn(visitIn(), 10), {
      kind: 'request',
      async during() {
        seen.push(await used(COUNTER, RUNNING));
        await run(callIn(visitIn(), 10), {
          async during() {
            seen.push(await used(COUNTER, RUNNING));
          },
        });
        seen.push(await used(COUNTER, RUNNING));
        seen.push((await run(callIn(visitIn(), 10))).kind === 'passed' ? 1 : -1);
      },
    });

    expect(seen).toEqual([1, 1, 0, 1]);
    expect(await used(COUNTER, RUNNING)).toBe(0);
  });
});

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

describe('budgets that the application looks up', () => {
  const lookedUp = (budgets: (key: string) => unknown): Options<string> => ({
    models: { 'gpt-4o': { budgets: [tokens(1_000)] } },
    scopes: { user: { budgets: budgets as never, optional: true } },
    ladder: [],
  });

  it('hold for their key, now or later', async () => {
    const plans: Record<string, BudgetOptions[]> = { ann: [tokens(50)], bob: [tokens(500)] };
    for (const budgets of [(key: string) => plans[key], async (key: string) => plans[key]]) {
      const { ask, gate } = createTestGate(lookedUp(budgets));

      expect(kindOf(await ask(100, { by: gate.as({ user: 'ann' }) }))).toBe('passed');
      expect(kindOf(await ask(100, { by: gate.as({ user: 'ann' }) }))).toBe('shed');
      expect(kindOf(await ask(100, { by: gate.as({ user: 'bob' }) }))).toBe('passed');
    }
  });

  it.each([
    ['rejects', () => Promise.reject(new Error('no database'))],
    [
      'throws',
      () => {
        throw new Error('no database');
      },
    ],
  ])('reject the run with nothing held when the look-up %s', async (_, budgets) => {
    const { ask, gate, sent, used } = createTestGate(lookedUp(budgets));

    await expect(ask(100, { by: gate.as({ user: 'ann' }) })).rejects.toThrow('no database');

    expect(sent).toEqual([]);
    expect(await used(MODEL)).toBe(0);
    expect(await gate.snapshot()).toMatchObject({ liveReservations: 0 });
  });

  it('pass over the step that they fail in, and nobody is held up', async () => {
    let isDown = false;
    const { ask, gate, clock } = createTestGate({
      ...lookedUp(() => (isDown ? Promise.reject(new Error('no database')) : [{ concurrent: 1 }])),
      ladder: [queue({ waitMs: 2_000 })],
    });
    const skips = listen(gate, 'step-skipped');
    const pause = createPause();
    void ask(10, { by: gate.as({ user: 'ann' }), during: pause.during });
    await settled();
    const waiting = ask(10, { by: gate.as({ user: 'ann' }) });
    await settled();
    isDown = true;

    await pause.end();

    expect(kindOf(await waiting)).toBe('shed');
    expect(skips).toMatchObject([{ step: 'queue', why: 'failed', error: { message: 'no database' } }]);
    expect(clock.timers).toBeLessThanOrEqual(1);
  });
});

describe('a store that fails', () => {
  const failure = new Error('connection refused');
  const models = { 'gpt-4o': { budgets: [tokens(1_000)] } } as const;

  it.each([
    ['rejects', () => Promise.reject(failure)],
    [
      'throws at once',
      () => {
        throw failure;
      },
    ],
  ])('lets nothing through while reserving %s, and leaks nothing', async (_, reserve) => {
    const { ask, gate, sent } = createTestGate({ models, ladder: [queue({ waitMs: 1_000 }), cheaperModel()] }, (store) => ({
      ...bound(store),
      reserve,
    }));
    const [failures, sheds] = [listen(gate, 'store-failed'), listen(gate, 'call-shed')];

    expect(reasonOf(await ask(100))).toBe('closed');

    expect(sent).toEqual([]);
    expect(failures).toEqual([{ operation: 'reserve', error: failure }]);
    expect(sheds).toMatchObject([{ reason: 'closed', status: 503 }]);
    expect(await gate.snapshot()).toMatchObject({ liveReservations: 0, queueDepth: 0 });
  });

  it('holds nothing when the answer to a reservation got lost, before or after it arrived', async () => {
    for (const isLate of [false, true]) {
      const { ask, counts, used } = createTestGate({ models, ladder: [] }, (store) => ({
        ...bound(store),
        async reserve(id, items, how) {
          if (isLate) setImmediate(() => void store.reserve(id, items, how));
          else await store.reserve(id, items, how);
          throw failure;
        },
      }));

      expect(reasonOf(await ask(100))).toBe('closed');
      await settled();

      expect(await used(MODEL)).toBe(0);
      expect(counts.unsettled).toBe(0);
    }
  });

  it.each([
    ['rejects', () => Promise.reject(failure)],
    [
      'throws at once',
      () => {
        throw failure;
      },
    ],
  ])('loses a settlement and nothing else when settling %s', async (_, settle) => {
    const { ask, gate } = createTestGate({ models }, (store) => ({ ...bound(store), settle }));
    const failures = listen(gate, 'store-failed');

    expect(await ask(100, { uses: 40 })).toMatchObject({ kind: 'passed', value: answerOf(40) });
    await settled();

    expect(failures).toEqual([{ operation: 'settle', error: failure }]);
    expect(await gate.snapshot()).toMatchObject({ liveReservations: 0 });
    expect(gate.usage({ scope: 'global' })).toMatchObject([{ inputTokens: INPUT, outputTokens: 40 - INPUT }]);
  });

  it('passes on what the call itself threw when the settlement fails too', async () => {
    const { gate } = createTestGate({ models }, (store) => ({ ...bound(store), settle: () => Promise.reject(failure) }));

    await expect(gate.run({ body: bodyOf(10) }, () => Promise.reject(new Error('down')))).rejects.toThrow('down');
  });

  it('is asked again to prolong what runs, after it failed to', async () => {
    const renew = vi
      .fn()
      .mockRejectedValueOnce(failure)
      .mockImplementationOnce(() => {
        throw failure;
      });
    const { ask, clock, gate } = createTestGate({ models, leaseMs: 3_000 }, (store) => ({ ...bound(store), renew }));
    const failures = listen(gate, 'store-failed');
    const pause = createPause();
    const running = ask(100, { during: pause.during });

    await clock.advance(3_000);
    expect(renew).toHaveBeenCalledTimes(3);
    expect(failures).toMatchObject([{ operation: 'renew' }, { operation: 'renew' }]);
    await pause.end();
    await running;
    await clock.advance(3_000);

    expect(renew).toHaveBeenCalledTimes(3);
    expect(clock.timers).toBe(0);
  });
});

describe('steps of the application', () => {
  const step = (attempt: Step['attempt'], name = 'own'): Step => ({ name, canHelp: () => true, attempt });

  it('are passed over when they throw, with the room they were given for another call', async () => {
    const { ask, gate, sent, used } = createTestGate({
      ...twoModels(NO_ROOM, 100),
      ...forUsers(requests(1)),
      ladder: [
        step(async (walk) => {
          await walk.admit(walk.onModel(walk.call, 'gpt-4o-mini'));
          throw new Error('broken step');
        }),
        cheaperModel(),
      ],
    });

    expect(kindOf(await ask(100, { by: gate.as({ user: 'ann' }) }))).toBe('cheaper');

    expect(sent).toHaveLength(1);
    expect(await used(MINI)).toBe(100);
    expect(await used('user|ann|requests;60000')).toBe(1);
    expect(await gate.snapshot()).toMatchObject({ liveReservations: 0 });
  });

  it('keep one admission, however many they ask for', async () => {
    const { ask, gate, used } = createTestGate({
      ...twoModels(NO_ROOM, 1_000),
      ladder: [
        step(async (walk) => {
          const lesser = walk.onModel(walk.call, 'gpt-4o-mini');
          const [, found] = [await walk.admit(lesser), await walk.admit(lesser), await walk.admit(lesser)];
          return found as never;
        }),
      ],
    });

    expect((await ask(100, { uses: 60 })).kind).toBe('cheaper');

    expect(await used(MINI)).toBe(60);
    expect(await gate.snapshot()).toMatchObject({ liveReservations: 0 });
  });

  it('may shorten the call, which is then told apart from one that passed', async () => {
    const { ask, sent } = createTestGate({
      models: { 'gpt-4o': { budgets: [tokens(150)] } },
      ladder: [
        step(async (walk) => {
          const shorter = { ...walk.call, maximumOutputTokens: 40, expectedOutputTokens: 40 };
          const found = await walk.admit(shorter);
          return 'charges' in found ? found : undefined;
        }),
      ],
    });
    await ask(100);

    expect((await ask(100, { uses: 43 })).kind).toBe('shorter');
    expect(sent[1]).toEqual(bodyOf(40 + INPUT));
  });

  it('may answer themselves, which is counted as an answer and costs nothing', async () => {
    const answer = { kind: 'static', model: 'faq', text: 'nine to five' } as const;
    const { ask, gate, used } = createTestGate({ ...twoModels(NO_ROOM, NO_ROOM), ladder: [step(async () => answer)] });

    expect(await ask(100)).toMatchObject({ kind: 'static', answer });

    expect(await used(MODEL)).toBe(0);
    expect(gate.usage({ scope: 'global' })).toMatchObject([{ calls: 0, answers: 1 }]);
  });
});

describe('what is observed', () => {
  it('harms nobody when a listener throws, whatever the event', async () => {
    const { ask, gate } = createTestGate({ models: { 'gpt-4o': { budgets: [tokens(150)] } }, ladder: [cheaperModel()] });
    const heard = new Set<string>();
    for (const name of ['call-admitted', 'call-refused', 'step-skipped', 'reservation-settled', 'call-shed'] as const)
      gate.on(name, () => {
        heard.add(name);
        throw new Error('broken listener');
      });

    expect(kindOf(await ask(100))).toBe('passed');
    expect(kindOf(await ask(100))).toBe('shed');

    expect(heard.size).toBe(5);
    expect(await gate.snapshot()).toMatchObject({ liveReservations: 0 });
  });

  it('tells a reservation and its settlement by the same id, with what went beyond the hold', async () => {
    const { ask, gate } = createTestGate({ models: { 'gpt-4o': { budgets: [tokens(1_000)] } } });
    const [admitted, settlements] = [listen(gate, 'call-admitted'), listen(gate, 'reservation-settled')];

    await ask(100, { uses: 130 });
    await settled();

    expect(admitted).toMatchObject([{ inputTokens: INPUT, expectedOutputTokens: 97, waitedMs: 0 }]);
    expect(settlements).toMatchObject([{ by: 'usage', overdraftTokens: 30, usage: { outputTokens: 127 } }]);
    expect((settlements[0] as { id: string }).id).toBe((admitted[0] as { id: string }).id);
  });

  it('adds up to what was settled', async () => {
    const usdPerMillion = { input: 1, output: 2 };
    const { ask, gate, used } = createTestGate({
      models: { 'gpt-4o': { budgets: [tokens(10_000), { usd: 1, per: 'day' }], usdPerMillion } },
      ...forUsers(tokens(10_000)),
    });
    const by = gate.as({ user: 'ann' });

    await Promise.all([
      ask(100, { by, uses: 40 }),
      ask(100, { by, uses: 120 }),
      ask(200, { by, uses: 60, during: () => ask(50, { uses: 30 }) }),
    ]);
    await settled();

    // The outermost of the nested ones made no call of its own.
    const real = 40 + 120 + 30;
    const money = 3 * INPUT + 2 * (real - 3 * INPUT);
    const row = { calls: 3, inputTokens: 3 * INPUT, outputTokens: real - 3 * INPUT, usd: money / 1_000_000 };
    expect(gate.usage({ scope: 'user' })).toMatchObject([{ key: 'ann', ...row }]);
    expect(gate.usage({ scope: 'model' })).toMatchObject([{ key: 'gpt-4o', ...row }]);
    expect([await used(USER), await used(MODEL)]).toEqual([real, real]);
    expect((await gate.snapshot()).budgets.map(({ dimension, used: amount }) => [dimension, amount])).toEqual([
      ['tokens', real],
      ['usd', money],
    ]);
  });

  it('shows shared budgets, what waits and what runs, in a copy', async () => {
    const { ask, gate, clock } = createTestGate({
      models: {
        'gpt-4o': { budgets: [{ concurrent: 1 }], pool: 'azure' },
        'gpt-4o-mini': { budgets: [tokens(200)], headroomRatio: 0.5 },
      },
      scopes: { global: { budgets: [tokens(1_000)] } },
      ladder: [queue({ waitMs: 1_000 })],
    });
    const pause = createPause();
    const running = ask(50, { during: pause.during });
    await settled();
    const waiting = ask(50);
    await settled();

    const before = await gate.snapshot();
    await pause.end();
    await Promise.all([running, waiting]);

    expect(before).toEqual({
      budgets: [
        { scope: 'model', key: 'azure', dimension: 'concurrent', window: RUNNING, limit: 1, used: 1, saturation: 1 },
        { scope: 'model', key: 'gpt-4o-mini', dimension: 'tokens', window: MINUTE, limit: 100, used: 0, saturation: 0 },
        { scope: 'global', key: 'global', dimension: 'tokens', window: MINUTE, limit: 1_000, used: 50, saturation: 0.05 },
      ],
      queueDepth: 1,
      liveReservations: 1,
      openRequests: 0,
    });
    expect(await gate.snapshot()).toMatchObject({
      queueDepth: 0,
      liveReservations: 0,
      budgets: [{ used: 0 }, {}, { used: 100 }],
    });
    expect(clock.timers).toBeLessThanOrEqual(1);
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

describe('whoever leaves', () => {
  const options = {
    models: { 'gpt-4o': { budgets: [tokens(100), { concurrent: 1 }] } },
    ladder: [queue({ waitMs: 5_000 })],
  } as const;

  it('while the store is asked gets nothing sent and pays nothing', async () => {
    const pause = createPause();
    const { core, visitIn, callIn, run, used, counts } = createTestCore(options, (store) => ({
      ...bound(store),
      async reserve(...given) {
        const reply = await store.reserve(...given);
        await pause.during();
        return reply;
      },
    }));
    const leaving = new AbortController();
    const during = vi.fn();
    const running = run(callIn(visitIn({ signal: leaving.signal }), 100), { during });
    await settled();
    leaving.abort();

    await pause.end();

    expect((await running).kind).toBe('shed');
    expect(during).not.toHaveBeenCalled();
    expect([await used(MODEL), counts.unsettled, core.keeper.live]).toEqual([0, 0, 0]);
  });

  it('is listened for by any number of calls without a warning of a leak', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on('warning', note);
    const { core, clock, visitIn, callIn, run } = createTestCore(options);
    const { signal } = new AbortController();
    void run(callIn(visitIn(), 10), { during: () => new Promise(() => {}) });

    const waits = Array.from({ length: 30 }, (_, index) => run(callIn(visitIn(index < 15 ? { signal } : {}), 10)));
    await settled();
    expect(core.line.depth).toBe(30);
    await clock.advance(5_000);
    await Promise.all(waits);
    process.off('warning', note);

    expect(warnings).toEqual([]);
  });

  it('while waiting pays nothing, and lets the next one in', async () => {
    const { clock, core, visitIn, callIn, run, used } = createTestCore(options);
    const pause = createPause();
    const first = run(callIn(visitIn(), 50), { during: pause.during, uses: 10 });
    await settled();
    const leaving = new AbortController();
    const second = run(callIn(visitIn({ signal: leaving.signal }), 50));
    const third = run(callIn(visitIn(), 50), { uses: 10 });
    await settled();
    leaving.abort();

    expect((await second).kind).toBe('shed');
    await clock.advance(1);
    await pause.end();

    expect([(await first).kind, (await third).kind]).toEqual(['passed', 'queued']);
    expect([await used(MODEL), core.line.depth]).toEqual([20, 0]);
  });
});

describe('closing', () => {
  it('sends waiters away and leaves no timer behind, nor starts one after', async () => {
    const { ask, gate, clock } = createTestGate({
      models: { 'gpt-4o': { budgets: [{ concurrent: 1 }] } },
      ladder: [queue({ waitMs: 5_000 })],
    });
    const pause = createPause();
    const running = ask(10, { during: pause.during });
    await settled();
    const waiting = ask(10);
    await settled();

    await gate.close();
    expect(kindOf(await waiting)).toBe('shed');
    expect(clock.timers).toBe(0);
    await pause.end();
    expect(kindOf(await running)).toBe('passed');
    await ask(10);

    expect(clock.timers).toBe(0);
    await gate.close();
  });
});

let unhandled: unknown[] = [];
beforeEach(() => {
  unhandled = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', note);
  return async () => {
    await settled();
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  };
});

/** A store's methods as an object of their own, to replace some of them. */
function bound<S extends import('../src/stores/store.js').Store>(store: S): import('../src/stores/store.js').Store {
  return {
    reserve: (...given) => store.reserve(...given),
    settle: (...given) => store.settle(...given),
    renew: (...given) => store.renew(...given),
    peek: (...given) => store.peek(...given),
    close: () => store.close(),
  };
}
