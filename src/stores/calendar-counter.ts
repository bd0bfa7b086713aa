import { addTo, type CalendarCount, countedIn, createCount, type Period } from '../budget/calendar.js';
import { type Ask, type Counter, FITS, type Hold, type Part } from './counter.js';

/** A counter over a calendar day or month. */
export class CalendarCounter implements Counter {
  isGone = false;
  #count: CalendarCount;
  readonly #periodAt: (nowMs: number) => Period;

  constructor(periodAt: (nowMs: number) => Period, nowMs: number) {
    this.#periodAt = periodAt;
    this.#count = createCount(periodAt(nowMs).startMs);
  }

  used(nowMs: number): number {
    return countedIn(this.#count, this.#periodAt(nowMs).startMs);
  }

  movable(hold: Hold, nowMs: number): number {
    return hold.mark === this.#periodAt(nowMs).startMs ? hold.held : 0;
  }

  waitMs({ item, amount, moved, need }: Ask, nowMs: number): number {
    const period = this.#periodAt(nowMs);
    if (countedIn(this.#count, period.startMs) + need <= item.refuseAt) return FITS;
    // Later periods hold something only when the clock was ahead once; what moves is of this period, and helps in no other.
    const later = need + moved;
    if (later > item.refuseAt || amount > item.refuseAt) return Infinity;
    let startMs = period.endMs;
    while (countedIn(this.#count, startMs) + later > item.refuseAt) startMs = this.#periodAt(startMs).endMs;
    return startMs - nowMs;
  }

  release(hold: Hold, amount: number): number {
    addTo(this.#count, hold.mark, -amount);
    return 0;
  }

  charge(hold: Hold, { amount }: Ask, _leaseEndMs: number, nowMs: number): void {
    hold.mark = this.#periodAt(nowMs).startMs;
    addTo(this.#count, hold.mark, amount);
  }

  /** The period before the current one is still open: a call that ran over midnight is on the bill of its own day. */
  settle(hold: Hold, amount: number, nowMs: number): void {
    const period = this.#periodAt(nowMs);
    const isOpen = hold.mark >= period.previousMs;
    if (amount > hold.held || isOpen) addTo(this.#count, isOpen ? hold.mark : period.startMs, amount - hold.held);
  }

  renew(): void {}

  isIdle(nowMs: number): boolean {
    return this.used(nowMs) === 0;
  }

  parts(nowMs: number): readonly Part[] {
    const { previousMs } = this.#periodAt(nowMs);
    const { period, used, previousPeriod, previousUsed } = this.#count;
    const parts: Part[] = [
      [period, used],
      [previousPeriod, previousUsed],
    ];
    return parts.filter(([mark, amount]) => mark >= previousMs && amount > 0);
  }

  copy(nowMs: number): CalendarCounter {
    const copy = new CalendarCounter(this.#periodAt, nowMs);
    copy.#count = { ...this.#count };
    return copy;
  }
}
