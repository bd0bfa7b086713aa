import {
  charge,
  chargeLate,
  isInside,
  isWedged,
  pace,
  paceWaitMs,
  type Ring,
  refund,
  restart,
  ringWaitMs,
  SLOTS,
  slotAt,
  unpace,
  usedIn,
} from '../budget/ring.js';
import { type Ask, type Counter, FITS, type Hold, type Part } from './counter.js';

/** A counter over a sliding window. It is its own ring: a million keys are a million objects, not two. */
export class SlidingCounter implements Counter, Ring {
  isGone = false;
  sum = 0;
  head: number;
  headAmount = 0;
  older: number[] | undefined = undefined;
  pacedUntilMs = 0;
  era = 0;
  readonly windowMs: number;

  constructor(windowMs: number, nowMs: number) {
    this.windowMs = windowMs;
    this.head = slotAt(nowMs, windowMs);
  }

  used(nowMs: number): number {
    return usedIn(this, this.#slot(nowMs));
  }

  movable(hold: Hold, nowMs: number): number {
    return this.#isDatedInside(hold, this.#slot(nowMs)) ? hold.held : 0;
  }

  waitMs({ item, source, moved, need }: Ask, nowMs: number): number {
    this.#slot(nowMs);
    const roomMs = ringWaitMs(this, this.windowMs, nowMs, need, item.refuseAt, moved, source?.mark);
    const waitMs = isPaced(item) ? Math.max(roomMs, paceWaitMs(this, nowMs)) : roomMs;
    return waitMs === 0 ? FITS : waitMs;
  }

  release(hold: Hold, amount: number): number {
    refund(this, hold.mark, amount);
    return takePace(hold, amount);
  }

  charge(hold: Hold, { item, amount, moved }: Ask, _leaseEndMs: number, nowMs: number): void {
    hold.mark = charge(this, this.#slot(nowMs), amount);
    hold.era = this.era;
    if (amount > moved && isPaced(item)) hold.paceMs += pace(this, this.windowMs, nowMs, amount - moved, item.limit);
  }

  settle(hold: Hold, amount: number, nowMs: number): void {
    const slot = this.#slot(nowMs);
    const isOpen = this.#isDatedInside(hold, slot);
    if (amount > hold.held) {
      if (isOpen) chargeLate(this, hold.mark, amount - hold.held);
      else charge(this, slot, amount - hold.held);
    } else if (amount < hold.held && isOpen) {
      refund(this, hold.mark, hold.held - amount);
      unpace(this, takePace(hold, hold.held - amount));
    }
  }

  renew(): void {}

  isIdle(nowMs: number): boolean {
    return this.used(nowMs) === 0 && this.pacedUntilMs <= nowMs;
  }

  parts(nowMs: number): readonly Part[] {
    const first = Math.max(this.head, this.#slot(nowMs)) - SLOTS;
    const parts: Part[] = this.headAmount > 0 && this.head >= first ? [[this.head, this.headAmount]] : [];
    const { older = [] } = this;
    for (let at = 0; at < older.length; at += 2)
      if ((older[at] as number) >= first) parts.push([older[at] as number, older[at + 1] as number]);
    return parts;
  }

  copy(nowMs: number): SlidingCounter {
    const copy = new SlidingCounter(this.windowMs, nowMs);
    copy.sum = this.sum;
    copy.head = this.head;
    copy.headAmount = this.headAmount;
    copy.older = this.older?.slice();
    copy.pacedUntilMs = this.pacedUntilMs;
    return copy;
  }

  /** The slot of now. Every look at the ring goes through here, so that none sees it wedged. */
  #slot(nowMs: number): number {
    const slot = slotAt(nowMs, this.windowMs);
    if (isWedged(this, slot)) {
      restart(this, slot);
      this.era++;
    }
    return slot;
  }

  #isDatedInside(hold: Hold, nowSlot: number): boolean {
    return hold.era === this.era && isInside(this, hold.mark, nowSlot);
  }
}

/** What only counts is never refused, so no pace can hold it up. */
function isPaced(item: Ask['item']): boolean {
  return item.paced === true && item.refuseAt < Infinity;
}

/** The pace that goes with a part of a hold. */
function takePace(hold: Hold, amount: number): number {
  if (hold.paceMs === 0 || hold.held === 0) return 0;
  const ms = hold.paceMs * Math.min(1, amount / hold.held);
  hold.paceMs -= ms;
  return ms;
}
