import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  charge,
  chargeLate,
  createRing,
  isInside,
  isWedged,
  leavesAtMs,
  pace,
  paceWaitMs,
  type Ring,
  refund,
  restart,
  ringWaitMs,
  slotAt,
  unpace,
  usedIn,
} from '../../src/budget/ring.js';

const MINUTE_MS = 60_000;
/** First slot of the tests: one a second. */
const BASE = slotAt(Date.UTC(2026, 0, 1), MINUTE_MS);

/** A ring of a minute, charged as told: seconds after the base, and amounts. */
function ringOf(...charges: readonly (readonly [second: number, amount: number])[]): Ring {
  const ring = createRing(BASE);
  for (const [second, amount] of charges) charge(ring, BASE + second, amount);
  return ring;
}

function stored(ring: Ring): number[] {
  const older = (ring.older ?? []).map((value, i) => (i % 2 === 0 ? value - BASE : value));
  return [...older, ring.head - BASE, ring.headAmount];
}

describe('the slots of a ring', () => {
  it.each([1, 59, 1_000, 7_001, 60_000, 3_600_000, 604_800_000])(
    'leave a window of %d ms at the first possible millisecond',
    (windowMs) => {
      for (const nowMs of [Date.UTC(2026, 0, 1), Date.UTC(2026, 6, 3, 4, 5, 6, 789), 1, 0]) {
        const slot = slotAt(nowMs, windowMs);
        const leavesMs = leavesAtMs(slot, windowMs);

        expect(slotAt(leavesMs, windowMs) - slot).toBeGreaterThanOrEqual(61);
        expect(slotAt(leavesMs - 1, windowMs) - slot).toBeLessThanOrEqual(60);
        expect(leavesMs - nowMs).toBeGreaterThan(windowMs - 1);
      }
    },
  );

  it('are stored only when they hold something', () => {
    const ring = ringOf([0, 5], [0, 2], [3, 1], [50, 4]);

    expect(stored(ring)).toEqual([0, 7, 3, 1, 50, 4]);
    expect(ring.sum).toBe(12);
  });

  it('count for sixty slots after their own, and no longer', () => {
    const ring = ringOf([0, 5], [10, 3]);

    expect(usedIn(ring, BASE + 60)).toBe(8);
    expect(usedIn(ring, BASE + 61)).toBe(3);
    expect(usedIn(ring, BASE + 70)).toBe(3);
    expect(usedIn(ring, BASE + 71)).toBe(0);
    expect(isInside(ring, BASE, BASE + 60)).toBe(true);
    expect(isInside(ring, BASE, BASE + 61)).toBe(false);
  });

  it('are looked at without being changed', () => {
    const ring = ringOf([0, 5], [10, 3]);
    const before = structuredClone(ring);

    usedIn(ring, BASE + 300);
    ringWaitMs(ring, MINUTE_MS, (BASE + 20) * 1_000, 10, 10);
    paceWaitMs(ring, 0);

    expect(ring).toEqual(before);
  });

  it('are dropped by a charge after they have expired', () => {
    const ring = ringOf([0, 5], [10, 3], [65, 1]);
    expect(stored(ring)).toEqual([10, 3, 65, 1]);
    expect(ring.sum).toBe(4);

    charge(ring, BASE + 1_000, 2);

    expect(stored(ring)).toEqual([1_000, 2]);
    expect(ring.sum).toBe(2);
  });
});

describe('a refund from a ring', () => {
  it('comes out of the slot it was charged in, and never takes more than that holds', () => {
    const ring = ringOf([0, 5], [10, 3], [20, 9]);

    expect(refund(ring, BASE + 10, 2)).toBe(2);
    expect(refund(ring, BASE + 20, 100)).toBe(9);
    expect(refund(ring, BASE, 6)).toBe(5);
    expect(refund(ring, BASE + 5, 1)).toBe(0);

    expect(stored(ring)).toEqual([10, 1, 20, 0]);
    expect(ring.sum).toBe(1);
  });

  it('leaves the head where it is', () => {
    const ring = ringOf([0, 5], [20, 9]);

    refund(ring, BASE + 20, 9);

    expect(charge(ring, BASE + 10, 1)).toBe(BASE + 20);
  });
});

describe('debt in a ring', () => {
  it.each([
    [-2, [-2, 4, 0, 5, 10, 3, 20, 9]],
    [0, [0, 9, 10, 3, 20, 9]],
    [7, [0, 5, 7, 4, 10, 3, 20, 9]],
    [10, [0, 5, 10, 7, 20, 9]],
    [15, [0, 5, 10, 3, 15, 4, 20, 9]],
    [20, [0, 5, 10, 3, 20, 13]],
    [21, [0, 5, 10, 3, 20, 9, 21, 4]],
  ])('of slot %d finds its place', (second, expected) => {
    const ring = ringOf([0, 5], [10, 3], [20, 9]);

    chargeLate(ring, BASE + second, 4);

    expect(stored(ring)).toEqual(expected);
    expect(ring.sum).toBe(21);
  });

  it('finds its place in a ring with one slot', () => {
    const ring = ringOf([5, 1]);

    chargeLate(ring, BASE + 2, 4);

    expect(stored(ring)).toEqual([2, 4, 5, 1]);
  });
});

describe('the wait for room in a ring', () => {
  const nowMs = (BASE + 30) * 1_000 + 250;
  const waitFor = (need: number, refuseAt = 20) => ringWaitMs(ringOf([0, 5], [10, 3], [20, 9]), MINUTE_MS, nowMs, need, refuseAt);

  it.each([
    [3, 0],
    [4, 30_750],
    [8, 30_750],
    [9, 40_750],
    [11, 40_750],
    [12, 50_750],
    [20, 50_750],
    [21, Infinity],
  ])('of %d is %d ms', (need, waitMs) => {
    expect(waitFor(need)).toBe(waitMs);
  });

  it('is for ever when nothing may be held at all', () => {
    expect(waitFor(1, 0)).toBe(Infinity);
    expect(waitFor(1, Number.NaN)).toBe(Infinity);
  });

  it('counts what moves only while it is inside', () => {
    const ring = ringOf([0, 5], [10, 3], [20, 9]);

    expect(ringWaitMs(ring, MINUTE_MS, nowMs, 4, 20, 5, BASE)).toBe(40_750);
    expect(ringWaitMs(ring, MINUTE_MS, nowMs, 4, 20, 9, BASE + 20)).toBe(30_750);
    expect(ringWaitMs(ring, MINUTE_MS, nowMs, 12, 20, 9, BASE + 20)).toBe(Infinity);
  });

  it('is the first millisecond at which it fits, whatever was charged', () => {
    const entry = fc.record({ gapMs: fc.nat({ max: 40_000 }), amount: fc.integer({ min: 1, max: 50 }) });
    const windows = fc.constantFrom(1_000, 7_001, 60_000, 123_457);

    fc.assert(
      fc.property(
        windows,
        fc.array(entry, { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 1, max: 100 }),
        (windowMs, entries, need) => {
          let atMs = Date.UTC(2026, 0, 1);
          const ring = createRing(slotAt(atMs, windowMs));
          for (const { gapMs, amount } of entries) {
            atMs += gapMs;
            charge(ring, slotAt(atMs, windowMs), amount);
          }

          const waitMs = ringWaitMs(ring, windowMs, atMs, need, 100);

          const usedAt = (ms: number) => usedIn(ring, slotAt(ms, windowMs));
          expect(usedAt(atMs + waitMs) + need).toBeLessThanOrEqual(100);
          if (waitMs > 0) expect(usedAt(atMs + waitMs - 1) + need).toBeGreaterThan(100);
        },
      ),
    );
  });
});

describe('a ring whose clock goes back', () => {
  it('charges at its head and keeps every slot', () => {
    const ring = ringOf([0, 5], [50, 3]);

    expect(charge(ring, BASE - 40, 2)).toBe(BASE + 50);

    expect(stored(ring)).toEqual([0, 5, 50, 5]);
    expect(usedIn(ring, BASE - 40)).toBe(10);
    expect(ringWaitMs(ring, MINUTE_MS, (BASE - 40) * 1_000, 1, 10)).toBe(101_000);
  });

  it('is wedged beyond two windows, and starts again with what it held as if charged now', () => {
    const ring = ringOf([100, 5], [150, 3]);
    pace(ring, MINUTE_MS, (BASE + 150) * 1_000, 10, 10);
    expect(isWedged(ring, BASE + 30)).toBe(false);
    expect(isWedged(ring, BASE + 29)).toBe(true);

    restart(ring, BASE + 29);

    expect(stored(ring)).toEqual([29, 8]);
    expect(usedIn(ring, BASE + 89)).toBe(8);
    expect(usedIn(ring, BASE + 90)).toBe(0);
    expect(paceWaitMs(ring, BASE * 1_000)).toBe(0);
  });
});

describe('the pace of a ring', () => {
  it('moves on by the share of 0.95 limits a window that was admitted', () => {
    const ring = ringOf();

    expect(pace(ring, MINUTE_MS, 1_000_000, 19, 100)).toBeCloseTo(12_000, 6);

    expect(paceWaitMs(ring, 1_000_000)).toBe(12_000);
    expect(paceWaitMs(ring, 1_011_999)).toBe(1);
    expect(paceWaitMs(ring, 1_012_000)).toBe(0);
    expect(paceWaitMs(ring, 1_020_000)).toBe(0);
  });

  it('adds up what is admitted before it is over', () => {
    const ring = ringOf();
    pace(ring, MINUTE_MS, 1_000_000, 19, 100);

    pace(ring, MINUTE_MS, 1_002_000, 19, 100);

    expect(paceWaitMs(ring, 1_002_000)).toBe(22_000);
  });

  it('does not save up what nobody used', () => {
    const ring = ringOf();
    pace(ring, MINUTE_MS, 1_000_000, 19, 100);

    pace(ring, MINUTE_MS, 2_000_000, 19, 100);

    expect(paceWaitMs(ring, 2_000_000)).toBe(12_000);
  });

  it('goes back by what a refund gives', () => {
    const ring = ringOf();
    const stepMs = pace(ring, MINUTE_MS, 1_000_000, 38, 100);

    unpace(ring, stepMs / 2);

    expect(paceWaitMs(ring, 1_000_000)).toBe(12_000);
  });

  it.each([0, 1, -1])('is at most one window over 0.95, also for a limit of %d', (limit) => {
    const ring = ringOf();

    pace(ring, MINUTE_MS, 1_000_000, 38, limit);

    expect(paceWaitMs(ring, 1_000_000)).toBeLessThanOrEqual(63_158);
    expect(paceWaitMs(ring, 1_000_000)).toBeGreaterThanOrEqual(0);
  });
});
