import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cheaperModel } from '../../src/ladder/cheaper-model.js';
import { queue } from '../../src/ladder/queue.js';
import { isReservation, type Step } from '../../src/ladder/step.js';
import type { Options } from '../../src/options.js';
import { createGround, createTestCore, INPUT, MINUTE, RUNNING } from '../support/gate.js';
import { createChance, type Played, type Program, play, program, type Sent } from '../support/program.js';
import { type Record, recordStore } from '../support/recorder.js';

/** Minutes outlast every program, so that what they hold at its end is what was really used. */
const OPTIONS: Options<string> = {
  models: {
    'gpt-4o': {
      budgets: [{ tokens: 1_500, per: 'minute' }, { requests: 15, per: 'minute' }, { concurrent: 3 }],
      cheaper: ['gpt-4o-mini'],
      usdPerMillion: { input: 1, output: 2 },
    },
    'gpt-4o-mini': { budgets: [{ tokens: 3_000, per: 'minute' }, { tokens: 600, per: 'second' }, { concurrent: 4 }] },
  },
  defaultPrice: { input: 1, output: 1 },
  scopes: {
    global: { budgets: [{ usd: 0.01, per: 'day' }] },
    user: {
      budgets: [
        { tokens: 2_000, per: 'minute' },
        { tokens: 800, per: 'second' },
        { requests: 8, per: 'minute' },
        { concurrent: 4 },
      ],
    },
  },
  leaseMs: 900,
};

/** A step that asks for more than it keeps, or forgets what it asked for. */
function clumsyStep(chance: () => number): Step {
  return {
    name: 'clumsy',
    canHelp: () => chance() < 0.5,
    async attempt(walk) {
      const what = Math.floor(chance() * 5);
      const lesser = { ...walk.call, expectedOutputTokens: 1, maximumOutputTokens: 1 };
      if (what === 0) throw new Error('clumsy');
      const first = walk.admit(lesser);
      if (what === 1) return undefined;
      const bounds = { waitMs: 200, maxRequests: 5, maxTokens: 10_000 };
      if (what === 2) void walk.wait(bounds);
      const second = await walk.admit(lesser);
      await first;
      if (what === 3) throw new Error('clumsy');
      return isReservation(second) ? second : undefined;
    },
  };
}

async function playThrough(given: Program) {
  const chance = createChance(given.seed);
  const line = queue({ waitMs: 600, maxRequests: 20, maxTokens: 4_000 });
  const ladder = given.isClumsy ? [line, clumsyStep(chance), cheaperModel()] : [line, cheaperModel()];
  const ground = createGround();
  const trouble = {
    delayMs: () => (chance() < 0.6 ? 0 : Math.floor(chance() * 25)),
    loses: () => (chance() * 100 < given.losses ? (chance() < 0.5 ? 'answer' : 'command') : 'nothing'),
  } as const;
  const { store, record } = recordStore(ground.counts, ground.clock, trouble);
  const test = createTestCore({ ...OPTIONS, ladder, store }, undefined, ground);
  const settlements: { id: string; overdraftTokens: number }[] = [];
  test.core.events.on('reservation-settled', (event) => void settlements.push(event));
  const played = await play(given, test);
  // Each context that is in use slows all others down a little.
  test.core.context.disable();
  return { ...test, record, played, settlements };
}

/** Tokens that a run came to, by the settle table; 0 for what was settled by the runs inside it. */
function tokensOf({ isLeaf, ending, expectedOutputTokens, maximumOutputTokens = Infinity }: Sent): number {
  const hasLeft = ending.by === 'left';
  if (!isLeaf || (hasLeft ? ending.status >= 400 : ending.status !== 200)) return 0;
  if (ending.usage) return (ending.usage.inputTokens as number) + (ending.usage.outputTokens as number);
  const seen = ending.sentOutputTokens as number;
  return INPUT + Math.min(hasLeft ? Math.max(seen, expectedOutputTokens) : seen, maximumOutputTokens);
}

function sumOf(sent: readonly Sent[], is: (one: Sent) => boolean): number {
  return sent.filter(is).reduce((sum, one) => sum + tokensOf(one), 0);
}

const USERS = ['ann', 'bob', 'cid', 'dan'];

function settledOnce({ settles }: Record, played: Played, settlements: readonly { id: string }[]): void {
  expect([...settles].filter(([, times]) => times !== 1)).toEqual([]);
  expect(played.sent.map(({ settlements: times }) => times)).toEqual(played.sent.map(() => 1));
  expect(new Set(settlements.map(({ id }) => id)).size).toBe(settlements.length);
}

it('settles every reservation once and holds nothing in the end, whatever fails and whoever leaves', async () => {
  await fc.assert(
    fc.asyncProperty(program, async (given) => {
      const { core, clock, counts, used, played, record, settlements } = await playThrough(given);

      expect(record.faults).toEqual([]);
      expect(played.ended).toBe(played.begun);
      settledOnce(record, played, settlements);

      expect([counts.unsettled, core.keeper.live, core.line.depth, clock.timers]).toEqual([0, 0, 0, 0]);
      for (const counter of ['model|gpt-4o', 'model|gpt-4o-mini', ...USERS.map((user) => `user|${user}`)])
        expect(await used(`${counter}|concurrent;running`, RUNNING)).toBe(0);
    }),
    { numRuns: 300 },
  );
}, 120_000);

it('charges what was really used to everybody it concerns, and reports what went beyond the holds', async () => {
  await fc.assert(
    fc.asyncProperty(program, async (given) => {
      const { core, used, played, record, settlements } = await playThrough(given);
      const { sent } = played;

      for (const [counter, real] of record.real)
        if (counter.endsWith(';60000')) expect([counter, await used(counter, MINUTE)]).toEqual([counter, real]);
      for (const model of ['gpt-4o', 'gpt-4o-mini'])
        expect(await used(`model|${model}|tokens;60000`)).toBe(sumOf(sent, (one) => one.model === model));
      for (const user of USERS) expect(await used(`user|${user}|tokens;60000`)).toBe(sumOf(sent, (one) => one.user === user));
      const calls = sent.filter((one) => one.isLeaf && one.model === 'gpt-4o' && (one.kind === 'call' || tokensOf(one) > 0));
      expect(await used('model|gpt-4o|requests;60000')).toBe(calls.length);

      for (const user of USERS) {
        const own = sent.filter((one) => one.user === user);
        const served = new Set(own.filter((one) => tokensOf(one) > 0).map(({ visit }) => visit));
        // A visit pays one request at most. One whose runs all fail or leave at the same time may keep it.
        const { visits, isClumsy, losses } = given;
        const isTame = !isClumsy && losses === 0 && visits.every(({ leavesAfterMs }) => leavesAfterMs === undefined);
        const begun = isTame ? new Set(own.map(({ visit }) => visit)).size : visits.filter((visit) => visit.user === user).length;
        const requests = await used(`user|${user}|requests;60000`);
        expect(requests).toBeGreaterThanOrEqual(served.size);
        expect(requests).toBeLessThanOrEqual(begun);
      }

      const [total = { inputTokens: 0, outputTokens: 0 }] = await core.ledger.usage({ scope: 'global' });
      expect(total.inputTokens + total.outputTokens).toBe(sumOf(sent, () => true));
      for (const { id, overdraftTokens } of settlements) expect([id, record.overdrafts.get(id)]).toEqual([id, overdraftTokens]);
    }),
    { numRuns: 300 },
  );
}, 120_000);
