import type { Charge, Refusal, Reservation, Shortage } from '../call.js';
import type { Clock } from '../clock.js';
import { createFrees } from './frees.js';
import { createPlaces, isBefore, type Place } from './places.js';
import { isReservation } from './step.js';
import { type Candidate, createWaiter, tokensOf, type Waiter } from './waiter.js';

/**
 * Everybody in this process who waits for room. A waiter stands in the lines of those budgets that keep it waiting longest;
 * refused again, it moves to other lines and keeps its age. It is tried when it is at the head of all its lines and its wait is
 * over, one of their counters was freed, or whoever stood before it has gone: never by polling, and never past somebody who
 * waits for the same budget before it.
 */
export interface Line {
  /**
   * Waits; `undefined` when room can't come in time, the line is full, the caller left or the gate closed. Rejects with what
   * `admit` rejected with.
   */
  wait(candidate: Candidate): Promise<Reservation | undefined>;
  /** The charges that others wait for before `place`, with the wait behind them; empty: it may try. */
  ahead(charges: readonly Charge[], place: Place): readonly Shortage[];
  isWaited(counter: string): boolean;
  /** Tells that these counters may have room again. */
  freed(charges: readonly Charge[]): void;
  /** How often something was freed so far. */
  readonly frees: number;
  /** Milliseconds until what is already promised to waiters of this counter is through. */
  promisedMs(charge: Charge): number;
  readonly depth: number;
  close(): void;
}

/** A new visit that has not come to the line yet. */
const NEWCOMER: Place = { hasPassed: false, arrival: Infinity };

export function createLine(clock: Clock): Line {
  const waiters = new Set<Waiter>();
  const places = createPlaces<Waiter>();
  const frees = createFrees();
  let tokens = 0;
  let arrivals = 0;
  let isClosed = false;

  function join(candidate: Candidate): Promise<Reservation | undefined> {
    return new Promise((resolve, reject) => {
      const onLeave = (waiter: Waiter) => end(waiter, undefined);
      const waiter = createWaiter(candidate, arrivals++, clock, { onLeave, onDeadline: expire, resolve, reject });
      waiters.add(waiter);
      tokens += waiter.tokens;
      stand(waiter, candidate.refusal, candidate.refusedAtMs);
      if (hasMissed(waiter, candidate.frees)) proceed(waiter);
    });
  }

  function stand(waiter: Waiter, refusal: Refusal, refusedAtMs: number): void {
    waiter.awaited = bottlenecks(refusal);
    places.take(waiter, waiter.awaited);
    waiter.dueMs = refusal.waitMs > 0 ? refusedAtMs + refusal.waitMs : Infinity;
    waiter.wakeAtDue(() => proceed(waiter));
  }

  /** Something was freed, or somebody who stood first has gone: whoever is first now may have room. */
  function wake(counters: readonly string[]): void {
    frees.note(counters);
    for (const counter of counters) {
      const head = places.head(counter);
      if (head) proceed(head);
    }
  }

  /** Whether one of its counters was freed while it was not standing there. */
  function hasMissed(waiter: Waiter, since: number): boolean {
    return frees.since(
      since,
      waiter.awaited.map(({ counter }) => counter),
    );
  }

  function end(waiter: Waiter, result: Reservation | undefined): void {
    if (waiter.isDone) return;
    waiter.finish(result);
    forget(waiter);
  }

  function forget(waiter: Waiter): void {
    waiters.delete(waiter);
    tokens -= waiter.tokens;
    wake(places.leave(waiter, waiter.awaited));
  }

  /** A try under way may still succeed: an answer that comes a moment late is better than none. */
  function expire(waiter: Waiter): void {
    waiter.isOverdue = true;
    if (!waiter.isTrying) end(waiter, undefined);
  }

  /** Tries a waiter that may have room, unless somebody else must be tried before it. */
  function proceed(waiter: Waiter): void {
    if (isClosed || waiter.isDone || waiter.isTrying) return;
    if (waiter.awaited.every(({ counter }) => places.head(counter) === waiter)) void attempt(waiter);
  }

  async function attempt(waiter: Waiter): Promise<void> {
    const freesBefore = frees.count;
    waiter.isTrying = true;
    let result: Reservation | Refusal;
    try {
      result = await waiter.admit(waiter);
    } catch (error) {
      if (waiter.isDone) return;
      waiter.fail(error);
      forget(waiter);
      return;
    }
    waiter.isTrying = false;
    if (!isReservation(result)) refuse(waiter, result, freesBefore);
    else if (waiter.isDone) waiter.giveBack(result);
    else end(waiter, result);
  }

  function refuse(waiter: Waiter, refusal: Refusal, freesBefore: number): void {
    if (waiter.isDone) return;
    const nowMs = clock.now();
    const isTooLate = waiter.isOverdue || nowMs + refusal.waitMs >= waiter.deadlineMs;
    if (refusal.reason !== 'full' || isTooLate) {
      end(waiter, undefined);
      return;
    }
    const led = places.leave(waiter, waiter.awaited);
    stand(waiter, refusal, nowMs);
    if (hasMissed(waiter, freesBefore)) proceed(waiter);
    wake(led.filter((counter) => places.head(counter) !== waiter));
  }

  function promisedMs(charge: Charge, place: Place): number {
    const head = places.head(charge.counter);
    if (!head || charge.window.kind !== 'sliding' || charge.limit <= 0) return 0;
    const headMs = Number.isFinite(head.dueMs) ? Math.max(0, head.dueMs - clock.now()) : 0;
    return headMs + (places.amountBefore(charge.counter, place) * charge.window.ms) / charge.limit;
  }

  return {
    wait(candidate) {
      const { call, refusal, refusedAtMs, bounds, leftMs, signal } = candidate;
      const isFull = waiters.size >= bounds.maxRequests || tokens + tokensOf(call) > bounds.maxTokens;
      const isHopeless = leftMs <= 0 || refusedAtMs + refusal.waitMs >= clock.now() + leftMs;
      return isClosed || isFull || isHopeless || signal?.aborted ? Promise.resolve(undefined) : join(candidate);
    },
    ahead(charges, place) {
      const isHeldUp = ({ counter }: Charge) => {
        const head = places.head(counter);
        return head !== undefined && isBefore(head, place);
      };
      return charges.filter(isHeldUp).map((charge) => ({ charge, waitMs: Math.ceil(promisedMs(charge, place)) }));
    },
    isWaited: (counter) => places.head(counter) !== undefined,
    freed(charges) {
      wake(charges.map(({ counter }) => counter));
    },
    get frees() {
      return frees.count;
    },
    promisedMs: (charge) => promisedMs(charge, NEWCOMER),
    get depth() {
      return waiters.size;
    },
    close() {
      isClosed = true;
      for (const waiter of waiters) end(waiter, undefined);
    },
  };
}

/**
 * The charges that keep a call waiting longest, and those of which nobody knows how long. The others will have room before:
 * standing in their lines would only hold up those who need nothing else.
 */
function bottlenecks({ full, waitMs }: Refusal): readonly Charge[] {
  return full.filter((shortage) => shortage.waitMs === 0 || shortage.waitMs >= waitMs).map(({ charge }) => charge);
}
