/** In a row. */
const FAILURES = 5;
/** Or more than half of so many in this time. */
const CALLS = 20;
const SPAN_MS = 1_000;

/** Tells when it is no use to ask Redis any more: each question would cost its caller a time-out. */
export interface Breaker {
  readonly isOpen: boolean;
  /** @returns whether this one opened it */
  failed(nowMs: number): boolean;
  succeeded(nowMs: number): void;
  open(): void;
  close(): void;
}

export function createBreaker(): Breaker {
  let isOpen = false;
  let inARow = 0;
  let sinceMs = 0;
  let calls = 0;
  let failures = 0;

  function count(nowMs: number): void {
    if (nowMs - sinceMs >= SPAN_MS || nowMs < sinceMs) {
      sinceMs = nowMs;
      calls = 0;
      failures = 0;
    }
    calls++;
  }

  return {
    get isOpen() {
      return isOpen;
    },
    failed(nowMs) {
      count(nowMs);
      failures++;
      inARow++;
      const opens = !isOpen && (inARow >= FAILURES || (calls >= CALLS && failures > calls / 2));
      isOpen ||= opens;
      return opens;
    },
    succeeded(nowMs) {
      count(nowMs);
      inARow = 0;
    },
    open() {
      isOpen = true;
    },
    close() {
      isOpen = false;
      inARow = 0;
      calls = 0;
      failures = 0;
    },
  };
}
