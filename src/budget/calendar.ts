/** One day or month, and the start of the one before: instants, epoch milliseconds. */
export interface Period {
  readonly previousMs: number;
  readonly startMs: number;
  /** Start of the next one: no longer inside. */
  readonly endMs: number;
}

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** No zone was ever further from UTC. */
const FARTHEST_MS = 16 * HOUR_MS;

/**
 * Tells which day or month an instant lies in. Remembers the last answer, so that asking again costs two comparisons.
 * @throws RangeError when there is no such time zone
 */
export function createCalendar(unit: 'day' | 'month', timeZone: string): (nowMs: number) => Period {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
  });
  let last: Period = { previousMs: 0, startMs: 0, endMs: 0 };

  // Local dates are named by their midnight in UTC: a number, so they compare and step without regard to any zone.
  const dateAt = (ms: number): number => {
    const [month, day, year] = format.format(ms).split('/').map(Number) as [number, number, number];
    return Date.UTC(year, month - 1, day);
  };
  const firstOf = (date: number): number => (unit === 'day' ? date : monthFrom(date, 0));
  const step = (date: number, by: 1 | -1): number => (unit === 'day' ? date + by * DAY_MS : monthFrom(date, by));

  /** First instant of a local date. Searched for, because midnight may be skipped, come twice, or whole days be left out. */
  const startOf = (date: number): number => {
    let beforeMs = date - FARTHEST_MS;
    let startMs = date + FARTHEST_MS;
    while (startMs - beforeMs > SECOND_MS) {
      const middleMs = beforeMs + Math.floor((startMs - beforeMs) / 2 / SECOND_MS) * SECOND_MS;
      if (dateAt(middleMs) >= date) startMs = middleMs;
      else beforeMs = middleMs;
    }
    return startMs;
  };
  const find = (nowMs: number): Period => {
    let date = firstOf(dateAt(nowMs));
    // Where midnight comes twice the local date goes back for a while; a period must not.
    while (startOf(date) > nowMs) date = step(date, -1);
    while (startOf(step(date, 1)) <= nowMs) date = step(date, 1);
    const startMs = startOf(date);
    const endMs = startOf(step(date, 1));
    let previousMs = startMs;
    for (let before = step(date, -1); previousMs === startMs; before = step(before, -1)) previousMs = startOf(before);
    return { previousMs, startMs, endMs };
  };

  return (nowMs) => {
    if (nowMs < last.startMs || nowMs >= last.endMs) last = find(nowMs);
    return last;
  };
}

/**
 * What was charged in a period and in the one charged before it. Periods are named by their start, so a counter needs no
 * reset, and a settlement after midnight finds the day it belongs to.
 */
export interface CalendarCount {
  period: number;
  used: number;
  previousPeriod: number;
  previousUsed: number;
}

export function createCount(period: number): CalendarCount {
  return { period, used: 0, previousPeriod: -Infinity, previousUsed: 0 };
}

export function countedIn(count: CalendarCount, period: number): number {
  if (period === count.period) return count.used;
  return period === count.previousPeriod ? count.previousUsed : 0;
}

/** Adds to a period, or takes from it down to 0. A clock that went back over midnight finds the old period again. */
export function addTo(count: CalendarCount, period: number, delta: number): void {
  if (period > count.period) {
    if (delta <= 0) return;
    count.previousPeriod = count.period;
    count.previousUsed = count.used;
    count.period = period;
    count.used = delta;
  } else if (period === count.period) {
    count.used = Math.max(0, count.used + delta);
  } else if (period === count.previousPeriod) {
    count.previousUsed = Math.max(0, count.previousUsed + delta);
  } else if (delta > 0) {
    count.previousPeriod = period;
    count.previousUsed = delta;
  }
}

function monthFrom(date: number, by: number): number {
  const day = new Date(date);
  return Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + by, 1);
}
