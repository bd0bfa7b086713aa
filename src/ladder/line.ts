import type { Call, Charge, Refusal, Reservation, Shortage } from '../call.js';
import type { Cancel, Clock } from '../clock.js';
import { createFrees } from './frees.js';
import { createPlaces, isBefore, type Place } from './places.js';
import { isReservation, type WaitBounds } from './step.js';

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
  /** {@link Line.frees} from before the store was asked: what was freed since may already have made room. */
  readonly frees: number;
  /** Tries again, as somebody who stands at `place`. */
  admit(place: Place): Promise<Reservation | Refusal>;
  /** Takes back what `admit` gave too late: nobody waits for it any more. */
  giveBack(reservation: Reservation): void;
}

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

interface Waiter extends Candidate, Place {
  readonly tokens: number;
  readonly deadlineMs: number;
  /** What it waits for: the lines it stands in. */
  awaited: readonly Charge[];
  dueMs: number;
  stopDue: Cancel | undefined;
  isTrying: boolean;
  isOverdue: boolean;
  isDone: boolean;
  finish(): void;
  resolve(result: Reservation | undefined): void;
  reject(error: unknown): void;
}

export function createLine(clock: Clock): Line {
  const waiters = new Set<Waiter>();
  const places = createPlaces<Waiter>();
  const frees = createFrees();
  let tokens = 0;
  let arrivals = 0;
  let isClosed = false;

  function join(candidate: Candidate): Promise<Reservation | undefined> {
    return new Promise((resolve, reject) => {
      const { call, refusal, refusedAtMs, leftMs, signal } = candidate;
      const onAbort = () => end(waiter, () => resolve(undefined));
      const stopDeadline = clock.after(leftMs, () => expire(waiter), true);
      const waiter: Waiter = {
        ...candidate,
        arrival: arrivals++,
        tokens: wants(call),
        deadlineMs: clock.now() + leftMs,
        awaited: [],
        dueMs: Infinity,
        stopDue: undefined,
        isTrying: false,
        isOverdue: false,
        isDone: false,
        finish() {
          signal?.removeEventListener('abort', onAbort);
          stopDeadline();
        },
        resolve,
        reject,
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      waiters.add(waiter);
      tokens += waiter.tokens;
      stand(waiter, refusal, refusedAtMs);
      if (hasMissed(waiter, candidate.frees)) proceed(waiter);
    });
  }

  function stand(waiter: Waiter, refusal: Refusal, refusedAtMs: number): void {
    waiter.awaited = bottlenecks(refusal);
    places.take(waiter, waiter.awaited);
    waiter.dueMs = refusal.waitMs > 0 ? refusedAtMs + refusal.waitMs : Infinity;
    if (waiter.dueMs === Infinity) return;
    waiter.stopDue = clock.after(Math.max(0, waiter.dueMs - clock.now()), () => proceed(waiter), true);
  }

  /** @returns the counters it was first in line for */
  function stepAside(waiter: Waiter): readonly string[] {
    waiter.stopDue?.();
    waiter.stopDue = undefined;
    return places.leave(waiter, waiter.awaited);
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

  function end(waiter: Waiter, tell: () => void): void {
    if (waiter.isDone) return;
    waiter.isDone = true;
    waiter.finish();
    waiters.delete(waiter);
    tokens -= waiter.tokens;
    const led = stepAside(waiter);
    tell();
    wake(led);
  }

  /** A try under way may still succeed: an answer that comes a moment late is better than none. */
  function expire(waiter: Waiter): void {
    waiter.isOverdue = true;
    if (!waiter.isTrying) end(waiter, () => waiter.resolve(undefined));
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
      end(waiter, () => waiter.reject(error));
      return;
    }
    waiter.isTrying = false;
    if (isReservation(result)) settle(waiter, result);
    else refuse(waiter, result, freesBefore);
  }

  function settle(waiter: Waiter, reservation: Reservation): void {
    if (waiter.isDone) waiter.giveBack(reservation);
    else end(waiter, () => waiter.resolve(reservation));
  }

  function refuse(waiter: Waiter, refusal: Refusal, freesBefore: number): void {
    if (waiter.isDone) return;
    const nowMs = clock.now();
    const isTooLate = waiter.isOverdue || nowMs + refusal.waitMs >= waiter.deadlineMs;
    if (refusal.reason !== 'full' || isTooLate) return end(waiter, () => waiter.resolve(undefined));
    const led = stepAside(waiter);
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
      const isFull = waiters.size >= bounds.maxRequests || tokens + wants(call) > bounds.maxTokens;
      const isHopeless = leftMs <= 0 || refusedAtMs + refusal.waitMs >= clock.now() + leftMs;
      return isClosed || isFull || isHopeless || signal?.aborted ? Promise.resolve(undefined) : join(candidate);
    },
    ahead(charges, place) {
      const isHeldUp = ({ counter }: Charge) => {
        const head = places.head(counter);
        return head !== undefined && isBefore(head, place);
      };
      return waiters.size === 0
        ? []
        : charges.filter(isHeldUp).map((charge) => ({ charge, waitMs: Math.ceil(promisedMs(charge, place)) }));
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
      for (const waiter of waiters) end(waiter, () => waiter.resolve(undefined));
    },
  };
}

function wants({ heldInputTokens, expectedOutputTokens }: Call): number {
  return heldInputTokens + expectedOutputTokens;
}

/**
 * The charges that keep a call waiting longest, and those of which nobody knows how long. The others will have room before:
 * standing in their lines would only hold up those who need nothing else.
 */
function bottlenecks({ full, waitMs }: Refusal): readonly Charge[] {
  return full.filter((shortage) => shortage.waitMs === 0 || shortage.waitMs >= waitMs).map(({ charge }) => charge);
}
