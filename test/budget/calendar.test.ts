import { describe, expect, it, vi } from 'vitest';
import { addTo, countedIn, createCalendar, createCount } from '../../src/budget/calendar.js';

const HOUR_MS = 3_600_000;

function ms(text: string): number {
  return Date.parse(text);
}

function period(unit: 'day' | 'month', timeZone: string, at: string): (string | undefined)[] {
  const { previousMs, startMs, endMs } = createCalendar(unit, timeZone)(ms(at));
  return [previousMs, startMs, endMs].map((instant) => new Date(instant).toISOString().replace(':00.000Z', 'Z'));
}

describe('a calendar of days', () => {
  it.each([
    ['in UTC', 'UTC', '2026-03-05T12:00Z', ['2026-03-04T00:00Z', '2026-03-05T00:00Z', '2026-03-06T00:00Z']],
    [
      'at the first instant of a day',
      'UTC',
      '2026-03-05T00:00Z',
      ['2026-03-04T00:00Z', '2026-03-05T00:00Z', '2026-03-06T00:00Z'],
    ],
    [
      'at the last instant of a day',
      'UTC',
      '2026-03-05T23:59:59.999Z',
      ['2026-03-04T00:00Z', '2026-03-05T00:00Z', '2026-03-06T00:00Z'],
    ],
    ['at the turn of a year', 'UTC', '2026-12-31T23:00Z', ['2026-12-30T00:00Z', '2026-12-31T00:00Z', '2027-01-01T00:00Z']],
    ['far east', 'Pacific/Kiritimati', '2026-03-05T12:00Z', ['2026-03-04T10:00Z', '2026-03-05T10:00Z', '2026-03-06T10:00Z']],
    ['far west', 'Pacific/Pago_Pago', '2026-03-05T10:59Z', ['2026-03-03T11:00Z', '2026-03-04T11:00Z', '2026-03-05T11:00Z']],
    [
      'with an odd offset',
      'Asia/Kathmandu',
      '2026-03-05T18:15Z',
      ['2026-03-04T18:15Z', '2026-03-05T18:15Z', '2026-03-06T18:15Z'],
    ],
    ['of 23 hours', 'Europe/Berlin', '2026-03-29T12:00Z', ['2026-03-27T23:00Z', '2026-03-28T23:00Z', '2026-03-29T22:00Z']],
    ['of 25 hours', 'Europe/Berlin', '2026-10-25T00:30Z', ['2026-10-23T22:00Z', '2026-10-24T22:00Z', '2026-10-25T23:00Z']],
    [
      'of 24 hours and a half',
      'Australia/Lord_Howe',
      '2026-04-05T00:00Z',
      ['2026-04-03T13:00Z', '2026-04-04T13:00Z', '2026-04-05T13:30Z'],
    ],
    [
      'whose midnight is skipped',
      'Africa/Cairo',
      '2026-04-24T12:00Z',
      ['2026-04-22T22:00Z', '2026-04-23T22:00Z', '2026-04-24T21:00Z'],
    ],
    [
      'whose midnight comes twice',
      'America/Havana',
      '2026-11-01T04:30Z',
      ['2026-10-31T04:00Z', '2026-11-01T04:00Z', '2026-11-02T05:00Z'],
    ],
    [
      'before one that is left out',
      'Pacific/Apia',
      '2011-12-30T09:00Z',
      ['2011-12-28T10:00Z', '2011-12-29T10:00Z', '2011-12-30T10:00Z'],
    ],
    [
      'after one that was left out',
      'Pacific/Apia',
      '2011-12-30T11:00Z',
      ['2011-12-29T10:00Z', '2011-12-30T10:00Z', '2011-12-31T10:00Z'],
    ],
  ])('knows a day %s', (_, timeZone, at, expected) => {
    expect(period('day', timeZone, at)).toEqual(expected);
  });

  it.each(['UTC', 'Europe/Berlin', 'America/St_Johns', 'America/Sao_Paulo', 'Asia/Beirut', 'Pacific/Apia'])(
    'leaves no gap and no overlap between days in %s',
    (timeZone) => {
      for (const year of [2006, 2011, 2026]) {
        const periodAt = createCalendar('day', timeZone);
        let current = periodAt(Date.UTC(year, 0, 1));
        for (let nowMs = Date.UTC(year, 0, 1); nowMs < Date.UTC(year, 11, 31); nowMs += 7 * HOUR_MS + 61_001) {
          const next = periodAt(nowMs);
          expect(nowMs >= next.startMs && nowMs < next.endMs).toBe(true);
          if (next.startMs !== current.startMs) {
            expect(next.startMs).toBe(current.endMs);
            expect(next.previousMs).toBe(current.startMs);
          }
          current = next;
        }
      }
    },
  );
});

describe('a calendar whose date goes back for a while', () => {
  it('does not go back with it', () => {
    // One minute after midnight the clocks of St John's went back to one minute after eleven.
    const periodAt = createCalendar('day', 'America/St_Johns');
    const starts = new Set<number>();
    let lastMs = 0;

    for (let nowMs = ms('2010-11-06T12:00Z'); nowMs < ms('2010-11-07T12:00Z'); nowMs += 20_000) {
      const { startMs, endMs } = createCalendar('day', 'America/St_Johns')(nowMs);
      expect(periodAt(nowMs).startMs).toBe(startMs);
      expect(startMs).toBeGreaterThanOrEqual(lastMs);
      expect(nowMs >= startMs && nowMs < endMs).toBe(true);
      starts.add(startMs);
      lastMs = startMs;
    }

    expect(starts.size).toBe(2);
  });
});

describe('a calendar of months', () => {
  it.each([
    ['of 28 days', 'UTC', '2026-02-10T00:00Z', ['2026-01-01T00:00Z', '2026-02-01T00:00Z', '2026-03-01T00:00Z']],
    ['of 29 days', 'UTC', '2028-02-29T23:59Z', ['2028-01-01T00:00Z', '2028-02-01T00:00Z', '2028-03-01T00:00Z']],
    ['at the turn of a year', 'UTC', '2026-12-31T23:59Z', ['2026-11-01T00:00Z', '2026-12-01T00:00Z', '2027-01-01T00:00Z']],
    ['after the turn of a year', 'UTC', '2027-01-01T00:00Z', ['2026-12-01T00:00Z', '2027-01-01T00:00Z', '2027-02-01T00:00Z']],
    [
      'with a change of the clocks',
      'America/New_York',
      '2026-03-20T00:00Z',
      ['2026-02-01T05:00Z', '2026-03-01T05:00Z', '2026-04-01T04:00Z'],
    ],
    [
      'that has begun elsewhere',
      'Asia/Tokyo',
      '2026-04-30T15:00Z',
      ['2026-03-31T15:00Z', '2026-04-30T15:00Z', '2026-05-31T15:00Z'],
    ],
  ])('knows a month %s', (_, timeZone, at, expected) => {
    expect(period('month', timeZone, at)).toEqual(expected);
  });
});

describe('a calendar', () => {
  it('asks for the local time once in a period', () => {
    const format = vi.spyOn(Intl.DateTimeFormat.prototype as { readonly format: unknown }, 'format', 'get');
    const periodAt = createCalendar('day', 'Europe/Berlin');
    const { startMs, endMs } = periodAt(ms('2026-03-29T12:00Z'));
    format.mockClear();

    for (const nowMs of [startMs, startMs + HOUR_MS, endMs - 1]) expect(periodAt(nowMs).startMs).toBe(startMs);
    expect(format).not.toHaveBeenCalled();
    expect(periodAt(endMs).startMs).toBe(endMs);
    expect(format).toHaveBeenCalled();
    format.mockRestore();
  });

  it('throws for a time zone that does not exist', () => {
    expect(() => createCalendar('day', 'Nowhere/Land')).toThrow(RangeError);
  });
});

describe('the count of a calendar window', () => {
  it('begins each period at 0 and keeps the one before', () => {
    const count = createCount(100);
    addTo(count, 100, 7);

    addTo(count, 200, 5);

    expect([countedIn(count, 100), countedIn(count, 200), countedIn(count, 300)]).toEqual([7, 5, 0]);
  });

  it('settles in the period before, and falls no lower than 0', () => {
    const count = createCount(100);
    addTo(count, 100, 7);
    addTo(count, 200, 5);

    addTo(count, 100, -3);
    addTo(count, 200, -9);

    expect([countedIn(count, 100), countedIn(count, 200)]).toEqual([4, 0]);
  });

  it('takes nothing from a period it does not know', () => {
    const count = createCount(100);
    addTo(count, 100, 7);

    addTo(count, 200, -5);
    addTo(count, 50, -5);

    expect(count).toEqual(expect.objectContaining({ period: 100, used: 7 }));
  });

  it('finds the old period again when the clock goes back, and the new one when it comes', () => {
    const count = createCount(200);
    addTo(count, 200, 5);

    addTo(count, 100, 9);
    addTo(count, 200, 1);

    expect([countedIn(count, 100), countedIn(count, 200)]).toEqual([9, 6]);
  });
});
