import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createTestGate, INPUT } from '../support/gate.js';
import { reasonOf } from '../support/runs.js';
import { settled } from '../support/virtual-clock.js';

const DAY = { kind: 'calendar', unit: 'day', timeZone: 'UTC' } as const;
/** Prices are given in ten-thousandths of a dollar for a million tokens, so that an integer can say exactly what they are. */
const UNITS = 10_000;

/** Many of one decimal: sums that come to a whole number are where the dust of binary fractions would show. */
const upTo = (most: number) =>
  fc.oneof(
    fc.nat(most),
    fc.nat(most / 1_000).map((tenths) => tenths * 1_000),
  );
const price = fc.record({
  input: upTo(150_000),
  cachedInput: fc.option(upTo(75_000), { nil: undefined }),
  cacheWrite: fc.option(upTo(200_000), { nil: undefined }),
  output: upTo(600_000),
  perRequest: fc.option(fc.nat(500), { nil: undefined }),
});
type Units = (typeof price extends fc.Arbitrary<infer P> ? P : never) & object;
const tokens = (most: number) => fc.oneof(fc.nat(most), fc.nat(40));
const usage = fc.record({ read: tokens(200_000), written: tokens(50_000), fresh: tokens(200_000), output: tokens(100_000) });
type Used = typeof usage extends fc.Arbitrary<infer U> ? U : never;

/** Whole micro-dollars, rounded up, without a single float. */
function exactly({ input, cachedInput = input, cacheWrite = input, output, perRequest = 0 }: Units, used: Used): number {
  const units =
    BigInt(input) * BigInt(used.fresh) +
    BigInt(cachedInput) * BigInt(used.read) +
    BigInt(cacheWrite) * BigInt(used.written) +
    BigInt(output) * BigInt(used.output) +
    BigInt(perRequest) * 1_000_000n;
  return Number((units + BigInt(UNITS) - 1n) / BigInt(UNITS));
}

function dollars(units: Units) {
  const given = Object.entries(units).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([part, value]) => [part, (value as number) / UNITS])) as {
    input: number;
    output: number;
  };
}

const message = (used: Used) => ({
  type: 'message',
  role: 'assistant',
  usage: {
    input_tokens: used.fresh,
    cache_read_input_tokens: used.read,
    cache_creation_input_tokens: used.written,
    output_tokens: used.output,
  },
});
const body = (max_tokens: number) => ({ model: 'claude', max_tokens, messages: [] });

it('sums money up exactly, whatever the prices and however many calls: no fraction drifts', async () => {
  await fc.assert(
    fc.asyncProperty(price, fc.array(usage, { minLength: 1, maxLength: 40 }), async (units, calls) => {
      const { gate, used } = createTestGate({
        models: { claude: { budgets: [{ usd: 1_000_000, per: 'day' }], usdPerMillion: dollars(units) } },
        scopes: { global: { budgets: [{ usd: 1_000_000, per: 'day' }] }, user: { budgets: [{ usd: 1_000_000, per: 'day' }] } },
        unknownModel: 'refuse',
        ladder: [],
      });
      const run = (call: Used) =>
        gate.as({ user: 'ann' }).run({ dialect: 'anthropic-messages', body: body(10) }, async () => message(call));

      await Promise.all(calls.map(run));
      await settled();

      const expected = calls.reduce((sum, call) => sum + exactly(units, call), 0);
      for (const counter of ['user|ann', 'global|global', 'model|claude'])
        expect([counter, await used(`${counter}|usd;day@UTC`, DAY)]).toEqual([counter, expected]);
      expect(await gate.usage({ scope: 'user' })).toMatchObject([{ usd: expected / 1_000_000 }]);
    }),
    { numRuns: 200 },
  );
});

it('lets a limit be spent to the last micro-dollar and not beyond it, whatever the price', async () => {
  const perToken = fc.integer({ min: 1_000, max: 600_000 });
  await fc.assert(
    fc.asyncProperty(
      perToken,
      perToken,
      fc.integer({ min: 20, max: 500 }),
      fc.boolean(),
      async (input, output, maximum, isShort) => {
        const units: Units = { input, output, cachedInput: undefined, cacheWrite: undefined, perRequest: undefined };
        const whole = exactly(units, { fresh: INPUT, read: 0, written: 0, output: maximum });
        const { gate, sent, ask } = createTestGate({
          models: { 'gpt-4o': { usdPerMillion: dollars(units) } },
          scopes: { user: { budgets: [{ usd: (isShort ? whole - 1 : whole) / 1_000_000, per: 'day' }] } },
          unknownModel: 'refuse',
          ladder: [],
        });
        const byAnn = () => ({ by: gate.as({ user: 'ann' }) });

        const first = await ask(INPUT + maximum, byAnn());
        const next = isShort ? undefined : await ask(INPUT + 1, byAnn());

        expect([reasonOf(first), next && reasonOf(next), sent.length]).toEqual(
          isShort ? ['never-fits', undefined, 0] : [undefined, 'full', 1],
        );
      },
    ),
    { numRuns: 200 },
  );
});
