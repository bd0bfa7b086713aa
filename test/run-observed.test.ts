import { describe, expect, it } from 'vitest';
import { cheaperModel } from '../src/ladder/cheaper-model.js';
import { queue } from '../src/ladder/queue.js';
import { createPause, createTestCore, createTestGate, INPUT, MINUTE, RUNNING } from './support/gate.js';
import { expectNoRejections, forUsers, kindOf, listen, MODEL, requests, tokens, USER } from './support/runs.js';
import { settled } from './support/virtual-clock.js';

expectNoRejections();

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
    expect(await gate.usage({ scope: 'user' })).toMatchObject([{ key: 'ann', ...row }]);
    expect(await gate.usage({ scope: 'model' })).toMatchObject([{ key: 'gpt-4o', ...row }]);
    expect([await used(USER), await used(MODEL)]).toEqual([real, real]);
    expect((await gate.snapshot()).budgets.map(({ dimension, used: amount }) => [dimension, amount])).toEqual([
      ['tokens', real],
      ['usd', money],
    ]);
  });

  it('counts what was used without a hold as debt, over any limit, with its price', async () => {
    const { core, visitIn, used } = createTestCore({
      defaultPrice: { input: 1, output: 2 },
      scopes: { user: { budgets: [tokens(100), requests(5), { usd: 1, per: 'day' }], optional: true } },
    });
    const unread = core.draft(visitIn({ identity: { user: 'ann' } }), undefined, undefined, { question: 'hi' });

    await core.charge(unread, { inputTokens: 100, outputTokens: 50 });

    expect([await used(USER), await used('user|ann|requests;60000')]).toEqual([150, 0]);
    expect(await used('user|ann|usd;day@UTC', { kind: 'calendar', unit: 'day', timeZone: 'UTC' })).toBe(200);
    expect(await core.ledger.usage({ scope: 'user' })).toMatchObject([{ inputTokens: 100, outputTokens: 50, usd: 0.0002 }]);
    expect(core.keeper.live).toBe(0);
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
      estimates: [],
    });
    expect(await gate.snapshot()).toMatchObject({
      queueDepth: 0,
      liveReservations: 0,
      budgets: [{ used: 0 }, {}, { used: 100 }],
    });
    expect(clock.timers).toBeLessThanOrEqual(1);
  });
});
