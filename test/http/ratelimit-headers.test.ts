import { validateHeaderValue } from 'node:http';
import express, { type Request, type Response } from 'express';
import fc from 'fast-check';
import request from 'supertest';
import { afterEach, describe, expect, it } from 'vitest';
import { spillway, spillwayOf } from '../../adapters/express.js';
import type { Standing } from '../../src/budget/standing.js';
import type { Charge } from '../../src/call.js';
import type { OwnLimit } from '../../src/dialects/dialect.js';
import { anthropicLimits, goDuration, openaiLimits } from '../../src/dialects/limits.js';
import { limitHeaders } from '../../src/http/ratelimit-headers.js';
import {
  anthropicMessages,
  type BudgetOptions,
  cachedAnswer,
  createSpillway,
  type Dialect,
  type Gate,
  type MountOptions,
  memoryStore,
  type Options,
  openaiChat,
  openaiCompletions,
  openaiEmbeddings,
  openaiResponses,
  staticAnswer,
} from '../../src/index.js';
import type { Window } from '../../src/stores/store.js';
import { Visit } from '../../src/visit.js';
import { completion } from '../support/chat.js';
import { answerOf, bodyOf } from '../support/gate.js';
import { createVirtualClock } from '../support/virtual-clock.js';

const NOW_MS = Date.UTC(2026, 0, 1);
const ALL = { ietf: true, dialect: true } as const;

interface Item {
  readonly name: string;
  readonly params: Readonly<Record<string, string | number>>;
}

/** Reads a list of strings with parameters as RFC 9651 has them, and nothing that is not one. */
function parseList(text: string): Item[] {
  let at = 0;
  const take = (pattern: RegExp): string => {
    const sticky = new RegExp(pattern, 'y');
    sticky.lastIndex = at;
    const [found] = sticky.exec(text) ?? [];
    if (found === undefined) throw new Error(`no ${pattern} at ${at} of ${text}`);
    at += found.length;
    return found;
  };
  const string = () =>
    take(/"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"/)
      .slice(1, -1)
      .replace(/\\(.)/g, '$1');
  const items: Item[] = [];
  do {
    if (items.length > 0) take(/, /);
    const name = string();
    const params: Record<string, string | number> = {};
    while (text[at] === ';') {
      const key = take(/;[a-z*][a-z0-9_.*-]*=/).slice(1, -1);
      if (key in params) throw new Error(`${key} comes twice in ${text}`);
      params[key] = text[at] === '"' ? string() : Number(take(/-?\d{1,15}(?![\d.])/));
    }
    items.push({ name, params });
  } while (at < text.length);
  return items;
}

/** Milliseconds of a duration as Go reads it. */
function parseGoDuration(text: string): number {
  const milliseconds = /^(\d+)ms$/.exec(text);
  if (milliseconds) return Number(milliseconds[1]);
  const found = /^(?:(\d+)h)?(?:(\d+)m)?(\d+(?:\.\d+)?)s$/.exec(text);
  if (!found) throw new Error(`${text} is no duration`);
  const [hours = 0, minutes = 0, seconds = 0] = found.slice(1).map((part) => Number(part ?? 0));
  return Math.round((hours * 3_600 + minutes * 60 + seconds) * 1_000);
}

/** Epoch milliseconds of an instant of RFC 3339 in UTC. */
function parseInstant(text: string): number {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text)) throw new Error(`${text} is no instant`);
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new Error(`${text} is no instant`);
  return ms;
}

/** What is wrong with the headers about limits, all dialects together; throws where one does not parse. */
function checkAll(headers: Readonly<Record<string, string>>, nowMs: number): void {
  const policies = new Map(parseMaybe(headers['ratelimit-policy']).map(({ name, params }) => [name, params]));
  expect(policies.size).toBe(parseMaybe(headers['ratelimit-policy']).length);
  for (const { q, w = 1, qu = 'requests', ...rest } of policies.values()) {
    expect(q).toBeGreaterThanOrEqual(0);
    expect(w).toBeGreaterThanOrEqual(1);
    expect(['requests', 'tokens', 'concurrent-requests']).toContain(qu);
    expect(rest).toEqual({});
  }
  for (const { name, params } of parseMaybe(headers.ratelimit)) {
    const { r, t, ...rest } = params as Record<string, number>;
    expect(rest).toEqual({});
    expect(r).toBeGreaterThanOrEqual(0);
    expect(r).toBeLessThanOrEqual(policies.get(name)?.q as number);
    if (t === undefined) continue;
    expect(t).toBeGreaterThanOrEqual(1);
    expect(t).toBeLessThanOrEqual(Number(headers['retry-after'] ?? Infinity));
  }
  for (const [name, value] of Object.entries(headers)) {
    const [, figure] = /^(?:x|anthropic)-ratelimit-.*?(limit|remaining|reset)(?:-(?:requests|tokens))?$/.exec(name) ?? [];
    if (figure === 'reset' && name.startsWith('x-')) expect(parseGoDuration(value)).toBeGreaterThanOrEqual(0);
    else if (figure === 'reset') expect(parseInstant(value)).toBeGreaterThanOrEqual(Math.floor(nowMs / 1_000) * 1_000);
    else if (figure) expect(value).toMatch(/^\d+$/);
  }
}

const parseMaybe = (text: string | undefined): Item[] => (text === undefined ? [] : parseList(text));

const MINUTE: Window = { kind: 'sliding', ms: 60_000 };

function standing(fields: Partial<Standing> & { charge?: Partial<Charge> } & { budget?: object } = {}): Standing {
  const window = fields.charge?.window ?? MINUTE;
  const charge = { scope: 'user', key: 'ada', dimension: 'requests', limit: 10, counter: 'c', ...fields.charge, window };
  const budget = { enforce: 'always', window, name: undefined, ...fields.budget };
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

  it.each<[string, Parameters<typeof standing>[0]]>([
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
  it.each<[string, Parameters<typeof standing>[0], string]>([
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
  const own = (fields: Partial<OwnLimit>): OwnLimit => ({
    dimension: 'tokens',
    limit: 100,
    remaining: 40,
    resetMs: 1_200,
    ...fields,
  });

  it('of OpenAI tell requests and tokens, each by the budget with least left', () => {
    const limits = [
      own({ limit: 9_000, remaining: 41 }),
      own({}),
      own({ dimension: 'requests', limit: 5, remaining: 0, resetMs: 360_000 }),
    ];

    expect(openaiLimits(limits)).toEqual({
      'x-ratelimit-limit-requests': '5',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '6m0s',
      'x-ratelimit-limit-tokens': '100',
      'x-ratelimit-remaining-tokens': '40',
      'x-ratelimit-reset-tokens': '1.2s',
    });
  });

  it('of Anthropic tell input and output apart, with instants', () => {
    expect(
      anthropicLimits([own({}), own({ dimension: 'inputTokens' }), own({ dimension: 'outputTokens', resetMs: 0 })], NOW_MS),
    ).toEqual({
      'anthropic-ratelimit-tokens-limit': '100',
      'anthropic-ratelimit-tokens-remaining': '40',
      'anthropic-ratelimit-tokens-reset': '2026-01-01T00:00:02Z',
      'anthropic-ratelimit-input-tokens-limit': '100',
      'anthropic-ratelimit-input-tokens-remaining': '40',
      'anthropic-ratelimit-input-tokens-reset': '2026-01-01T00:00:02Z',
      'anthropic-ratelimit-output-tokens-limit': '100',
      'anthropic-ratelimit-output-tokens-remaining': '40',
      'anthropic-ratelimit-output-tokens-reset': '2026-01-01T00:00:00Z',
    });
  });

  it('take the later reset of two budgets with as much left', () => {
    const limits = [own({ resetMs: 5_000 }), own({ limit: 200, resetMs: 9_000 }), own({ limit: 300, resetMs: undefined })];

    expect(openaiLimits(limits)).toMatchObject({ 'x-ratelimit-limit-tokens': '200', 'x-ratelimit-reset-tokens': '9s' });
  });

  it('leave out what no budget of the caller limits, and resets that nobody knows', () => {
    expect(openaiLimits([own({ dimension: 'concurrent' }), own({ dimension: 'inputTokens' })])).toEqual({});
    expect(openaiLimits([own({ resetMs: undefined })])).toEqual({
      'x-ratelimit-limit-tokens': '100',
      'x-ratelimit-remaining-tokens': '40',
    });
  });

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

  it.each([
    [0, '0s'],
    [0.2, '1ms'],
    [9, '9ms'],
    [999, '999ms'],
    [1_000, '1s'],
    [1_200, '1.2s'],
    [59_999, '59.999s'],
    [60_000, '1m0s'],
    [60_001, '1m1s'],
    [360_000, '6m0s'],
    [3_600_000, '1h0m0s'],
    [3_723_000, '1h2m3s'],
    [86_400_000, '24h0m0s'],
  ])('write %d ms as %s', (ms, text) => {
    expect(goDuration(ms)).toBe(text);
  });

  it('write durations that Go reads, a second longer at most and never shorter', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 4e10, noNaN: true }), (ms) => {
        const read = parseGoDuration(goDuration(ms));

        expect(read).toBeGreaterThanOrEqual(ms);
        expect(read - ms).toBeLessThanOrEqual(ms < 60_000 ? 1 : 1_001);
      }),
    );
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
      fc.property(figures, keys, ([ownLimit = 0, ownUsed = 0, ...others], [mine = '', org = '', theirs = '']) => {
        const shown = (limit: number) => new RegExp(`=${limit}\\b`);
        const visit = new Visit({ identity: { user: mine, organization: org }, scopes: [], place: 'mount:', ladder: [] });
        const inner = new Visit({ identity: { user: mine, team: theirs }, scopes: [], place: 'call', ladder: [], outer: visit });
        const asked = [
          ['user', mine],
          ['user', theirs],
          ['organization', theirs],
          ['team', theirs],
          ['model', 'gpt-4o'],
          ['global', 'global'],
          ['route', mine],
        ].map(([scope = '', key = ''], index) => {
          const limit = index === 0 ? ownLimit : (others[2 * index - 2] as number);
          return standing({ charge: { scope, key, counter: `c${index}`, limit }, budget: { name: `of ${key}` } }).charge;
        });
        const used = asked.map((_, index) => (index === 0 ? ownUsed : (others[2 * index - 1] as number)));

        inner.see({ charges: asked, used, full: [{ charge: asked[1] as Charge, waitMs: 5 }], atMs: NOW_MS });
        const told = JSON.stringify(headersFor([...visit.shared.standings.values()]));

        expect(told).toMatch(shown(ownLimit));
        for (const key of [mine, org, theirs]) expect(told).not.toContain(key);
        for (const [index, figure] of others.entries()) {
          expect(told).not.toContain(String(figure));
          if (index % 2 === 0) expect(told).not.toContain(`=${Math.max(0, figure - (others[index + 1] ?? 0))};`);
        }
      }),
    );
  });
});

type Scopes = 'organization' | 'user' | 'global';
const USER: readonly BudgetOptions[] = [
  { tokens: 10_000, per: 'minute' },
  { requests: 3, per: 'minute' },
];

describe('on Express', () => {
  const gates: Gate<Scopes>[] = [];
  afterEach(async () => {
    for (const gate of gates.splice(0)) await gate.close();
  });

  function createApp({
    budgets = USER,
    gate: options = {},
    mount = {},
    handler = (_req, res) => void res.json(completion({ input: 3, output: 97 })),
  }: {
    budgets?: readonly BudgetOptions[];
    gate?: Partial<Options<Scopes>>;
    mount?: MountOptions<Scopes, Request>;
    handler?: (req: Request, res: Response, gate: Gate<Scopes>) => unknown;
  } = {}) {
    const clock = createVirtualClock(NOW_MS);
    const gate = createSpillway<Scopes>({
      models: { 'gpt-4o': { budgets: [{ tokens: 777_777, per: 'minute' }] } },
      scopes: {
        global: { budgets: [{ requests: 888_888, per: 'minute' }] },
        organization: { budgets: [], optional: true },
        user: { budgets, optional: true },
      },
      ladder: [],
      store: memoryStore({ clock }),
      clock,
      random: () => 0,
      overheadRatio: 0,
      ...options,
    });
    gates.push(gate);
    const app = express();
    const identify = (req: Request) => ({ user: req.get('x-user'), organization: req.get('x-organization') });
    const route: MountOptions<Scopes, Request> = { route: 'chat', budgets: { route: [{ requests: 999_999, per: 'minute' }] } };
    app.post('/chat', spillway(gate, { ...route, identify, ...mount }), (req, res) => void handler(req, res, gate));
    const post = async (user: string, body: object = bodyOf(100), fields: Record<string, string> = {}) =>
      request(app)
        .post('/chat')
        .set({ 'x-user': user, ...fields })
        .send(body);
    return { gate, clock, post };
  }

  const limitsIn = (headers: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => /ratelimit/.test(name)));

  it('one call tells what its own budgets have left, and nothing of those that others share', async () => {
    const { post } = createApp();

    const { status, headers } = await post('ada');

    expect(status).toBe(200);
    expect(limitsIn(headers)).toEqual({
      'ratelimit-policy': '"user-tokens-minute";q=10000;qu="tokens";w=60, "user-requests-minute";q=3;w=60',
      ratelimit: '"user-tokens-minute";r=9900;t=61, "user-requests-minute";r=2;t=61',
      'x-ratelimit-limit-requests': '3',
      'x-ratelimit-remaining-requests': '2',
      'x-ratelimit-reset-requests': '1m1s',
      'x-ratelimit-limit-tokens': '10000',
      'x-ratelimit-remaining-tokens': '9900',
      'x-ratelimit-reset-tokens': '1m1s',
    });
    expect(JSON.stringify(headers)).not.toMatch(/777|888|999/);
  });

  it('a body of Anthropic gets the headers of Anthropic', async () => {
    const { post } = createApp({ mount: { dialect: 'anthropic-messages' } });

    const { headers } = await post('ada', bodyOf(100));

    expect(headers).toMatchObject({
      'anthropic-ratelimit-requests-limit': '3',
      'anthropic-ratelimit-requests-remaining': '2',
      'anthropic-ratelimit-requests-reset': '2026-01-01T00:01:01Z',
      'anthropic-ratelimit-tokens-limit': '10000',
    });
    expect(Object.keys(headers).filter((name) => name.startsWith('x-ratelimit'))).toEqual([]);
  });

  it('two users are told their own numbers', async () => {
    const { post } = createApp();

    await post('ada');
    const [ada, bob] = [await post('ada', bodyOf(300)), await post('bob')];

    expect(ada.headers.ratelimit).toBe('"user-tokens-minute";r=9600;t=61, "user-requests-minute";r=1;t=61');
    expect(bob.headers.ratelimit).toBe('"user-tokens-minute";r=9900;t=61, "user-requests-minute";r=2;t=61');
  });

  it("a budget of the mount for each user is the caller's own too, under another name", async () => {
    const { post } = createApp({
      budgets: [USER[1] as BudgetOptions],
      mount: { budgets: { user: [{ requests: 2, per: 'minute' }] } },
    });

    const { headers } = await post('ada');

    expect(headers.ratelimit).toBe('"user-requests-minute";r=2;t=61, "user-requests-minute-2";r=1;t=61');
    expect(headers['x-ratelimit-remaining-requests']).toBe('1');
  });

  it('a refusal tells the wait of what is full, and retry-after is no earlier', async () => {
    const { clock, post } = createApp({ budgets: [{ requests: 50, per: 'day' }, ...USER] });
    for (let times = 0; times < 3; times++) await post('ada');
    await clock.advance(30_000);

    const { status, headers } = await post('ada');

    expect(status).toBe(429);
    expect(headers.ratelimit).toBe('"user-requests-day";r=47, "user-tokens-minute";r=9700, "user-requests-minute";r=0;t=31');
    expect(headers).toMatchObject({ 'retry-after': '31', 'retry-after-ms': '31000', 'x-ratelimit-reset-requests': '31s' });
    checkAll(headers, clock.now());
  });

  it('a refusal by a budget that others share tells what the caller has left, and not whose limit it was', async () => {
    const { post } = createApp({ gate: { models: { 'gpt-4o': { budgets: [{ requests: 1, per: 'hour' }] } } } });
    await post('bob');

    const { status, headers } = await post('ada');

    expect(status).toBe(429);
    expect(headers.ratelimit).toBe('"user-tokens-minute";r=10000, "user-requests-minute";r=3');
    expect(headers).toMatchObject({ 'retry-after': '3660', 'x-should-retry': 'false' });
    expect(headers).not.toHaveProperty('retry-after-ms');
  });

  it('a call that never fits is told its limits, and no wait', async () => {
    const { post } = createApp({ budgets: [{ inputTokens: 2, per: 'minute' }] });

    const { status, headers } = await post('ada');

    expect(status).toBe(413);
    expect(limitsIn(headers)).toEqual({ 'ratelimit-policy': '"user-input-tokens-minute";q=2;qu="tokens";w=60' });
    expect(headers).not.toHaveProperty('retry-after');
  });

  it('a store that is gone leaves the numbers out, and the wait in', async () => {
    const store = { ...memoryStore(), reserve: () => Promise.reject(new Error('gone')), onNotice: () => {} };
    const { post } = createApp({ gate: { store } });

    const { status, headers } = await post('ada');

    expect(status).toBe(503);
    expect(limitsIn(headers)).toEqual({});
    expect(headers).toMatchObject({ 'retry-after': '1', 'retry-after-ms': '1000' });
  });

  it.each([
    ['static', staticAnswer('Later, please.')],
    ['cached', cachedAnswer()],
  ])('a %s answer tells how long the budget stays full', async (outcome, step) => {
    const { post } = createApp({ budgets: [{ requests: 1, per: 'minute' }], gate: { ladder: [step] } });
    await post('ada');

    const { status, headers } = await post('ada');

    expect({ status, outcome: headers['spillway-outcome'] }).toEqual({ status: 200, outcome });
    expect(headers).toMatchObject({ ratelimit: '"user-requests-minute";r=0;t=61', 'x-ratelimit-remaining-requests': '0' });
  });

  it('an error status of the handler is answered with the numbers of the call inside that was refused', async () => {
    const { post } = createApp({
      budgets: [{ tokens: 200, per: 'minute' }],
      gate: { ladder: [staticAnswer('Later, please.')] },
      handler: async (req, res) => {
        const { kind } = await spillwayOf(req).run({ body: bodyOf(190) }, async () => answerOf(190));
        res.status(kind === 'shed' ? 500 : 200).json({ kind });
      },
    });

    const { headers } = await post('ada');

    expect(headers).toMatchObject({ 'spillway-outcome': 'static', ratelimit: '"user-tokens-minute";r=100;t=61' });
  });

  it('a body of its own shape is told the tokens of the call that its handler made', async () => {
    const { post } = createApp({
      handler: async (req, res) => {
        await spillwayOf(req).run({ body: bodyOf(400) }, async () => answerOf(400));
        res.json({ reply: 'Over the wall.' });
      },
    });

    const { headers } = await post('ada', { message: 'Where does the water go?' });

    expect(headers.ratelimit).toBe('"user-requests-minute";r=2;t=61, "user-tokens-minute";r=9600;t=61');
  });

  it('a call that the handler makes in another name is no business of the caller', async () => {
    const { gate, post } = createApp({
      handler: async (_req, res, own) => {
        await own.as({ organization: 'acme' }).run({ body: bodyOf(400) }, async () => answerOf(400));
        res.json(completion());
      },
      gate: {
        scopes: {
          global: { budgets: [] },
          organization: { budgets: [{ tokens: 5_555, per: 'minute' }], optional: true },
          user: { budgets: USER, optional: true },
        },
      },
    });
    const seen: unknown[] = [];
    gate.on('call-admitted', ({ scopes }) => seen.push(Object.keys(scopes)));

    const { headers } = await post('ada', { message: 'Where does the water go?' });

    expect(seen).toContainEqual(expect.arrayContaining(['organization']));
    expect(JSON.stringify(headers)).not.toMatch(/5555|5155|organization/);
    expect(headers.ratelimit).toContain('"user-requests-minute";r=2;t=61');
  });

  it.each<[string, MountOptions['headers'], RegExp[]]>([
    ['all, when the option is left out', undefined, [/^ratelimit/, /^x-ratelimit-/, /^spillway-/]],
    ['all, when it is true', true, [/^ratelimit/, /^x-ratelimit-/, /^spillway-/]],
    ['none, when it is false', false, []],
    ['all but ietf', { ietf: false }, [/^x-ratelimit-/, /^spillway-/]],
    ['all but dialect', { dialect: false }, [/^ratelimit/, /^spillway-/]],
    ['all but outcome', { outcome: false }, [/^ratelimit/, /^x-ratelimit-/]],
  ])('headers are written: %s', async (_, headers, expected) => {
    const { post } = createApp({ budgets: [{ requests: 1, per: 'minute' }], mount: headers === undefined ? {} : { headers } });

    for (const status of [200, 429]) {
      const response = await post('ada');
      const names = Object.keys(response.headers);

      expect(response.status).toBe(status);
      for (const family of [/^ratelimit/, /^x-ratelimit-/, /^spillway-/])
        expect({ family, isThere: names.some((name) => family.test(name)) }).toEqual({
          family,
          isThere: expected.some(({ source }) => source === family.source),
        });
      expect('retry-after' in response.headers).toBe(status === 429);
    }
  });

  it('nothing of a body or of a key is in them, and all of them parse, whatever is asked when', async () => {
    const marker = fc.string({ minLength: 10, maxLength: 16, unit: fc.constantFrom(...'ghijkmpqvwxyz') });
    const budget = fc.record({
      amount: fc.integer({ min: 150, max: 900 }),
      per: fc.constantFrom('second' as const, 'minute' as const, 'day' as const, 90_000, 1_500),
      isTokens: fc.boolean(),
    });
    const steps = fc.array(fc.record({ afterMs: fc.integer({ min: 0, max: 40_000 }), isFirst: fc.boolean() }), {
      minLength: 3,
      maxLength: 6,
    });
    let refused = 0;

    await fc.assert(
      fc.asyncProperty(
        fc.array(budget, { minLength: 1, maxLength: 3 }),
        steps,
        marker,
        marker,
        async (given, asks, key, prompt) => {
          const budgets = given.map(({ amount, per, isTokens }, index): BudgetOptions => {
            const name = `b${index} ${key}`;
            return isTokens ? { tokens: amount, per, name } : { requests: 1 + (amount % 3), per, name };
          });
          const { clock, post } = createApp({ budgets });
          for (const { afterMs, isFirst } of asks) {
            await clock.advance(afterMs);
            const body = bodyOf(100, prompt, { user: prompt, temperature: 1, metadata: { [prompt]: prompt } });
            const { status, headers } = await post(isFirst ? key : `${key}-2`, body);

            expect([200, 429]).toContain(status);
            checkAll(headers, clock.now());
            for (const secret of [key, prompt]) expect(JSON.stringify(limitsIn(headers))).not.toContain(secret);
            if (status === 200) continue;
            refused++;
            const seconds = Number(headers['retry-after']);
            expect(seconds).toBeGreaterThanOrEqual(1);
            expect('retry-after-ms' in headers).toBe(Number(headers['retry-after-ms'] ?? Infinity) <= 60_000);
            expect(headers['x-should-retry']).toBe('retry-after-ms' in headers ? undefined : 'false');
            expect(parseList(headers.ratelimit as string).some(({ params }) => params.t !== undefined)).toBe(true);
          }
        },
      ),
      { numRuns: 25 },
    );
    expect(refused).toBeGreaterThan(0);
  }, 60_000);

  describe('refuseWith', () => {
    const one = [{ requests: 1, per: 'minute' }] as const;

    it('gives full budgets its status, in the shape that the dialect has for it, with the wait', async () => {
      const { gate, post } = createApp({ budgets: one, gate: { refuseWith: 402 } });
      const told: number[] = [];
      gate.on('call-shed', ({ status }) => told.push(status));
      await post('ada');

      const { status, body, headers } = await post('ada');

      expect({ status, told }).toEqual({ status: 402, told: [402] });
      expect(body.error).toMatchObject({ type: 'insufficient_quota', code: 'insufficient_quota' });
      expect(headers).toMatchObject({ 'retry-after': '61', 'x-should-retry': 'false', 'spillway-outcome': 'shed' });
    });

    it.each([
      [402, 'billing_error'],
      [429, 'rate_limit_error'],
      [529, 'overloaded_error'],
    ])('makes %d of Anthropic a %s', async (refuseWith, type) => {
      const { post } = createApp({ budgets: one, mount: { dialect: 'anthropic-messages', refuseWith } });
      await post('ada');

      const { status, body } = await post('ada');

      expect({ status, type: body.error.type }).toEqual({ status: refuseWith, type });
    });

    it('as a number leaves what never fits at its own status', async () => {
      const { post } = createApp({ budgets: [{ inputTokens: 2, per: 'minute' }], gate: { refuseWith: 402 } });

      expect((await post('ada')).status).toBe(413);
    });

    it('as a function decides about each refusal, and that of the mount wins', async () => {
      const seen: string[] = [];
      const { post } = createApp({
        budgets: [{ inputTokens: 2, per: 'minute' }],
        gate: { refuseWith: 402 },
        mount: {
          refuseWith: ({ reason, full }) => {
            seen.push(`${reason} ${full[0]?.charge.scope}`);
            return 422;
          },
        },
      });

      expect((await post('ada')).status).toBe(422);
      expect(new Set(seen)).toEqual(new Set(['never-fits user']));
    });

    it.each<[string, unknown]>([
      ['nothing', undefined],
      ['a status of success', 200],
      ['no whole number', 402.5],
      ['a text', '402'],
      ['not a number', Number.NaN],
      ['a status that is none', 600],
      ['a promise that fails', 'reject'],
      ['an exception', 'throw'],
    ])('as a function that gives %s leaves the usual status', async (_, given) => {
      const refuseWith = () => {
        if (given === 'throw') throw new Error('not today');
        return (given === 'reject' ? Promise.reject(new Error('not today')) : given) as number;
      };
      const { post } = createApp({ budgets: one, gate: { refuseWith } });
      await post('ada');

      const { status, headers } = await post('ada');

      expect({ status, retryAfter: headers['retry-after'] }).toEqual({ status: 429, retryAfter: '61' });
    });
  });
});
