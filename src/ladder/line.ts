import type { Call, Charge, Refusal, Reservation, Shortage } from '../call.js';
import type { Cancel, Clock } from '../clock.js';
import { isReservation, type WaitBounds } from './step.js';

/** A call that wants to wait, and how it tries again. */
export interface Candidate {
  readonly call: Call;
  readonly refusal: Refusal;
  readonly bounds: WaitBounds;
  /** Runs of visits that already passed go before new visits. */
  readonly hasPassed: boolean;
  /** How much of `bounds.waitMs` is left, in milliseconds. */
  readonly leftMs: number;
  readonly signal: AbortSignal;
  /** {@link Line.frees} from before the store was asked: what was freed since may already have made room. */
  readonly frees: number;
  admit(): Promise<Reservation | Refusal>;
}

/**
 * Everybody in this process who waits for room. A waiter stands in the line of each budget that refused it last, so it
 * moves between lines and keeps its age; it is tried again when its wait is over or one of those budgets was freed, never
 * by polling, and never past somebody who waits for the same budget before it.
 */
export interface Line {
  /** Waits; `undefined` when room can't come in time, the line is full, the caller left or the gate closed. */
  wait(candidate: Candidate): Promise<Reservation | undefined>;
  /** The charges that others wait for ahead of such a call, with the wait behind them; empty: it may try. */
  ahead(charges: readonly Charge[], hasPassed: boolean): readonly Shortage[];
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

interface Waiter extends Candidate {
  readonly tokens: number;
  readonly deadlineMs: number;
  refusal: Refusal;
  dueMs: number;
  isDone: boolean;
  finish(result: Reservation | undefined): void;
}

interface Queued {
  waiters: number;
  /** Sum of what the waiters want of this counter. */
  amount: number;
}

export function createLine(clock: Clock): Line {
  /** Ordered: passed visits first, then arrival. */
  const waiters: Waiter[] = [];
  const queued = new Map<string, Queued>();
  const freedCounters = new Set<string>();
  let tokens = 0;
  let frees = 0;
  let isPumping = false;
  let isClosed = false;
  let timer: Cancel | undefined;

  function stand(waiter: Waiter, refusal: Refusal, sign: 1 | -1): void {
    for (const { charge } of refusal.full) {
      const entry = queued.get(charge.counter) ?? { waiters: 0, amount: 0 };
      entry.waiters += sign;
      entry.amount += sign * charge.amount;
      if (entry.waiters > 0) queued.set(charge.counter, entry);
      else queued.delete(charge.counter);
    }
    if (sign === 1) {
      waiter.refusal = refusal;
      waiter.dueMs = dueAt(refusal);
    }
  }

  function dueAt(refusal: Refusal): number {
    return refusal.waitMs > 0 ? clock.now() + refusal.waitMs : Infinity;
  }

  function join(waiter: Waiter): void {
    const index = waiter.hasPassed ? waiters.findIndex((other) => !other.hasPassed) : -1;
    if (index < 0) waiters.push(waiter);
    else waiters.splice(index, 0, waiter);
    tokens += waiter.tokens;
    stand(waiter, waiter.refusal, 1);
  }

  function leave(waiter: Waiter, result: Reservation | undefined): void {
    if (waiter.isDone) return;
    waiter.isDone = true;
    waiters.splice(waiters.indexOf(waiter), 1);
    tokens -= waiter.tokens;
    stand(waiter, waiter.refusal, -1);
    for (const { charge } of waiter.refusal.full) freedCounters.add(charge.counter);
    waiter.finish(result);
  }

  /** Tries, in order, each waiter whose time has come and whom nobody blocks; one at a time, for the store's answers to count. */
  async function pump(): Promise<void> {
    if (isPumping || isClosed) return;
    isPumping = true;
    try {
      for (let again = true; again && !isClosed; ) again = await passOnce();
    } finally {
      isPumping = false;
      schedule();
    }
  }

  /** @returns whether something changed that may let another one in */
  async function passOnce(): Promise<boolean> {
    const freed = new Set(freedCounters);
    freedCounters.clear();
    const blocked = new Set<string>();
    for (const waiter of [...waiters]) {
      if (isClosed || waiter.isDone) continue;
      const counters = waiter.refusal.full.map(({ charge }) => charge.counter);
      if (counters.some((counter) => blocked.has(counter))) continue;
      if (clock.now() >= waiter.deadlineMs) {
        leave(waiter, undefined);
        continue;
      }
      if (waiter.dueMs <= clock.now() || counters.some((counter) => freed.has(counter))) await attempt(waiter);
      if (!waiter.isDone) for (const { charge } of waiter.refusal.full) blocked.add(charge.counter);
    }
    return freedCounters.size > 0;
  }

  async function attempt(waiter: Waiter): Promise<void> {
    const freesBefore = frees;
    let result: Reservation | Refusal;
    try {
      result = await waiter.admit();
    } catch {
      leave(waiter, undefined);
      return;
    }
    if (isReservation(result)) {
      if (waiter.isDone) void result.cancel();
      else leave(waiter, result);
      return;
    }
    if (waiter.isDone) return;
    stand(waiter, waiter.refusal, -1);
    stand(waiter, result, 1);
    const isTooLate = result.waitMs > 0 && waiter.dueMs > waiter.deadlineMs;
    if (result.reason !== 'full' || isTooLate) leave(waiter, undefined);
    else if (frees !== freesBefore) for (const { charge } of result.full) freedCounters.add(charge.counter);
  }

  function schedule(): void {
    timer?.();
    timer = undefined;
    if (waiters.length === 0 || isClosed) return;
    let nextMs = Infinity;
    for (const waiter of waiters) nextMs = Math.min(nextMs, waiter.deadlineMs, Math.max(waiter.dueMs, clock.now()));
    timer = clock.after(Math.max(0, nextMs - clock.now()), () => void pump(), true);
  }

  return {
    wait(candidate) {
      const { call, refusal, bounds, leftMs, signal } = candidate;
      const wants = call.heldInputTokens + call.expectedOutputTokens;
      const isFull = waiters.length >= bounds.maxRequests || tokens + wants > bounds.maxTokens;
      if (isClosed || isFull || signal.aborted || refusal.waitMs > leftMs || leftMs <= 0) return Promise.resolve(undefined);
      return new Promise((resolve) => {
        const onAbort = () => {
          leave(waiter, undefined);
          void pump();
        };
        const waiter: Waiter = {
          ...candidate,
          tokens: wants,
          deadlineMs: clock.now() + leftMs,
          dueMs: Infinity,
          isDone: false,
          finish(result) {
            signal.removeEventListener('abort', onAbort);
            resolve(result);
          },
        };
        signal.addEventListener('abort', onAbort, { once: true });
        join(waiter);
        if (frees !== candidate.frees) this.freed(refusal.full.map(({ charge }) => charge));
        else schedule();
      });
    },
    ahead(charges, hasPassed) {
      if (waiters.length === 0) return [];
      const counters = new Set<string>();
      for (const waiter of waiters) {
        if (hasPassed && !waiter.hasPassed) continue;
        for (const { charge } of waiter.refusal.full) counters.add(charge.counter);
      }
      return charges
        .filter((charge) => counters.has(charge.counter))
        .map((charge) => ({ charge, waitMs: this.promisedMs(charge) }));
    },
    isWaited: (counter) => queued.has(counter),
    freed(charges) {
      frees++;
      if (waiters.length === 0) return;
      let isAwaited = false;
      for (const { counter } of charges) {
        if (!queued.has(counter)) continue;
        freedCounters.add(counter);
        isAwaited = true;
      }
      if (isAwaited) void pump();
    },
    promisedMs(charge) {
      const entry = queued.get(charge.counter);
      if (!entry || charge.window.kind !== 'sliding' || charge.limit <= 0) return 0;
      const head = waiters.find((waiter) => waiter.refusal.full.some((shortage) => shortage.charge.counter === charge.counter));
      const headMs = head && Number.isFinite(head.dueMs) ? Math.max(0, head.dueMs - clock.now()) : 0;
      return headMs + (entry.amount * charge.window.ms) / charge.limit;
    },
    get frees() {
      return frees;
    },
    get depth() {
      return waiters.length;
    },
    close() {
      isClosed = true;
      timer?.();
      for (const waiter of [...waiters]) leave(waiter, undefined);
    },
  };
}
