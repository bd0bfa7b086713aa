import { describe, expect, it } from 'vitest';
import type { BudgetOptions } from '../src/budget/budget.js';
import type { Outcome } from '../src/call.js';
import { queue } from '../src/ladder/queue.js';
import { budgetOf } from './support/builders.js';
import { bodyOf, createPause, createTestCore, createTestGate, RUNNING } from './support/gate.js';
import { expectNoRejections, forUsers, kindOf, MODEL, reasonOf, requests, tokens } from './support/runs.js';
import { settled } from './support/virtual-clock.js';

expectNoRejections();

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

describe('budgets of a mount', () => {
  it('count once for mounts inside one another, however much their lists have in common', async () => {
    const { visitIn, callIn, run, used } = createTestCore();
    const lists = [[tokens(900)], [tokens(900), requests(9)], [requests(9), { concurrent: 3 }]];
    const mounted = lists.map((budgets) => ({ route: 'chat', mountBudgets: new Map([['route', budgets.map(budgetOf)]]) }));
    const place = 'route|chat|route:chat';
    const pass = (during?: () => Promise<void>) => {
      const outer = visitIn({ ...mounted[1], outer: visitIn(mounted[2]) });
      return run(callIn(visitIn({ ...mounted[0], outer }), 100), during ? { during } : {});
    };
    await pass();

    let running = 0;
    await pass(async () => {
      running = await used(`${place}|concurrent;running`, RUNNING);
    });

    expect(running).toBe(1);
    expect([await used(`${place}|tokens;60000`), await used(`${place}|requests;60000`)]).toEqual([200, 2]);
  });
});
