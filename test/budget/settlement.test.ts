import { describe, expect, it } from 'vitest';
import { amountsFor, hasHappened, type RunFacts, type Way, wayOf } from '../../src/budget/settlement.js';
import type { Ending, Usage } from '../../src/call.js';
import { budgetOf, callOf, chargeOf } from '../support/builders.js';

const PRICE = { input: 2, output: 10, perRequest: 0.001 };
const USAGE: Usage = { inputTokens: 90, outputTokens: 30 };

/** One charge of each kind, all holding more than was used. */
const CHARGES = [
  chargeOf({ budget: budgetOf({ tokens: 1_000, per: 'minute' }), amount: 160 }),
  chargeOf({ budget: budgetOf({ inputTokens: 1_000, per: 'minute' }), amount: 110 }),
  chargeOf({ budget: budgetOf({ outputTokens: 1_000, per: 'day' }), amount: 400 }),
  chargeOf({ budget: budgetOf({ usd: 1, per: 'day' }), amount: 5_220 }),
  chargeOf({ budget: budgetOf({ requests: 10, per: 'minute' }), amount: 1, per: 'visit' }),
  chargeOf({ budget: budgetOf({ requests: 10, per: 'minute' }), amount: 3, per: 'call', scope: 'model' }),
  chargeOf({ budget: budgetOf({ concurrent: 10 }), amount: 1, per: 'visit' }),
];

interface Amounts {
  readonly tokens: readonly [input: number, output: number];
  readonly visit: number;
  readonly call: number;
}

/** What the charges come to: tokens and money by these, units as said, concurrency freed. */
function amounts({ tokens: [input, output], visit, call }: Amounts): number[] {
  const money = input === 0 && output === 0 ? 0 : input * 2 + output * 10 + 1_000;
  return [input + output, input, output, money, visit, call, 0];
}

const NOTHING = amounts({ tokens: [0, 0], visit: 0, call: 0 });
const used = (input: number, output: number) => amounts({ tokens: [input, output], visit: 1, call: 1 });

function facts(ending: Partial<Ending>, given: Partial<RunFacts> = {}): RunFacts {
  return {
    call: callOf(),
    ending: { by: 'done', status: 200, sentOutputTokens: 20, ...ending },
    kind: 'call',
    runsSeen: 0,
    callsMade: 0,
    isOwnAnswer: false,
    expectsRuns: false,
    verdict: undefined,
    rescued: false,
    ...given,
  };
}

const REQUEST = { kind: 'request' } as const;
const STREAM = { call: callOf({ stream: true }) };
const INSIDE = { ...REQUEST, runsSeen: 2, callsMade: 1 };

type Row = [wayOut: string, ending: Partial<Ending>, given: Partial<RunFacts>, by: Way['by'], real: number[]];

describe('the settle table', () => {
  it.each<Row>([
    ['a call with usage', { usage: USAGE }, {}, 'usage', used(90, 30)],
    ['a request that was the call, with usage', { usage: USAGE }, REQUEST, 'usage', used(90, 30)],
    [
      'a call that made others, with an answer of its own',
      { usage: USAGE },
      { runsSeen: 2, callsMade: 1, isOwnAnswer: true },
      'usage',
      used(90, 30),
    ],
    ['usage over the hold: overdraft', { usage: { inputTokens: 500, outputTokens: 900 } }, {}, 'usage', used(500, 900)],
    ['usage without input: its estimate', { usage: { inputTokens: undefined, outputTokens: 30 } }, {}, 'usage', used(100, 30)],
    ['usage without output: what was sent', { usage: { inputTokens: 90, outputTokens: undefined } }, {}, 'usage', used(90, 20)],
    [
      'the handler knows better',
      { usage: USAGE },
      { verdict: { usage: { inputTokens: 7, outputTokens: 8 } } },
      'usage',
      used(7, 8),
    ],
    [
      'the handler knows better, though it failed',
      { status: 500 },
      { ...INSIDE, verdict: { usage: { inputTokens: 7, outputTokens: 8 } } },
      'usage',
      used(7, 8),
    ],
    ['2xx without usage: what was sent', {}, {}, 'counted', used(100, 20)],
    ['2xx without usage, never over the output maximum', { sentOutputTokens: 9_999 }, {}, 'counted', used(100, 400)],
    ['2xx that could not be watched: the estimate', { sentOutputTokens: undefined }, {}, 'counted', used(100, 50)],
    ['2xx that broke off midway', { by: 'failed' }, {}, 'counted', used(100, 20)],
    ['a request not answered by 2xx', { status: 500 }, REQUEST, 'cancelled', NOTHING],
    ['a request that was redirected', { status: 302 }, REQUEST, 'cancelled', NOTHING],
    ['cancel() from the handler', { usage: USAGE }, { ...REQUEST, verdict: 'cancel' }, 'cancelled', NOTHING],
    ['cancel() from the handler after runs', {}, { ...INSIDE, verdict: 'cancel' }, 'cancelled', NOTHING],
    ['the provider answered 429', { status: 429 }, {}, 'provider-error', amounts({ tokens: [0, 0], visit: 0, call: 1 })],
    [
      'no answer at all',
      { by: 'failed', status: 0, sentOutputTokens: 0 },
      {},
      'provider-error',
      amounts({ tokens: [0, 0], visit: 0, call: 1 }),
    ],
    ['left mid-stream', { by: 'left' }, STREAM, 'partial', used(100, 20)],
    ['left mid-stream after usage', { by: 'left', usage: USAGE }, STREAM, 'partial', used(90, 30)],
    ['left before anything came of a stream', { by: 'left', status: 0, sentOutputTokens: 0 }, STREAM, 'partial', used(100, 0)],
    [
      'left before an answer in one piece, which was being made all the same',
      { by: 'left', status: 0, sentOutputTokens: 0 },
      {},
      'partial',
      used(100, 50),
    ],
    [
      'left during an answer in one piece that is longer than expected',
      { by: 'left', sentOutputTokens: 70 },
      {},
      'partial',
      used(100, 70),
    ],
    ['left an error', { by: 'left', status: 500 }, REQUEST, 'cancelled', NOTHING],
    [
      'left an error of the provider',
      { by: 'left', status: 503 },
      {},
      'provider-error',
      amounts({ tokens: [0, 0], visit: 0, call: 1 }),
    ],
    ['stopped reading', { by: 'stalled' }, STREAM, 'partial', used(100, 20)],
    ['runs inside called a model', {}, INSIDE, 'inside', amounts({ tokens: [0, 0], visit: 1, call: 0 })],
    [
      'runs inside called a model, then the handler failed',
      { status: 500 },
      INSIDE,
      'inside',
      amounts({ tokens: [0, 0], visit: 1, call: 0 }),
    ],
    [
      'runs inside were all refused, and the handler made do',
      {},
      { ...INSIDE, callsMade: 0 },
      'inside',
      amounts({ tokens: [0, 0], visit: 1, call: 0 }),
    ],
    ['runs inside were all refused, and so was the request', { status: 429 }, { ...INSIDE, callsMade: 0 }, 'inside', NOTHING],
    ['runs inside were all refused, and the ladder answered', {}, { ...INSIDE, callsMade: 0, rescued: true }, 'inside', NOTHING],
    ['a request without the runs its mount is known for', {}, { ...REQUEST, expectsRuns: true }, 'cancelled', NOTHING],
    ['a request that the ladder answered in the end', {}, { ...REQUEST, rescued: true }, 'cancelled', NOTHING],
  ])('%s', (_, ending, given, by, real) => {
    const way = wayOf(facts(ending, given));

    expect(way.by).toBe(by);
    expect(amountsFor(CHARGES, way, PRICE)).toEqual(real);
    expect(hasHappened(way)).toBe(real[4] === 1);
  });
});

describe('money', () => {
  it('is weighed by what the provider says of cached tokens', () => {
    const way = { by: 'usage', usage: { inputTokens: 100, outputTokens: 0, cachedInputTokens: 60 } } as const;
    const [, , , money] = amountsFor(CHARGES, way, { input: 2, cachedInput: 1, output: 10 });

    expect(money).toBe(40 * 2 + 60);
  });

  it('is nothing where no price is known', () => {
    const [, , , money] = amountsFor(CHARGES, { by: 'usage', usage: USAGE }, undefined);

    expect(money).toBe(0);
  });
});
