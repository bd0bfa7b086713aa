import { validateHeaderValue } from 'node:http';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Standing } from '../../src/budget/standing.js';
import type { Charge } from '../../src/call.js';
import { limitHeaders } from '../../src/http/ratelimit-headers.js';
import {
  anthropicMessages,
  type Dialect,
  openaiChat,
  openaiCompletions,
  openaiEmbeddings,
  openaiResponses,
} from '../../src/index.js';
import type { Window } from '../../src/stores/store.js';
import { Visit } from '../../src/visit.js';
import { checkAll, parseList } from '../support/ratelimit.js';

const NOW_MS = Date.UTC(2026, 0, 1);
const ALL = { ietf: true, dialect: true } as const;

const MINUTE: Window = { kind: 'sliding', ms: 60_000 };

type Fields = Omit<Partial<Standing>, 'charge'> & { readonly charge?: Partial<Charge>; readonly budget?: object };

function standing({ budget: given, ...fields }: Fields = {}): Standing {
  const window = fields.charge?.window ?? MINUTE;
  const charge = { scope: 'user', key: 'ada', dimension: 'requests', limit: 10, counter: 'c', ...fields.charge, window };
  const budget = { enforce: 'always', window, name: undefined, ...given };
  return { used: 1, waitMs: undefined, atMs: NOW_MS, ...fields, charge: { ...charge, budget } as Charge };
}

const headersFor = (standings: readonly Standing[], fields: Partial<Parameters<typeof limitHeaders>[0]> = {}) =>
  limitHeaders({ standings, dialect: openaiChat, choice: ALL, nowMs: NOW_MS, ...fields });

describe('the policy of a budget', () => {
  it.each<[string, Partial<Charge>, string]>([
    ['requests in a minute', {}, '"user-requests-minute";q=10;w=60'],
    [
      'tokens in an hour',
      { dimension: 'tokens', window: { kind: 'sliding', ms: 3_600_000 } },
      '"user-tokens-hour";q=10;qu="tokens";w=3600',
    ],
    ['tokens of input', { dimension: 'inputTokens' }, '"user-input-tokens-minute";q=10;qu="tokens";w=60'],
    ['tokens of output', { dimension: 'outputTokens' }, '"user-output-tokens-minute";q=10;qu="tokens";w=60'],
    ['a window of odd milliseconds', { window: { kind: 'sliding', ms: 1_500 } }, '"user-requests-1500ms";q=10;w=2'],
    ['ten seconds', { window: { kind: 'sliding', ms: 10_000 } }, '"user-requests-10s";q=10;w=10'],
    [
      'what is running',
      { dimension: 'concurrent', window: { kind: 'concurrent' } },
      '"user-concurrent";q=10;qu="concurrent-requests"',
    ],
    ['a day', { window: { kind: 'calendar', unit: 'day', timeZone: 'UTC' } }, '"user-requests-day";q=10;w=86400'],
    ['a month', { window: { kind: 'calendar', unit: 'month', timeZone: 'UTC' } }, '"user-requests-month";q=10;w=2678400'],
  ])('of %s tells its unit and its window', (_, charge, policy) => {
    expect(headersFor([standing({ charge })])['ratelimit-policy']).toBe(policy);
  });

  it('is as long as the day is where clocks are put forward', () => {
    const window = { kind: 'calendar', unit: 'day', timeZone: 'Europe/Berlin' } as const;
    const nowMs = Date.UTC(2026, 2, 29, 10);

    const headers = headersFor([standing({ charge: { window }, atMs: nowMs })], { nowMs });

    expect(headers['ratelimit-policy']).toBe('"user-requests-day";q=10;w=82800');
    expect(headers.ratelimit).toBe('"user-requests-day";r=9;t=43200');
  });

  it.each<[string, Fields]>([
    ['only counts', { budget: { enforce: 'never' } }],
    ['refuses only under load', { budget: { enforce: 'when-saturated' } }],
    ['caps one call', { budget: { window: undefined } }],
    ['limits money', { charge: { dimension: 'usd' } }],
    ['has no end', { charge: { limit: Infinity } }],
    ['is more than a structured field takes', { charge: { limit: 1_000_000_000_000_000 } }],
  ])('that %s is not told', (_, fields) => {
    expect(headersFor([standing(fields)])).toEqual({});
  });

  it('goes by the name that the application gave it, escaped', () => {
    expect(parseList(headersFor([standing({ budget: { name: 'the "free" plan\\1' } })])['ratelimit-policy'] as string)).toEqual([
      { name: 'the "free" plan\\1', params: { q: 10, w: 60 } },
    ]);
  });

  it.each(['gratis für alle', 'a\r\nset-cookie: b=c', '', 'x'.repeat(65), 'the plan of sk-live-123'])(
    'goes by its scope where the name is no safe text, or repeats the key: %j',
    (name) => {
      const headers = headersFor([standing({ charge: { key: 'sk-live-123' }, budget: { name } })]);

      expect(headers['ratelimit-policy']).toBe('"user-requests-minute";q=10;w=60');
    },
  );

  it('has a name of its own where another budget has the same', () => {
    const headers = headersFor([standing(), standing({ charge: { limit: 20 } }), standing({ charge: { limit: 30 } })]);

    expect(headers['ratelimit-policy']).toBe(
      '"user-requests-minute";q=10;w=60, "user-requests-minute-2";q=20;w=60, "user-requests-minute-3";q=30;w=60',
    );
  });

  it('is told for sixteen budgets at most', () => {
    expect(parseList(headersFor(Array.from({ length: 40 }, () => standing()))['ratelimit-policy'] as string)).toHaveLength(16);
  });
});

describe('what is left of a budget', () => {
  it.each<[string, Fields, string]>([
    ['with the time by which all of it is back', { used: 4 }, 'r=6;t=61'],
    ['without a time where nothing is used', { used: 0 }, 'r=10'],
    ['as nothing where more is used than the limit', { used: 25 }, 'r=0;t=61'],
    ['with the wait where the call was refused', { used: 10, waitMs: 7_001 }, 'r=0;t=8'],
    ['with a second at least, when that wait is over', { used: 10, waitMs: 500, atMs: NOW_MS - 5_000 }, 'r=0;t=1'],
    ['with what is left of the wait, when some of it is over', { used: 10, waitMs: 9_000, atMs: NOW_MS - 5_000 }, 'r=0;t=4'],
    ['with the window where the call never fits', { used: 3, waitMs: Infinity }, 'r=7;t=61'],
  ])('is told %s', (_, fields, expected) => {
    expect(headersFor([standing(fields)]).ratelimit).toBe(`"user-requests-minute";${expected}`);
  });

  it('is told without a time where it is freed by whatever ends', () => {
    const charge = { dimension: 'concurrent', window: { kind: 'concurrent' } } as const;

    expect(headersFor([standing({ charge, used: 10, waitMs: 0 })]).ratelimit).toBe('"user-concurrent";r=0');
  });

  it.each([undefined, Number.NaN, 0.5])('is not told when the store said %s', (used) => {
    expect(headersFor([standing({ used })])).toEqual({ 'ratelimit-policy': '"user-requests-minute";q=10;w=60' });
  });

  it('is told without the times that come after retry-after', () => {
    const day = standing({ charge: { window: { kind: 'calendar', unit: 'day', timeZone: 'UTC' } } });
    const full = standing({ used: 10, waitMs: 9_000 });

    expect(headersFor([day, full], { retryAfter: 9 }).ratelimit).toBe('"user-requests-day";r=9, "user-requests-minute";r=0;t=9');
  });
});
describe('the headers of a dialect', () => {
  it.each([openaiChat, openaiCompletions, openaiEmbeddings, openaiResponses, anthropicMessages])(
    'are written by $name',
    (dialect) => {
      const prefix = dialect === anthropicMessages ? 'anthropic-ratelimit-requests-' : 'x-ratelimit-';

      expect(Object.keys(headersFor([standing()], { dialect })).filter((name) => name.startsWith(prefix))).toHaveLength(3);
    },
  );

  it.each<[string, Dialect['limits']]>([
    ['says nothing about limits', undefined],
    [
      'fails',
      () => {
        throw new Error('not today');
      },
    ],
    ['writes what is no header', () => ({ 'x-left': 'a\r\nset-cookie: b=c' })],
    ['writes no name of a header', () => ({ 'x left': '1' })],
  ])('are none where an own dialect %s', (_, limits) => {
    expect(headersFor([standing()], { dialect: { limits } as Pick<Dialect, 'limits'> })).toEqual({
      'ratelimit-policy': '"user-requests-minute";q=10;w=60',
      ratelimit: '"user-requests-minute";r=9;t=61',
    });
  });
});

const windows = fc.oneof(
  fc.record({ kind: fc.constant('sliding' as const), ms: fc.integer({ min: 1_000, max: 31_622_400_000 }) }),
  fc.record({
    kind: fc.constant('calendar' as const),
    unit: fc.constantFrom('day' as const, 'month' as const),
    timeZone: fc.constantFrom('UTC', 'Europe/Berlin', 'Pacific/Apia', 'America/New_York'),
  }),
  fc.constant({ kind: 'concurrent' as const }),
);
const dimensions = fc.constantFrom<Charge['dimension']>('tokens', 'inputTokens', 'outputTokens', 'requests', 'usd', 'concurrent');
const anyStanding = fc
  .record({
    scope: fc.stringMatching(/^[A-Za-z][\w-]{0,39}$/),
    key: fc.string({ minLength: 1, unit: 'binary' }),
    name: fc.option(fc.oneof(fc.string({ unit: 'binary', maxLength: 80 }), fc.string()), { nil: undefined }),
    dimension: dimensions,
    window: windows,
    limit: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    used: fc.option(fc.oneof(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), fc.double()), { nil: undefined }),
    waitMs: fc.option(fc.oneof(fc.constant(Infinity), fc.integer({ min: 0, max: 1e11 })), { nil: undefined }),
    ageMs: fc.integer({ min: -100_000, max: 100_000 }),
    enforce: fc.constantFrom('always', 'never', 'when-saturated'),
  })
  .map(({ scope, key, name, dimension, window, limit, used, waitMs, ageMs, enforce }) =>
    standing({ charge: { scope, key, dimension, window, limit }, budget: { name, enforce }, used, waitMs, atMs: NOW_MS - ageMs }),
  );

describe('whatever the budgets are called and the store says', () => {
  it('every value parses, is bounded by its limit, and has no reset later than retry-after', () => {
    const retryAfters = fc.option(fc.integer({ min: 1, max: 100_000_000 }), { nil: undefined });

    fc.assert(
      fc.property(fc.array(anyStanding, { maxLength: 20 }), retryAfters, fc.boolean(), (standings, retryAfter, isOpenai) => {
        const dialect = isOpenai ? openaiChat : anthropicMessages;
        const headers = headersFor(standings, { dialect, retryAfter });

        for (const [name, value] of Object.entries(headers)) validateHeaderValue(name, value);
        checkAll(retryAfter === undefined ? headers : { ...headers, 'retry-after': String(retryAfter) }, NOW_MS);
      }),
    );
  });

  it('none tells a key, nor a budget that is not of a key which the mount identified', () => {
    const figures = fc.uniqueArray(fc.integer({ min: 100_000_000, max: 999_999_999 }), { minLength: 14, maxLength: 14 });
    const keys = fc.uniqueArray(fc.stringMatching(/^sk-[a-z0-9]{8,16}$/), { minLength: 3, maxLength: 3 });

    fc.assert(
      fc.property(figures, keys, (given, [mine = '', ours = '', theirs = '']) => {
        const visit = new Visit({ identity: { user: mine, organization: ours }, scopes: [], place: 'mount:', ladder: [] });
        const inner = new Visit({ identity: { user: mine, team: theirs }, scopes: [], place: 'call', ladder: [], outer: visit });
        const [limits, used] = [given.slice(0, 7), given.slice(7)] as [number[], number[]];
        const charges = [
          ['user', theirs],
          ['organization', theirs],
          ['team', theirs],
          ['user', mine],
          ['model', 'gpt-4o'],
          ['global', 'global'],
          ['route', mine],
        ].map(([scope = '', key = ''], index) => {
          const charge = { scope, key, counter: `c${index}`, limit: limits[index] as number };
          return standing({ charge, budget: { name: `of ${key}` } }).charge;
        });

        inner.see({ charges, used, full: [{ charge: charges[0] as Charge, waitMs: 5 }], atMs: NOW_MS });
        const headers = headersFor([...visit.shared.standings.values()]);

        const [limit = 0, left = 0] = [limits[3], Math.max(0, (limits[3] ?? 0) - (used[3] ?? 0))];
        expect(headers).toEqual({
          'ratelimit-policy': `"user-requests-minute";q=${limit};w=60`,
          ratelimit: `"user-requests-minute";r=${left};t=61`,
          'x-ratelimit-limit-requests': String(limit),
          'x-ratelimit-remaining-requests': String(left),
          'x-ratelimit-reset-requests': '1m1s',
        });
      }),
    );
  });
});
