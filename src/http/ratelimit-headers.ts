import { validateHeaderName, validateHeaderValue } from 'node:http';
import { createCalendar, type Period } from '../budget/calendar.js';
import { leavesAtMs, slotAt } from '../budget/ring.js';
import type { Standing } from '../budget/standing.js';
import type { Charge } from '../call.js';
import type { Dialect, OwnLimit } from '../dialects/dialect.js';
import type { HeaderChoice } from '../mount-options.js';
import type { Window } from '../stores/store.js';

/** What the headers about limits are made of. */
export interface LimitFacts {
  /** Of the caller's own budgets. */
  readonly standings: Iterable<Standing>;
  readonly dialect: Pick<Dialect, 'limits'> | undefined;
  readonly choice: Pick<HeaderChoice, 'ietf' | 'dialect'>;
  readonly nowMs: number;
  /** What `retry-after` says on the same answer, in seconds. */
  readonly retryAfter?: number | undefined;
}

/** A budget that the caller may know about, under a name of its own. */
interface NamedLimit {
  readonly name: string;
  readonly dimension: OwnLimit['dimension'];
  readonly limit: number;
  /** `undefined`: not known. */
  readonly remaining: number | undefined;
  readonly resetMs: number | undefined;
  /** Length of its window; `undefined` where it counts what is running. */
  readonly windowMs: number | undefined;
}

/** More would make heads that proxies refuse. */
const MOST_LIMITS = 16;
/** The largest integer of a structured field. */
const LARGEST = 999_999_999_999_999;

/**
 * The headers by which callers learn their own limits: `RateLimit-Policy` and `RateLimit`, and those of the call's dialect.
 * Only budgets that always refuse when full are told, and none of money, which no header has a unit for. What is not known is
 * left out.
 *
 * A reset (`t`) is a promise and no guess: where the call was refused, the wait until it would have fitted; else the instant by
 * which all that counts now has left the window, so that no client comes back too early. That is the end of a day or month,
 * and of sliding windows the time that a charge of now stays. What frees concurrency nobody can foretell.
 * @see draft-ietf-httpapi-ratelimit-headers-10 and -11; the unit "tokens" is in no registry
 */
export function limitHeaders({ standings, dialect, choice, nowMs, retryAfter }: LimitFacts): Record<string, string> {
  if (!choice.ietf && !choice.dialect) return {};
  const limits = namedLimits(standings, nowMs);
  return {
    ...(choice.ietf ? ietfHeaders(limits, retryAfter ?? Infinity) : {}),
    ...(choice.dialect && dialect ? dialectHeaders(dialect, limits, nowMs) : {}),
  };
}

function ietfHeaders(limits: readonly NamedLimit[], retryAfter: number): Record<string, string> {
  const policies = limits.map(({ name, dimension, limit, windowMs }) => {
    const window = windowMs === undefined ? '' : `;w=${Math.ceil(windowMs / 1_000)}`;
    return `${quoted(name)};q=${limit}${unitOf(dimension)}${window}`;
  });
  const known = limits.filter(({ remaining }) => remaining !== undefined);
  const states = known.map(({ name, remaining, resetMs }) => {
    const seconds = Math.ceil((resetMs ?? 0) / 1_000);
    // The draft wants no retry before a reset; a budget that did not refuse is no reason to come back later.
    return `${quoted(name)};r=${remaining}${seconds > 0 && seconds <= retryAfter ? `;t=${seconds}` : ''}`;
  });
  return {
    ...(policies.length > 0 ? { 'ratelimit-policy': policies.join(', ') } : {}),
    ...(states.length > 0 ? { ratelimit: states.join(', ') } : {}),
  };
}

/** Requests are what the draft counts by default. */
function unitOf(dimension: OwnLimit['dimension']): string {
  if (dimension === 'requests') return '';
  return dimension === 'concurrent' ? ';qu="concurrent-requests"' : ';qu="tokens"';
}

function quoted(name: string): string {
  return `"${name.replace(/["\\]/g, '\\$&')}"`;
}

/** A dialect may be the application's own: what it throws, or node:http would not take, must not cost the caller its answer. */
function dialectHeaders(dialect: Pick<Dialect, 'limits'>, limits: readonly NamedLimit[], nowMs: number): Record<string, string> {
  const own = limits.flatMap(({ dimension, limit, remaining, resetMs }) =>
    remaining === undefined ? [] : { dimension, limit, remaining, resetMs },
  );
  try {
    const headers = Object.entries(dialect.limits?.(own, nowMs) ?? {});
    for (const [name, value] of headers) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    }
    return Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
  } catch {
    return {};
  }
}

function namedLimits(standings: Iterable<Standing>, nowMs: number): readonly NamedLimit[] {
  const limits: NamedLimit[] = [];
  const taken = new Set<string>();
  for (const { charge, used, waitMs, atMs } of standings) {
    const { dimension, limit, window, budget } = charge;
    // A cap on one call has no quota that could run out.
    if (budget.enforce !== 'always' || !budget.window || dimension === 'usd' || limit > LARGEST) continue;
    const name = freeName(nameOf(charge), taken);
    taken.add(name);
    const isKnown = Number.isSafeInteger(used);
    limits.push({
      name,
      dimension,
      limit,
      remaining: isKnown ? Math.min(limit, Math.max(0, limit - (used as number))) : undefined,
      resetMs: isKnown ? resetMsOf({ window, used: used as number, waitMs, atMs, nowMs }) : undefined,
      windowMs: windowMsOf(window, nowMs),
    });
    if (limits.length === MOST_LIMITS) break;
  }
  return limits;
}

function resetMsOf(state: {
  readonly window: Window;
  readonly used: number;
  readonly waitMs: number | undefined;
  readonly atMs: number;
  readonly nowMs: number;
}): number | undefined {
  const { window, used, waitMs, atMs, nowMs } = state;
  if (window.kind === 'concurrent') return undefined;
  // What was full then may not be any more; one who was told so much still finds room a little later.
  if (waitMs !== undefined && waitMs > 0 && waitMs < Infinity) return Math.max(1, atMs + waitMs - nowMs);
  if (used <= 0) return 0;
  if (window.kind === 'calendar') return periodAt(window, nowMs).endMs - nowMs;
  return Math.max(0, leavesAtMs(slotAt(atMs, window.ms), window.ms) - nowMs);
}

function windowMsOf(window: Window, nowMs: number): number | undefined {
  switch (window.kind) {
    case 'sliding':
      return window.ms;
    case 'calendar': {
      const { startMs, endMs } = periodAt(window, nowMs);
      return endMs - startMs;
    }
    case 'concurrent':
      return undefined;
    default:
      return window satisfies never;
  }
}

const MOST_CALENDARS = 100;
/** Making one costs more than all else here. */
const calendars = new Map<string, (nowMs: number) => Period>();

function periodAt({ unit, timeZone }: Extract<Window, { kind: 'calendar' }>, nowMs: number): Period {
  const name = `${unit} ${timeZone}`;
  let calendar = calendars.get(name);
  if (!calendar) {
    calendar = createCalendar(unit, timeZone);
    if (calendars.size >= MOST_CALENDARS) calendars.delete(calendars.keys().next().value as string);
    calendars.set(name, calendar);
  }
  return calendar(nowMs);
}

/** Text that a structured field takes, and that stays short. */
const SAFE_NAME = /^[\x20-\x7e]{1,64}$/;
/** Keys from this length on are not met by chance in other text. */
const SHORTEST_TELLING_KEY = 6;

/** The budget's own name, unless it repeats the key it is for; else what it limits: `user-tokens-minute`. */
function nameOf({ scope, key, dimension, window, budget: { name } }: Charge): string {
  const tellsKey = key.length >= SHORTEST_TELLING_KEY && name?.includes(key);
  if (name !== undefined && SAFE_NAME.test(name) && !tellsKey) return name;
  return [scope, WORDS[dimension], ...windowWord(window)].join('-');
}

const WORDS = {
  tokens: 'tokens',
  inputTokens: 'input-tokens',
  outputTokens: 'output-tokens',
  requests: 'requests',
  usd: 'usd',
  concurrent: 'concurrent',
} as const;

const LENGTHS: Readonly<Record<number, string>> = { 1000: 'second', 60000: 'minute', 3600000: 'hour' };

function windowWord(window: Window): string[] {
  if (window.kind === 'concurrent') return [];
  if (window.kind === 'calendar') return [window.unit];
  return [LENGTHS[window.ms] ?? (window.ms % 1_000 === 0 ? `${window.ms / 1_000}s` : `${window.ms}ms`)];
}

/** Clients match the two headers by name. */
function freeName(name: string, taken: ReadonlySet<string>): string {
  let free = name;
  for (let next = 2; taken.has(free); next++) free = `${name}-${next}`;
  return free;
}
