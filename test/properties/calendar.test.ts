import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCalendar } from '../../src/budget/calendar.js';
import { memoryStore } from '../../src/index.js';
import { createTestGate } from '../support/gate.js';
import { createVirtualClock } from '../support/virtual-clock.js';

const DAY_MS = 86_400_000;

/** Zones, with the first of ten years in which something happens to their clocks. */
const ZONES: readonly (readonly [timeZone: string, year: number])[] = [
  ['UTC', 2020],
  ['America/New_York', 2020],
  ['Europe/Berlin', 2020],
  // Half an hour of summer time.
  ['Australia/Lord_Howe', 2020],
  // A quarter of an hour off.
  ['Asia/Kathmandu', 2020],
  // Left out the thirtieth of December 2011.
  ['Pacific/Apia', 2006],
  // Midnights that never were, until 2018.
  ['America/Sao_Paulo', 2010],
  // Midnights that come twice.
  ['America/Havana', 2016],
];

/** What the clocks on the wall show, as if it were UTC: an oracle that knows nothing of searching. */
function createWall(timeZone: string): (ms: number) => number {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  return (ms) => {
    const part = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 0, day = 0, hour, minute, second } = part;
    return Date.UTC(year, month - 1, day, hour, minute, second) + (((ms % 1_000) + 1_000) % 1_000);
  };
}

const midnightOf = (wallMs: number) => Math.floor(wallMs / DAY_MS) * DAY_MS;
function firstOf(wallMs: number): number {
  const date = new Date(wallMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}
const BEGINNING_OF = { day: midnightOf, month: firstOf } as const;

/** Instants all over ten years, half of them near a midnight, where mistakes are made. */
function instantsOf(timeZone: string, year: number): fc.Arbitrary<number> {
  const wall = createWall(timeZone);
  const anywhere = fc.integer({ min: Date.UTC(year, 0, 1), max: Date.UTC(year + 10, 0, 1) });
  const nearMidnight = fc
    .tuple(anywhere, fc.integer({ min: -3_700_000, max: 3_700_000 }))
    .map(([ms, offMs]) => ms - (wall(ms) - midnightOf(wall(ms))) + offMs);
  return fc.oneof(anywhere, nearMidnight);
}

describe.each(ZONES)('in %s, ten years from %i', (timeZone, year) => {
  const wall = createWall(timeZone);

  it.each(['day', 'month'] as const)('a %s begins with the first instant of its date, and ends where the next begins', (unit) => {
    const periodAt = createCalendar(unit, timeZone);
    const beginningOf = BEGINNING_OF[unit];

    fc.assert(
      fc.property(instantsOf(timeZone, year), (nowMs) => {
        const { previousMs, startMs, endMs } = periodAt(nowMs);

        expect(startMs <= nowMs && nowMs < endMs).toBe(true);
        for (const edgeMs of [previousMs, startMs, endMs]) {
          // The instant before is of an earlier day or month, and the first of the new one shows midnight, unless the clocks leapt over it.
          const [beforeMs, firstMs] = [wall(edgeMs - 1), wall(edgeMs)];
          expect(beginningOf(beforeMs)).toBeLessThan(beginningOf(firstMs));
          if (firstMs !== beginningOf(firstMs)) expect(firstMs - beforeMs).toBeGreaterThan(1);
        }
        // Nothing lies between: what is shown now belongs to what was shown at the start, and the last instant too.
        expect(beginningOf(wall(endMs - 1))).toBe(beginningOf(wall(startMs)));
        const shown = beginningOf(wall(nowMs));
        expect(shown).toBe(beginningOf(wall(startMs)));

        expect(periodAt(endMs).previousMs).toBe(startMs);
        expect(periodAt(endMs).startMs).toBe(endMs);
        expect(periodAt(startMs - 1)).toMatchObject({ startMs: previousMs, endMs: startMs });
      }),
      { numRuns: 300 },
    );
  });

  it('a month is as long as its days together, and has as many as its name says', () => {
    const dayAt = createCalendar('day', timeZone);
    const monthAt = createCalendar('month', timeZone);

    fc.assert(
      fc.property(instantsOf(timeZone, year), (nowMs) => {
        const { startMs, endMs } = monthAt(nowMs);
        let [days, atMs] = [0, startMs];
        for (; atMs < endMs && days < 32; days++) atMs = dayAt(atMs).endMs;

        expect(atMs).toBe(endMs);
        const first = new Date(wall(startMs));
        const inCalendar = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
        const isLeftOut = timeZone === 'Pacific/Apia' && first.toISOString().startsWith('2011-12');
        expect(days).toBe(isLeftOut ? inCalendar - 1 : inCalendar);
      }),
      { numRuns: 30 },
    );
  });

  it('a refused caller is told to wait for the first instant of the next date, and is let in then and not before', async () => {
    const perUnit = fc.constantFrom('day' as const, 'month' as const);
    await fc.assert(
      fc.asyncProperty(instantsOf(timeZone, year), perUnit, async (nowMs, per) => {
        const clock = createVirtualClock(nowMs);
        const { gate, ask } = createTestGate({
          clock,
          store: memoryStore({ clock }),
          scopes: { user: { budgets: [{ requests: 1, per, timeZone }] } },
          ladder: [],
        });
        const again = () => ask(10, { by: gate.as({ user: 'ann' }) });
        const beginningOf = BEGINNING_OF[per];
        expect((await again()).kind).toBe('passed');

        const refused = await again();
        if (refused.kind !== 'shed') throw new Error('was let in twice');
        const { waitMs } = refused.refusal;

        expect(beginningOf(wall(nowMs + waitMs))).toBeGreaterThan(beginningOf(wall(nowMs)));
        expect(beginningOf(wall(nowMs + waitMs - 1))).toBe(beginningOf(wall(nowMs)));
        clock.set(nowMs + waitMs - 1);
        expect((await again()).kind).toBe('shed');
        clock.set(nowMs + waitMs);
        expect((await again()).kind).toBe('passed');
      }),
      { numRuns: 40 },
    );
  });
});

it.each<[timeZone: string, daysByHours: Readonly<Record<string, number>>]>([
  ['UTC', { 24: 3_652 }],
  ['Asia/Kathmandu', { 24: 3_652 }],
  ['America/New_York', { 23: 10, 24: 3_632, 25: 10 }],
  ['Europe/Berlin', { 23: 10, 24: 3_632, 25: 10 }],
  ['Australia/Lord_Howe', { 23.5: 10, 24: 3_632, 24.5: 10 }],
  // The clocks were put forward at midnight from 2010 to 2018, and back until 2019.
  ['America/Sao_Paulo', { 23: 9, 24: 3_633, 25: 10 }],
  // One day less, and its summer time began in September 2010.
  ['Pacific/Apia', { 23: 10, 24: 3_632, 25: 9 }],
])('the days of %s from 2010 to 2019 are as long as the clocks of the time made them', (timeZone, daysByHours) => {
  const dayAt = createCalendar('day', timeZone);
  const counts: Record<string, number> = {};

  let day = dayAt(Date.UTC(2010, 0, 1, 12));
  for (let days = 0; days < 4_000 && day.startMs < Date.UTC(2019, 11, 31, 6); days++) {
    const hours = String((day.endMs - day.startMs) / 3_600_000);
    counts[hours] = (counts[hours] ?? 0) + 1;
    day = dayAt(day.endMs);
  }

  expect(counts).toEqual(daysByHours);
});

it('knows the days of leap years and of years that only look like them', () => {
  const monthAt = createCalendar('month', 'Europe/Berlin');
  const length = (year: number) => {
    const { startMs, endMs } = monthAt(Date.UTC(year, 1, 15));
    return (endMs - startMs) / DAY_MS;
  };

  expect([2000, 2023, 2024, 2028, 2100, 2400].map(length)).toEqual([29, 28, 29, 29, 28, 29]);
});
