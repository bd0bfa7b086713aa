import { describe, expect, it, vi } from 'vitest';
import type { Outcome } from '../src/call.js';
import { cheaperModel } from '../src/ladder/cheaper-model.js';
import { queue } from '../src/ladder/queue.js';
import { answerOf, bodyOf, createPause, createTestCore, createTestGate, INPUT } from './support/gate.js';
import {
  bound,
  expectNoRejections,
  forUsers,
  kindOf,
  MINI,
  MODEL,
  NO_ROOM,
  reasonOf,
  requests,
  tokens,
  twoModels,
  USER,
} from './support/runs.js';
import { settled } from './support/virtual-clock.js';

expectNoRejections();

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
    const running = run(callIn(visitIn({ leaver: leaving.signal }), 100), { during });
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

    const waits = Array.from({ length: 30 }, (_, index) => run(callIn(visitIn(index < 15 ? { leaver: signal } : {}), 10)));
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
    const second = run(callIn(visitIn({ leaver: leaving.signal }), 50));
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
