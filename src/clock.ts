/** Stops a timer; harmless when it has already fired. */
export type Cancel = () => void;

/**
 * The only source of time in the core: every reading and every timer goes through one injected clock, so that tests,
 * simulations and planners run the same code under virtual time.
 */
export interface Clock {
  /** Epoch milliseconds. May jump in either direction; nothing may rely on it growing. */
  now(): number;
  /**
   * Calls `fn` once, `delayMs` from now (0 or more; longer than 2^31-1 ms is cut to that).
   * @param keepAlive - `true` while somebody awaits the result; otherwise the timer never keeps a process alive
   */
  after(delayMs: number, fn: () => void, keepAlive?: boolean): Cancel;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's clock and timers. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, fn, keepAlive = false) {
    const timer = setTimeout(fn, Math.min(Math.max(0, delayMs), LONGEST_TIMER_MS));
    if (!keepAlive) timer.unref();
    return () => clearTimeout(timer);
  },
};
