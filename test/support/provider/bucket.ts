/** A token bucket that refills continuously and starts full. */
export interface Bucket {
  readonly capacity: number;
  /** Whole units left; 0 while in debt. */
  remaining(): number;
  /** Milliseconds until `amount` is there: 0 when it is, `Infinity` when it is more than the bucket holds. */
  waitMs(amount: number): number;
  /** Milliseconds until the bucket is full again. */
  fullInMs(): number;
  /** Takes `amount`, into debt if need be: what was produced was produced. */
  take(amount: number): void;
  /** Takes at most what is left. */
  drain(amount: number): void;
}

/** What rounding of repeated refills may lose, in units. */
const ROUNDING = 1e-6;

export function createBucket(perMinute: number, now: () => number): Bucket {
  const perMs = perMinute / 60_000;
  let level = perMinute;
  let atMs = now();

  function refill(): void {
    const nowMs = now();
    level = Math.min(perMinute, level + Math.max(0, nowMs - atMs) * perMs);
    atMs = nowMs;
  }
  function msUntil(wanted: number): number {
    refill();
    return Math.ceil(Math.max(0, wanted - level - ROUNDING) / perMs);
  }

  return {
    capacity: perMinute,
    remaining() {
      refill();
      return Math.max(0, Math.floor(level + ROUNDING));
    },
    waitMs: (amount) => (amount > perMinute ? Number.POSITIVE_INFINITY : msUntil(amount)),
    fullInMs: () => msUntil(perMinute),
    take(amount) {
      refill();
      level -= amount;
    },
    drain(amount) {
      refill();
      if (level > 0) level = Math.max(0, level - amount);
    },
  };
}
