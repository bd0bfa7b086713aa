import type { Cancel, Clock } from '../../src/clock.js';

/** A clock that stands still until told: the time of tests and simulations. */
export interface VirtualClock extends Clock {
  /** Moves time on by `ms`, firing each timer at its own instant, in order, and letting promises settle in between. */
  advance(ms: number): Promise<void>;
  /** Moves time on to the next timer and fires it. @returns whether there was one */
  next(): Promise<boolean>;
  /** How many timers are waiting. */
  readonly timers: number;
  /** Jumps, firing nothing: a machine whose clock was set. */
  set(nowMs: number): void;
}

interface Timer {
  readonly atMs: number;
  readonly order: number;
  readonly fn: () => void;
}

/** Lets every promise that can settle now do so. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

export function createVirtualClock(startMs: number = Date.UTC(2026, 0, 1)): VirtualClock {
  let nowMs = startMs;
  let order = 0;
  const timers = new Set<Timer>();

  function first(): Timer | undefined {
    let found: Timer | undefined;
    for (const timer of timers)
      if (!found || timer.atMs < found.atMs || (timer.atMs === found.atMs && timer.order < found.order)) found = timer;
    return found;
  }
  async function fire(timer: Timer): Promise<void> {
    timers.delete(timer);
    nowMs = Math.max(nowMs, timer.atMs);
    timer.fn();
    await settled();
  }

  return {
    now: () => nowMs,
    after(delayMs, fn): Cancel {
      const timer: Timer = { atMs: nowMs + Math.max(0, delayMs), order: order++, fn };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    async advance(ms) {
      const untilMs = nowMs + ms;
      await settled();
      for (let timer = first(); timer && timer.atMs <= untilMs; timer = first()) await fire(timer);
      nowMs = untilMs;
      await settled();
    },
    async next() {
      await settled();
      const timer = first();
      if (timer) await fire(timer);
      return timer !== undefined;
    },
    get timers() {
      return timers.size;
    },
    set(toMs) {
      nowMs = toMs;
    },
  };
}
