import { describe, expect, it, vi } from 'vitest';
import type { BudgetOptions } from '../src/budget/budget.js';
import { cheaperModel } from '../src/ladder/cheaper-model.js';
import { queue } from '../src/ladder/queue.js';
import type { Step } from '../src/ladder/step.js';
import type { Options } from '../src/options.js';
import { answerOf, bodyOf, createPause, createTestGate, INPUT } from './support/gate.js';
import {
  bound,
  expectNoRejections,
  forUsers,
  kindOf,
  listen,
  MINI,
  MODEL,
  NO_ROOM,
  reasonOf,
  requests,
  tokens,
  twoModels,
} from './support/runs.js';
import { settled } from './support/virtual-clock.js';

expectNoRejections();

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
    expect(await gate.usage({ scope: 'global' })).toMatchObject([{ inputTokens: INPUT, outputTokens: 40 - INPUT }]);
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
    expect(await gate.usage({ scope: 'global' })).toMatchObject([{ calls: 0, answers: 1 }]);
  });
});
