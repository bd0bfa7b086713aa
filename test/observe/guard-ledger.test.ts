import { describe, expect, it } from 'vitest';
import type { SpillwayEvents } from '../../src/observe/events.js';
import type { Ledger } from '../../src/observe/ledger.js';
import { answerOf, bodyOf, createTestGate } from '../support/gate.js';
import { settled } from '../support/virtual-clock.js';

const failure = new Error('ledger down');
const fail = () => {
  throw failure;
};
const nothing: Ledger = { add() {}, addAnswer() {}, usage: async () => [] };
const answers = {
  name: 'answers',
  canHelp: () => true,
  attempt: async () => ({ kind: 'static', model: 'm', text: 'busy' }) as const,
};

describe('a ledger of the application', () => {
  it.each<[string, Partial<Ledger>]>([
    ['throws', { add: fail, addAnswer: fail }],
    ['rejects', { add: async () => fail(), addAnswer: async () => fail() }],
  ])('that %s is told of, and changes nothing for anybody', async (_, methods) => {
    const failures: SpillwayEvents['store-failed'][] = [];
    const { ask, gate, used } = createTestGate({
      ledger: { ...nothing, ...methods },
      models: { 'gpt-4o': { budgets: [{ tokens: 50, per: 'minute' }] } },
      ladder: [answers],
    });
    gate.on('store-failed', (event) => failures.push(event));

    expect(await ask(50, { uses: 40 })).toMatchObject({ kind: 'passed', value: answerOf(40) });
    await settled();
    expect(await gate.run({ body: bodyOf(50) }, async () => answerOf(1))).toMatchObject({ kind: 'static' });
    await settled();

    expect(failures).toEqual([
      { operation: 'tally', error: failure },
      { operation: 'tally', error: failure },
    ]);
    expect(await used('model|gpt-4o|tokens;60000')).toBe(40);
  });

  it('hears who used what, answers for the gate, tells its notices and is closed with it', async () => {
    const heard: unknown[] = [];
    const notices: unknown[] = [];
    const rows = [{ key: 'ann', calls: 1, inputTokens: 2, outputTokens: 3, cachedInputTokens: 0, usd: 0, answers: 0 }];
    let tell: Parameters<NonNullable<Ledger['onNotice']>>[0] = () => {};
    const { ask, gate } = createTestGate({
      ledger: {
        ...nothing,
        add: (...facts) => void heard.push(facts),
        usage: async () => rows,
        onNotice(listener) {
          tell = listener;
        },
        close: async () => void heard.push('closed'),
      },
    });
    gate.on('store-notice', (notice) => notices.push(notice));

    await ask(50, { by: gate.as({}), uses: 40 });
    await settled();
    tell({ code: 'lost', message: 'an hour' });

    expect(await gate.usage({ scope: 'user' })).toBe(rows);
    await gate.close();
    expect(heard).toMatchObject([[{}, expect.anything(), { inputTokens: 3, outputTokens: 37 }, 0], 'closed']);
    expect(notices).toEqual([{ code: 'lost', message: 'an hour' }]);
  });
});
