import type { Cancel, Clock } from '../../clock.js';

/**
 * Begins to wait for an answer of Redis: `onLate` is called when none came within `timeoutMs`. A process that was busy for so long has
 * yet to read what was answered in time, and does before its next timer: it gets one turn more.
 * @returns ends the waiting
 */
export function waitForAnswer(clock: Clock, timeoutMs: number, onLate: (error: Error) => void): Cancel {
  const giveUp = () => onLate(new Error(`Redis did not answer within ${timeoutMs} ms`));
  let stop = clock.after(
    timeoutMs,
    () => {
      stop = clock.after(0, giveUp, true);
    },
    true,
  );
  return () => stop();
}
