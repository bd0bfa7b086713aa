import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { Budget } from '../budget/budget.js';
import { createCalendar, type Period } from '../budget/calendar.js';
import { leavesAtMs, slotAt } from '../budget/ring.js';
import type { Standing } from '../budget/standing.js';
import type { Charge } from '../call.js';
import type { Dialect, OwnLimit } from '../dialects/dialect.js';
import { anthropicLimits, openaiLimits } from '../dialects/limits.js';
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
  /** The name as a structured field writes it. */
  readonly quoted: string;
  readonly dimension: OwnLimit['dimension'];
  readonly limit: number;
  /** `undefined`: not known. */
  readonly remaining: number | undefined;
  readonly resetMs: number | undefined;
  /** Its item of `RateLimit-Policy`. */
  readonly policy: string;
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
  const headers: Record<string, string> = {};
  if (!choice.ietf && !choice.dialect) return headers;
  const limits = namedLimits(standings, nowMs);
  if (limits.length === 0) return headers;
  if (choice.ietf) addIetfHeaders(headers, limits, retryAfter ?? Infinity);
  return choice.dialect && dialect ? Object.assign(headers, dialectHeaders(dialect, limits, nowMs)) : headers;
}

function addIetfHeaders(headers: Record<string, string>, limits: readonly NamedLimit[], retryAfter: number): void {
  let policies = '';
  let states = '';
  for (const { quoted, policy, remaining, resetMs } of limits) {
    policies += policies === '' ? policy : `, ${policy}`;
    if (remaining === undefined) continue;
    const seconds = Math.ceil((resetMs ?? 0) / 1_000);
    // The draft wants no retry before a reset; a budget that did not refuse is no reason to come back later.
    const reset = seconds > 0 && seconds <= retryAfter ? `;t=${seconds}` : '';
    states += `${states === '' ? '' : ', '}${quoted};r=${remaining}${reset}`;
  }
  headers['ratelimit-policy'] = policies;
  if (states !== '') headers.ratelimit = states;
}

/** Requests are what the draft counts by default. */
function unitOf(dimension: Charge['dimension']): string {
  if (dimension === 'requests') return '';
  return dimension === 'concurrent' ? ';qu="concurrent-requests"' : ';qu="tokens"';
}

const quote = (name: string): string => `"${name.replace(/["\\]/g, '\\$&')}"`;

/** Our own write what node:http takes. */
const TRUSTED = new Set<Dialect['limits']>([openaiLimits, anthropicLimits]);

/** A dialect may be the application's own: what it throws, or node:http would not take, must not cost the caller its answer. */
function dialectHeaders(dialect: Pick<Dialect, 'limits'>, limits: readonly NamedLimit[], nowMs: number): Record<string, string> {
  const own: OwnLimit[] = [];
  for (const { dimension, limit, remaining, resetMs } of limits)
    if (remaining !== undefined) own.push({ dimension, limit, remaining, resetMs });
  if (TRUSTED.has(dialect.limits)) return dialect.limits?.(own, nowMs) ?? {};
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
  const taken: string[] = [];
  for (const { charge, used, waitMs, atMs } of standings) {
    const { dimension, limit, window, budget } = charge;
    // A cap on one call has no quota that could run out.
    if (budget.enforce !== 'always' || !budget.window || dimension === 'usd' || limit > LARGEST) continue;
    const label = labelFor(charge, taken);
    taken.push(label.name);
    const isKnown = Number.isSafeInteger(used);
    limits.push({
      quoted: label.quoted,
      dimension,
      limit,
      remaining: isKnown ? Math.min(limit, Math.max(0, limit - (used as number))) : undefined,
      resetMs: isKnown ? resetMsOf({ window, used: used as number, waitMs, atMs, nowMs }) : undefined,
      policy: label.policy ?? policyOf(label.quoted, charge, nowMs),
    });
    if (limits.length === MOST_LIMITS) break;
  }
  return limits;
}

/** What the headers call a budget, and what they always say of it. */
interface Label {
  readonly scope: string;
  readonly name: string;
  readonly quoted: string;
  /** `undefined` where it changes from month to month, and on days that clocks are changed. */
  readonly policy: string | undefined;
}

/** By budget, under the name that its dimension and window give it: most have no other, and every answer needs it. */
const labels = new WeakMap<Budget, Label>();

function labelFor(charge: Charge, taken: readonly string[]): Label {
  const { budget, scope } = charge;
  const own = ownNameOf(charge);
  if (own !== undefined) return createLabel(freeName(own, taken), charge);
  let label = labels.get(budget);
  if (label?.scope !== scope) {
    label = createLabel(plainName(charge), charge);
    labels.set(budget, label);
  }
  return taken.includes(label.name) ? createLabel(freeName(label.name, taken), charge) : label;
}

function createLabel(name: string, charge: Charge): Label {
  const quoted = quote(name);
  return {
    scope: charge.scope,
    name,
    quoted,
    policy: charge.window.kind === 'calendar' ? undefined : policyOf(quoted, charge, 0),
  };
}

function policyOf(quoted: string, { dimension, limit, window }: Charge, nowMs: number): string {
  const windowMs = windowMsOf(window, nowMs);
  const length = windowMs === undefined ? '' : `;w=${Math.ceil(windowMs / 1_000)}`;
  return `${quoted};q=${limit}${unitOf(dimension)}${length}`;
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

/** The name that the application gave the budget, unless it repeats the key it is for. */
function ownNameOf({ key, budget: { name } }: Charge): string | undefined {
  if (name === undefined || !SAFE_NAME.test(name)) return undefined;
  return key.length >= SHORTEST_TELLING_KEY && name.includes(key) ? undefined : name;
}

/** What a budget limits: `user-tokens-minute`. */
function plainName({ scope, dimension, window }: Charge): string {
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
function freeName(name: string, taken: readonly string[]): string {
  let free = name;
  for (let next = 2; taken.includes(free); next++) free = `${name}-${next}`;
  return free;
}
