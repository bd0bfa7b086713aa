/** The length of time that a limit covers. */
export type Window =
  /** The last `ms` milliseconds at any instant. */
  | { readonly kind: 'sliding'; readonly ms: number }
  /** A calendar day or month in `timeZone` (IANA name). */
  | { readonly kind: 'calendar'; readonly unit: 'day' | 'month'; readonly timeZone: string }
  /** What is running now: an item holds from reserve to settle, or to the end of its lease. */
  | { readonly kind: 'concurrent' };

/** One line of a reservation: an amount to hold in one counter. */
export interface Item {
  /** Identity of the counter. Encoded by the core: printable ASCII, at most 512 characters. */
  readonly counter: string;
  readonly window: Window;
  /** Tokens, requests or micro-dollars: a safe integer, 0 or more. */
  readonly amount: number;
  /** The configured limit: sets the pace. A safe integer, 0 or more. */
  readonly limit: number;
  /** The sum that must not be passed: the limit, a priority class's share of it, or `Infinity` for what only counts. */
  readonly refuseAt: number;
  /** Somebody waits for this counter: admissions keep a pace of 0.95 limit / window, beside the window itself. Sliding only. */
  readonly paced?: boolean;
  /** What a shared store that has lost its common counts does about this counter. @defaultValue `'local-share'` */
  readonly onStoreError?: OnStoreError;
}

/**
 * Without the common counts: `local-share` decides by this instance's share of the limit, `last-seen` by half its share of what was left
 * when it was last seen, and refuses where nothing was; `closed` refuses; `open` only counts.
 */
export type OnStoreError = 'local-share' | 'last-seen' | 'closed' | 'open';

/** All items are held. */
export interface Held {
  readonly kind: 'held';
  /** What each counter holds now, this reservation included; same order as the items. */
  readonly used: readonly number[];
  /** The store's time of the decision, epoch milliseconds. */
  readonly atMs: number;
}

/** Nothing is held and nothing changed. */
export interface Full {
  readonly kind: 'full';
  /**
   * Every item that did not fit, in the items' order. `waitMs`: how long until it fits if nothing else happens;
   * `Infinity` when it never can (amount above `refuseAt`); 0 for `concurrent`, which is freed by a settlement that
   * nobody can foretell.
   */
  readonly full: readonly { readonly index: number; readonly waitMs: number }[];
  /** What each counter holds now; same order as the items. */
  readonly used: readonly number[];
  readonly atMs: number;
}

/** How to reserve. */
export interface ReserveHow {
  /** A reservation to draw on: what it still holds on the same counters moves over, and only the difference must fit. */
  readonly from?: string | undefined;
  /** How long an unsettled reservation keeps its concurrency, in milliseconds. */
  readonly leaseMs: number;
}

/** Something an operator should know: a bound was reached, data was lost. */
export interface StoreNotice {
  /** `overflow`: keys share counters. `away`, `back`: the common counts. `lost`: they had forgotten. `setting`: of the server. */
  readonly code: 'overflow' | 'away' | 'back' | 'lost' | 'setting';
  readonly message: string;
}

/**
 * Counts, shared by everybody who holds the same store. The contract, proved by `storeConformance`:
 *
 * - **All or none.** `reserve` holds every item or changes nothing; concurrent callers get what some serial order gives.
 * - **Exact windows.** The charges dated in any true window (t - W, t] never sum to more than `refuseAt` was when the last
 *   of them was admitted, overdraft of `settle` aside; a pure draw admits nothing. Sliding windows may count up to 1/60
 *   longer, never shorter.
 * - **Idempotent by id.** A second `reserve` of a live or settled id holds nothing more and answers `held`. Only the first
 *   `settle` of an id acts. Settling an unknown id makes it settled: a late `reserve` of it holds nothing. Settled ids are
 *   remembered for a minute or more; a store may forget sooner when 100,000 others were settled since.
 * - **Draws.** With `from`, min(amount, what `from` still holds there and is still inside the window) leaves `from` and is
 *   dated anew together with the difference; an item whose difference is 0 always fits, paced or over the limit.
 * - **Settling** puts the difference into the window that was charged: less is refunded there, dropped when that window
 *   has passed; more is debt, there or, when it has passed, now. A calendar period has passed, for this, when the one after
 *   it has ended too: what runs over midnight is on the bill of its own day. `concurrent` items are freed whatever the
 *   amount. No sum falls below zero.
 * - **Pace.** A `paced` admission that is not a pure draw waits for the one before it: amount x W / (0.95 limit), at most
 *   W / 0.95. Refunds give their share back, as far as their window has not passed. What is not paced, or has no finite
 *   `refuseAt`, neither waits nor moves the pace.
 * - **Leases.** An id that is neither settled nor renewed for `leaseMs` frees its `concurrent` items and keeps the rest.
 *   `renew` takes concurrency up again even after that, over the limit if need be: the call is running anyway. When, after
 *   the lease, another lease and the longest window have passed too (61/60 of a sliding one, an hour for a calendar one, an
 *   hour at most), the id is forgotten and its charges stay.
 * - The counters of one `reserve` are distinct. Time is the store's own, in whole milliseconds.
 */
export interface Store {
  reserve(id: string, items: readonly Item[], how: ReserveHow): Promise<Held | Full>;
  /**
   * Replaces what `id` still holds by real amounts, once.
   * @param amounts - one for each item of the reservation, in order; all zero cancels it
   */
  settle(id: string, amounts: readonly number[]): Promise<void>;
  /** Prolongs reservations by `leaseMs` from now; unknown and settled ids are passed over. */
  renew(ids: readonly string[], leaseMs: number): Promise<void>;
  /** What each counter holds now; charges nothing. Only `counter` and `window` of the items matter. */
  peek(items: readonly Pick<Item, 'counter' | 'window'>[]): Promise<readonly number[]>;
  /** Resolves when the store answers as fast as it ever will, or in a few seconds when it does not answer at all. Never rejects. */
  ready?(): Promise<void>;
  /** Hears notices; one listener, set by the gate. */
  onNotice?(listener: (notice: StoreNotice) => void): void;
  /** Ends whatever the store itself started. Idempotent. */
  close(): Promise<void>;
}
