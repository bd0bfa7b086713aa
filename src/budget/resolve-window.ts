import { at, type Check, show } from '../options-check.js';
import type { Window } from '../stores/store.js';
import type { Dimension } from './budget.js';

const LENGTHS_MS = new Map<unknown, number>([
  ['second', 1_000],
  ['minute', 60_000],
  ['hour', 3_600_000],
]);
const SHORTEST_MS = 1_000;
/** A leap year; what is longer than that was hardly meant. */
const LONGEST_MS = 366 * 86_400_000;
const PER = '"second", "minute", "hour", "day", "month", "call" or whole milliseconds from 1_000 to 31_622_400_000';

/**
 * Checks `per` and `timeZone` of a budget.
 * @param dimension - `undefined` when it is faulty itself: only what stands alone is then checked
 * @returns `call` for a cap on one call, `undefined` after a fault
 */
export function readWindow(
  check: Check,
  path: string,
  { per, timeZone }: { readonly per: unknown; readonly timeZone: unknown },
  dimension: Dimension | undefined,
): Window | 'call' | undefined {
  const isCalendar = per === 'day' || per === 'month';
  const zone = isCalendar && timeZone !== undefined ? readTimeZone(check, at(path, 'timeZone'), timeZone) : 'UTC';
  if (!isCalendar && timeZone !== undefined)
    check.fault(at(path, 'timeZone'), 'goes with per: "day" and per: "month" only; take it off');

  if (dimension === 'concurrent') {
    if (per === undefined) return Object.freeze({ kind: 'concurrent' });
    check.fault(at(path, 'per'), 'does not go with concurrent, which counts what is running now; take it off');
    return undefined;
  }
  if (per === undefined && dimension === undefined) return undefined;
  if (isCalendar) return zone === undefined ? undefined : Object.freeze({ kind: 'calendar', unit: per, timeZone: zone });
  if (per === 'call') {
    if (dimension !== 'requests') return 'call';
    check.fault(at(path, 'per'), 'must not be "call" with requests, a call is always one; give a window like per: "minute"');
    return undefined;
  }
  const ms = LENGTHS_MS.get(per) ?? per;
  if (typeof ms === 'number' && Number.isInteger(ms) && ms >= SHORTEST_MS && ms <= LONGEST_MS)
    return Object.freeze({ kind: 'sliding', ms });
  return check.must(at(path, 'per'), PER, per, 'give one of them, like per: "minute"');
}

function readTimeZone(check: Check, path: string, given: unknown): string | undefined {
  if (typeof given === 'string' && isTimeZone(given)) return given;
  return check.must(path, 'the IANA name of a time zone', given, `give one like ${show('Europe/Berlin')}`);
}

const MOST_ZONES = 1_000;
/** Names found valid: asking Intl takes ten times as long as all else about a budget. */
const zones = new Set<string>();

function isTimeZone(name: string): boolean {
  if (zones.has(name)) return true;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    if (zones.size < MOST_ZONES) zones.add(name);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
