import { ClockHand } from './clock-hand.js';
import type { Hold } from './counter.js';
import type { Item, Window } from './store.js';

const LONGEST_KEPT_MS = 3_600_000;
const LOOKS = 2;

/** What an id holds until it is settled. */
export interface Unsettled {
  readonly holds: readonly Hold[];
  /** How long it is kept after its lease has ended. */
  readonly keptMs: number;
  forgetAtMs: number;
}

/**
 * Reservations that are not settled yet. One whose lease has ended is kept for a while, because it may still be settled or
 * renewed: until its windows have passed and a refund would be void anyway, an hour at most.
 */
export class UnsettledIds {
  readonly #byId = new Map<string, Unsettled>();
  readonly #hand = new ClockHand(this.#byId);
  /** Nothing is due before; each round of the hand finds it anew. */
  #nextDueMs = Infinity;
  #dueInRoundMs = Infinity;

  get size(): number {
    return this.#byId.size;
  }

  get(id: string, nowMs: number): Unsettled | undefined {
    const found = this.#byId.get(id);
    if (!found || nowMs < found.forgetAtMs) return found;
    this.#byId.delete(id);
    return undefined;
  }

  add(id: string, holds: readonly Hold[], leaseMs: number, nowMs: number): void {
    const keptMs = keptAfterLease(
      holds.map(({ item }) => item),
      leaseMs,
    );
    const forgetAtMs = nowMs + leaseMs + keptMs;
    this.#byId.set(id, { holds, keptMs, forgetAtMs });
    this.#nextDueMs = Math.min(this.#nextDueMs, forgetAtMs);
  }

  prolong(unsettled: Unsettled, leaseMs: number, nowMs: number): void {
    unsettled.forgetAtMs = nowMs + leaseMs + unsettled.keptMs;
    this.#nextDueMs = Math.min(this.#nextDueMs, unsettled.forgetAtMs);
  }

  delete(id: string): void {
    this.#byId.delete(id);
  }

  all(): Iterable<[id: string, unsettled: Unsettled]> {
    return this.#byId;
  }

  /** Forgets what is due among a few, once anything may be. */
  tidy(nowMs: number): void {
    if (nowMs < this.#nextDueMs) return;
    for (let i = 0; i < LOOKS; i++) {
      const entry = this.#hand.next();
      if (!entry) {
        this.#nextDueMs = this.#dueInRoundMs;
        this.#dueInRoundMs = Infinity;
        return;
      }
      if (nowMs >= entry[1].forgetAtMs) this.#byId.delete(entry[0]);
      else this.#dueInRoundMs = Math.min(this.#dueInRoundMs, entry[1].forgetAtMs);
    }
  }
}

/** How long an id is kept after its lease, in milliseconds: as long as a refund may matter, an hour at most. */
export function keptAfterLease(items: readonly Pick<Item, 'window'>[], leaseMs: number): number {
  let keptMs = leaseMs;
  for (const { window } of items) keptMs = Math.max(keptMs, afterlifeMs(window));
  return Math.min(keptMs, LONGEST_KEPT_MS);
}

/** How long after a charge a refund may matter. */
function afterlifeMs(window: Window): number {
  switch (window.kind) {
    case 'sliding':
      return Math.ceil((window.ms * 61) / 60);
    case 'calendar':
      return LONGEST_KEPT_MS;
    case 'concurrent':
      return 0;
  }
}
