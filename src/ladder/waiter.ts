import type { Call, Charge, Refusal, Reservation } from '../call.js';
import type { Cancel, Clock } from '../clock.js';
import type { Place } from './places.js';
import type { WaitBounds } from './step.js';

/** A call that wants to wait, and how it tries again. */
export interface Candidate {
  readonly call: Call;
  readonly refusal: Refusal;
  /** When the refusal came: its waits count from then. Epoch milliseconds. */
  readonly refusedAtMs: number;
  readonly bounds: WaitBounds;
  /** Runs of visits that already passed go before new visits. */
  readonly hasPassed: boolean;
  /** How much of `bounds.waitMs` is left, in milliseconds. */
  readonly leftMs: number;
  /** `undefined`: nobody can leave. */
  readonly signal: AbortSignal | undefined;
  /** `Line.frees` from before the store was asked: what was freed since may already have made room. */
  readonly frees: number;
  /** Tries again, as somebody who stands at `place`. */
  admit(place: Place): Promise<Reservation | Refusal>;
  /** Takes back what `admit` gave too late: nobody waits for it any more. */
  giveBack(reservation: Reservation): void;
}

/** A candidate in line. */
export interface Waiter extends Candidate, Place {
  readonly tokens: number;
  readonly deadlineMs: number;
  /** What it waits for: the lines it stands in. */
  awaited: readonly Charge[];
  /** When there will be room if nothing else happens; `Infinity`: nobody knows. */
  dueMs: number;
  isTrying: boolean;
  isOverdue: boolean;
  isDone: boolean;
  /** Calls `then` at {@link dueMs}, and no more at an earlier one. */
  wakeAtDue(then: () => void): void;
  /** Stops everything that could still happen to it, and tells how its wait ended. */
  finish(result: Reservation | undefined): void;
  fail(error: unknown): void;
}

/** What a waiter brings about by itself. */
export interface WaiterEvents {
  onLeave(waiter: Waiter): void;
  onDeadline(waiter: Waiter): void;
  resolve(result: Reservation | undefined): void;
  reject(error: unknown): void;
}

/** Tokens that a call takes of the bound on all waiters. */
export function tokensOf({ heldInputTokens, expectedOutputTokens }: Call): number {
  return heldInputTokens + expectedOutputTokens;
}

/** Begins a wait: from now on the caller may leave, and the deadline runs. */
export function createWaiter(candidate: Candidate, arrival: number, clock: Clock, events: WaiterEvents): Waiter {
  const { call, leftMs, signal } = candidate;
  const onAbort = () => events.onLeave(waiter);
  const stopDeadline = clock.after(leftMs, () => events.onDeadline(waiter), true);
  let stopDue: Cancel | undefined;

  function stop(): void {
    waiter.isDone = true;
    signal?.removeEventListener('abort', onAbort);
    stopDeadline();
    stopDue?.();
  }

  const waiter: Waiter = {
    ...candidate,
    arrival,
    tokens: tokensOf(call),
    deadlineMs: clock.now() + leftMs,
    awaited: [],
    dueMs: Infinity,
    isTrying: false,
    isOverdue: false,
    isDone: false,
    wakeAtDue(then) {
      stopDue?.();
      stopDue = undefined;
      if (waiter.dueMs < Infinity) stopDue = clock.after(Math.max(0, waiter.dueMs - clock.now()), then, true);
    },
    finish(result) {
      stop();
      events.resolve(result);
    },
    fail(error) {
      stop();
      events.reject(error);
    },
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  return waiter;
}
