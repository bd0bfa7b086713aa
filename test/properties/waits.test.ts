import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { BudgetOptions, Options, Outcome, Refusal } from '../../src/index.js';
import { bodyOf, createPause, createTestGate, INPUT } from '../support/gate.js';

const DAY_MS = 86_400_000;

const per = fc.oneof(
  fc.constantFrom('second' as const, 'minute' as const, 'hour' as const, 'day' as const, 'month' as const),
  fc.integer({ min: 1_000, max: 200_000 }),
);
const timeZone = fc.constantFrom('UTC', 'Europe/Berlin', 'Australia/Lord_Howe');
const limit = fc.oneof(
  fc.record({ tokens: fc.integer({ min: 50, max: 900 }) }),
  fc.record({ inputTokens: fc.integer({ min: INPUT, max: 12 }) }),
  fc.record({ outputTokens: fc.integer({ min: 50, max: 900 }) }),
  fc.record({ requests: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ usd: fc.integer({ min: 200, max: 4_000 }).map((micro) => micro / 1_000_000) }),
);
const NAMED: Readonly<Record<string, number>> = { second: 1_000, minute: 60_000, hour: 3_600_000 };
/** Budgets of one key, each with a counter of its own: twins would be a fault in options. */
const budgets = fc.uniqueArray(
  fc.tuple(limit, per, timeZone).map(([limited, window, zone]): BudgetOptions => {
    return { ...limited, per: window, ...(window === 'day' || window === 'month' ? { timeZone: zone } : {}) } as BudgetOptions;
  }),
  {
    minLength: 1,
    maxLength: 3,
    selector: ({ per: window = 0, timeZone: zone, ...limited }) => `${Object.keys(limited)} ${NAMED[window] ?? window} ${zone}`,
  },
);

const program = fc.record({
  model: budgets,
  global: budgets,
  user: budgets,
  startMs: fc.integer({ min: 0, max: 400 * DAY_MS }),
  calls: fc.array(
    fc.record({
      tokens: fc.integer({ min: INPUT + 1, max: 60 }),
      uses: fc.integer({ min: INPUT, max: 120 }),
      lastsMs: fc.constantFrom(0, 0, 0, 400, 30_000),
      thenMs: fc.constantFrom(0, 1, 17, 300, 4_000, 50_000, DAY_MS / 3),
    }),
    { minLength: 3, maxLength: 14 },
  ),
});

const refusalOf = (outcome: Outcome<unknown>): Refusal | undefined => (outcome.kind === 'shed' ? outcome.refusal : undefined);

it('admits a refused request exactly when its wait is over, and not a millisecond before, whatever is full', async () => {
  let refusals = 0;
  let several = 0;
  await fc.assert(
    fc.asyncProperty(program, async ({ model, global, user, startMs, calls }) => {
      const options: Options<string> = {
        models: { 'gpt-4o': { budgets: model } },
        defaultPrice: { input: 2, output: 10 },
        scopes: { global: { budgets: global }, user: { budgets: user } },
        ladder: [],
      };
      const { gate, clock, ask } = createTestGate(options);
      clock.set(clock.now() + startMs);
      const ann = () => gate.as({ user: 'ann' });

      for (const { tokens, uses, lastsMs, thenMs } of calls) {
        const again = () =>
          ann().run({ body: bodyOf(tokens) }, async () => ({ usage: { prompt_tokens: uses, completion_tokens: 1 } }));
        const pause = createPause();
        const running = ask(tokens, { by: ann(), uses, during: pause.during });
        await clock.advance(lastsMs);
        await pause.end();
        const refusal = refusalOf(await running);
        if (refusal?.reason === 'full') {
          // Time has passed since, and it may fit by now.
          const now = refusalOf(await again());
          if (!now) continue;
          const { waitMs, full } = now;
          refusals++;
          if (full.length > 1) several++;
          expect(waitMs).toBeGreaterThan(0);
          expect(waitMs).toBe(Math.max(...full.map((shortage) => shortage.waitMs)));

          clock.set(clock.now() + waitMs - 1);
          const early = refusalOf(await again());
          expect(early?.waitMs).toBe(1);
          clock.set(clock.now() + 1);
          expect(refusalOf(await again())).toBe(undefined);
        }
        await clock.advance(thenMs);
      }
    }),
    { numRuns: 250 },
  );

  expect(refusals).toBeGreaterThan(250);
  expect(several).toBeGreaterThan(25);
}, 120_000);
