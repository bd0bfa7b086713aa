import type { Call, Refusal, Reservation } from '../../src/call.js';
import type { Line } from '../../src/ladder/line.js';
import type { Place } from '../../src/ladder/places.js';
import type { Candidate } from '../../src/ladder/waiter.js';
import { callOf, fullOf } from './builders.js';
import type { VirtualClock } from './virtual-clock.js';

export const BOUNDS = { waitMs: 1_000, maxRequests: 100, maxTokens: 1_000_000 };

/** Somebody who waits, and what became of it. */
export interface Waiting {
  readonly call: Call;
  /** When it was tried, in ms after the beginning of the test. */
  readonly triedAtMs: number[];
  readonly places: Place[];
  readonly givenBack: Reservation[];
  readonly leaving: AbortController;
  /** `undefined` while it waits. */
  result: Reservation | 'none' | Error | undefined;
  /** When it ended, in ms after the beginning of the test. */
  endedAtMs: number | undefined;
}

/** What the next try comes to; a promise: when it is resolved. */
export type Answer = Refusal | 'held' | Error;

export function heldBy(call: Call): Reservation {
  return { id: 'r', call, charges: [], used: [], rides: [], settle: async () => {}, cancel: async () => {} };
}

/** Lets calls wait in a line, with answers as the test gives them: the last one is repeated. */
export function createCrowd(line: Line, clock: VirtualClock) {
  const startMs = clock.now();
  const order: Waiting[] = [];

  function wait(
    refusal: Refusal | Readonly<Record<string, number>>,
    answers: readonly (Answer | Promise<Answer>)[] = ['held'],
    given: Partial<Candidate> = {},
  ): Waiting {
    const call = given.call ?? callOf();
    const leaving = new AbortController();
    const waiting: Waiting = {
      call,
      triedAtMs: [],
      places: [],
      givenBack: [],
      leaving,
      result: undefined,
      endedAtMs: undefined,
    };
    const left = [...answers];
    const end = (result: Reservation | 'none' | Error) => {
      waiting.result = result;
      waiting.endedAtMs = clock.now() - startMs;
      order.push(waiting);
    };
    const candidate: Candidate = {
      call,
      refusal: 'full' in refusal ? (refusal as Refusal) : fullOf(refusal as Readonly<Record<string, number>>),
      refusedAtMs: clock.now(),
      bounds: BOUNDS,
      hasPassed: false,
      leftMs: BOUNDS.waitMs,
      signal: leaving.signal,
      frees: line.frees,
      async admit(place) {
        waiting.triedAtMs.push(clock.now() - startMs);
        waiting.places.push(place);
        const answer = await (left.length > 1 ? left.shift() : left[0]);
        if (answer instanceof Error) throw answer;
        return answer === 'held' || answer === undefined ? heldBy(call) : answer;
      },
      giveBack: (reservation) => void waiting.givenBack.push(reservation),
      ...given,
    };
    line.wait(candidate).then(
      (result) => end(result ?? 'none'),
      (error: Error) => end(error),
    );
    return waiting;
  }

  return { wait, /** Those who ended, in that order. */ order };
}
