import type { Clock } from '../../clock.js';
import { waitForAnswer } from './wait-for-answer.js';

export interface PatienceParts {
  readonly clock: Clock;
  /** How long an answer is waited for, in milliseconds. */
  readonly timeoutMs: number;
  /** Most commands at a time that have no answer yet. */
  readonly most: number;
  /** Most bytes in all of them but the first. @defaultValue any number */
  readonly mostBytes?: number;
}

/**
 * Asks Redis for something and waits for so long. A client keeps commands until they are answered, maybe for ever, whoever still waits:
 * while it keeps too many of them, nothing is asked.
 */
export interface Patience {
  /** Whether the client keeps too much already. */
  isBusy(bytes?: number): boolean;
  /**
   * @param bytes - size of what is sent
   * @returns the answer; rejects when there is none in time
   */
  ask<T>(command: () => Promise<T>, bytes?: number): Promise<T>;
}

export function createPatience({ clock, timeoutMs, most, mostBytes = Infinity }: PatienceParts): Patience {
  let unanswered = 0;
  let unansweredBytes = 0;

  function isBusy(bytes = 0): boolean {
    return unanswered >= most || (unanswered > 0 && unansweredBytes + bytes > mostBytes);
  }

  return {
    isBusy,
    ask: (command, bytes = 0) =>
      new Promise((resolve, reject) => {
        if (isBusy(bytes)) return reject(new Error(`Redis has not answered ${unanswered} commands yet`));
        unanswered++;
        unansweredBytes += bytes;
        const stop = waitForAnswer(clock, timeoutMs, reject);
        const end = () => {
          stop();
          unanswered--;
          unansweredBytes -= bytes;
        };
        // A client that throws has failed as one that rejects.
        (async () => command())().then(
          (value) => {
            end();
            resolve(value);
          },
          (error) => {
            end();
            reject(error);
          },
        );
      }),
  };
}
