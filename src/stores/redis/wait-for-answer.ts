import type { Cancel, Clock } from '../../clock.js';

/** A timer that fires later than this tells that the process was busy, in milliseconds. */
const BUSY_MS = 5;
/** How many times a busy process waits anew. */
const MOST_TIMES = 3;

/**
 * Begins to wait for an answer of Redis: `onLate` is called when none came within `timeoutMs`. What a process was busy with meanwhile
 * does not count: it may not even have sent its question, and waits anew, a few times; and it has yet to read what was answered in
 * time, and does before its next timer: it gets one turn more.
 * @returns ends the waiting
 */
export function waitForAnswer(clock: Clock, timeoutMs: number, onLate: (error: Error) => void): Cancel {
  const giveUp = () => onLate(new Error(`Redis did not answer within ${timeoutMs} ms`));
  let stop: Cancel = () => {};
  const wait = (times: number): void => {
    const dueMs = clock.now() + timeoutMs;
    const onTime = (): void => {
      if (times < MOST_TIMES && clock.now() - dueMs > BUSY_MS) wait(times + 1);
      else stop = clock.after(0, giveUp, true);
    };
    stop = clock.after(timeoutMs, onTime, true);
  };
  wait(1);
  return () => stop();
}
