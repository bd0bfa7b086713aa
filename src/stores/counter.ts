import type { Item } from './store.js';

/** What one reservation holds in one counter. */
export class Hold {
  readonly item: Item;
  counter: Counter;
  /** What is left of it: draws take parts away. */
  held: number;
  /** Where it is dated: slot of a ring, start of a calendar period, end of a lease in epoch milliseconds. */
  mark = 0;
  /** How often the ring had been restarted when it was dated: older slots mean nothing any more. */
  era = 0;
  /** How far it moved the pace on, in milliseconds. */
  paceMs = 0;
  /** Place among the leases that run; -1 when it runs no more, or never did. */
  place = -1;

  constructor(item: Item, counter: Counter, held: number) {
    this.item = item;
    this.counter = counter;
    this.held = held;
  }
}

/** One item of a reservation that is being decided. */
export interface Ask {
  readonly item: Item;
  /** What decides: the key's own counter, or the one it shares. `undefined`: nothing was charged yet. */
  readonly counter: Counter | undefined;
  readonly isOwn: boolean;
  readonly amount: number;
  /** The reservation drawn on, and the part of it that moves. */
  readonly source: Hold | undefined;
  readonly moved: number;
  /** What must fit: the amount without what moves, and with what items before it take from the same counter. */
  readonly need: number;
}

/** The answer of {@link Counter.waitMs} when there is room. */
export const FITS = -1;

/** Where something is dated, and how much it is. */
export type Part = readonly [mark: number, amount: number];

/** What is counted under one name in one window. Knows its window's arithmetic, and nothing of reservations. */
export interface Counter {
  /** Let go while it held nothing; whoever still refers to it must look for its successor. */
  isGone: boolean;
  used(nowMs: number): number;
  /** The part of `hold` that a draw may take: none when its window has passed. */
  movable(hold: Hold, nowMs: number): number;
  /** {@link FITS}, or how long until it fits if nothing else happens. Asked only when `need` is above 0. */
  waitMs(ask: Ask, nowMs: number): number;
  /** Takes a movable part out of `hold`. @returns the pace that goes with it */
  release(hold: Hold, amount: number, nowMs: number): number;
  /** Charges a new hold, dated now. */
  charge(hold: Hold, ask: Ask, leaseEndMs: number, nowMs: number): void;
  /** Replaces what `hold` has by `amount`. */
  settle(hold: Hold, amount: number, nowMs: number): void;
  /** Prolongs a lease, or takes it up again. */
  renew(hold: Hold, leaseEndMs: number, nowMs: number): void;
  /** Whether forgetting it would change nothing. */
  isIdle(nowMs: number): boolean;
  /** What it holds, by where it is dated: slot of a ring, start of a calendar period. Nothing of what is running. */
  parts(nowMs: number): readonly Part[];
  /** Another counter that holds the same. */
  copy(nowMs: number): Counter;
}
