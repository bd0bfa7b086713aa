import { type Ask, type Counter, FITS, Hold, type Part } from './counter.js';

/** A counter of what runs now: leases, each until it is settled or its end has come. */
export class ConcurrentCounter implements Counter {
  isGone = false;
  #sum = 0;
  /** `undefined` rather than empty: an array that once grew keeps its room. */
  #leases: Hold[] | undefined = undefined;
  /** No lease ends before; the leases are gone through only then. */
  #nextEndMs = Infinity;

  used(nowMs: number): number {
    if (nowMs >= this.#nextEndMs) this.#expire(nowMs);
    return this.#sum;
  }

  movable(hold: Hold, nowMs: number): number {
    this.used(nowMs);
    return hold.place < 0 ? 0 : hold.held;
  }

  /** Nobody knows when a call will end, so what could fit later waits 0. */
  waitMs({ item, need }: Ask, nowMs: number): number {
    return this.used(nowMs) + need <= item.refuseAt ? FITS : 0;
  }

  release(hold: Hold, amount: number): number {
    if (amount >= hold.held) this.#stop(hold);
    else this.#sum -= amount;
    return 0;
  }

  charge(hold: Hold, _ask: Ask, leaseEndMs: number, nowMs: number): void {
    this.#run(hold, leaseEndMs, nowMs);
  }

  /** Whatever the amount: what is settled runs no more. */
  settle(hold: Hold): void {
    if (hold.place >= 0) this.#stop(hold);
  }

  renew(hold: Hold, leaseEndMs: number, nowMs: number): void {
    if (hold.place >= 0) this.#stop(hold);
    this.#run(hold, leaseEndMs, nowMs);
  }

  isIdle(nowMs: number): boolean {
    return this.used(nowMs) === 0;
  }

  parts(): readonly Part[] {
    return [];
  }

  /** The copied leases end with their present lease: nobody will settle them. */
  copy(nowMs: number): ConcurrentCounter {
    this.used(nowMs);
    const copy = new ConcurrentCounter();
    for (const lease of this.#leases ?? []) copy.#run(new Hold(lease.item, copy, lease.held), lease.mark, nowMs);
    return copy;
  }

  #run(hold: Hold, leaseEndMs: number, nowMs: number): void {
    hold.mark = leaseEndMs;
    if (hold.held === 0 || leaseEndMs <= nowMs) return;
    if (this.#leases) hold.place = this.#leases.push(hold) - 1;
    else {
      this.#leases = [hold];
      hold.place = 0;
    }
    this.#sum += hold.held;
    this.#nextEndMs = Math.min(this.#nextEndMs, leaseEndMs);
  }

  #stop(hold: Hold): void {
    const leases = this.#leases as Hold[];
    const last = leases.pop() as Hold;
    if (last !== hold) {
      leases[hold.place] = last;
      last.place = hold.place;
    }
    hold.place = -1;
    this.#sum -= hold.held;
    if (leases.length > 0) return;
    this.#leases = undefined;
    this.#nextEndMs = Infinity;
  }

  #expire(nowMs: number): void {
    let nextEndMs = Infinity;
    const leases = this.#leases ?? [];
    // Backwards: whoever takes the place of a lease that stops has been looked at already.
    for (let i = leases.length - 1; i >= 0; i--) {
      const lease = leases[i] as Hold;
      if (lease.mark <= nowMs) this.#stop(lease);
      else nextEndMs = Math.min(nextEndMs, lease.mark);
    }
    this.#nextEndMs = nextEndMs;
  }
}
