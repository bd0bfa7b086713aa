import { type Clock, systemClock } from '../clock.js';
import { OptionsError } from '../errors.js';
import { leaseOf, whole } from './amounts.js';
import { type Ask, type Counter, FITS, Hold } from './counter.js';
import { type Counted, Counters } from './counters.js';
import { SettledIds } from './settled-ids.js';
import type { Full, Held, Item, ReserveHow, Store, StoreNotice } from './store.js';
import { type Unsettled, UnsettledIds } from './unsettled.js';

export interface MemoryStoreOptions {
  /** @defaultValue the machine's clock */
  readonly clock?: Clock;
  /**
   * Most keys that get a counter of their own, 1 to 10,000,000. Further keys share one counter for each window and limit,
   * and a notice tells so. @defaultValue 1_000_000
   */
  readonly maxKeys?: number;
}

/** A store inside one process. */
export interface MemoryStore extends Store {
  /** Keys that have a counter of their own now. */
  readonly size: number;
  /** Reservations that are not settled. */
  readonly unsettled: number;
  /** Settled ids that are still remembered. */
  readonly settled: number;
  onNotice(listener: (notice: StoreNotice) => void): void;
}

const DEFAULT_KEYS = 1_000_000;
const MOST_KEYS = 10_000_000;
const NOTICE_MS = 60_000;

/**
 * Counts in this process: for one instance, for tests, and as the model that every other store must agree with.
 *
 * Beyond the contract of {@link Store}: it starts no timer, so there is nothing to close. Amounts are whole numbers;
 * fractions are rounded up, and what is no number, negative or infinite counts as 0, as do amounts missing in a settlement.
 * An id is forgotten when it was neither settled nor renewed until its lease and then its longest window have passed (an
 * hour at most; calendar windows always an hour). A ring whose clock went back by more than two windows starts anew with
 * what it held; reservations made before that get no refund from it.
 * @throws {@link OptionsError} when `maxKeys` is out of range
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  const maxKeys = options.maxKeys ?? DEFAULT_KEYS;
  if (!Number.isInteger(maxKeys) || maxKeys < 1 || maxKeys > MOST_KEYS)
    throw new OptionsError([`maxKeys must be a whole number from 1 to 10,000,000, got ${String(maxKeys)}`]);
  return new InMemory(options.clock ?? systemClock, maxKeys);
}

/** The store itself, with what another store needs that keeps one for the time when it has lost its own. */
export class InMemory implements MemoryStore {
  readonly #clock: Clock;
  readonly #maxKeys: number;
  readonly #counters: Counters;
  readonly #unsettled = new UnsettledIds();
  readonly #settled: SettledIds;
  #listener: ((notice: StoreNotice) => void) | undefined;
  #noticedAtMs = -Infinity;

  constructor(clock: Clock, maxKeys: number) {
    this.#clock = clock;
    this.#maxKeys = maxKeys;
    this.#counters = new Counters(maxKeys);
    this.#settled = new SettledIds(this.#nowMs());
  }

  get size(): number {
    return this.#counters.size;
  }

  get unsettled(): number {
    return this.#unsettled.size;
  }

  get settled(): number {
    return this.#settled.size;
  }

  // Nothing below awaits, so each call is one step: whatever runs in parallel happens in some order.

  async reserve(id: string, items: readonly Item[], how: ReserveHow): Promise<Held | Full> {
    const nowMs = this.#nowMs();
    const isCrowded = this.#counters.isCrowded(items.length, nowMs);
    const asks = this.#ask(items, this.#drawnOn(how.from, nowMs), isCrowded, nowMs);
    if (this.#isKnown(id, nowMs)) return { kind: 'held', used: usedBy(asks, nowMs), atMs: nowMs };
    const full = shortages(asks, nowMs);
    if (full) {
      // Idle keys leave even while everything is refused.
      this.#counters.tidy(nowMs);
      return { kind: 'full', full, used: usedBy(asks, nowMs), atMs: nowMs };
    }
    return { kind: 'held', used: usedBy(this.#keep(id, asks, how, isCrowded, nowMs), nowMs), atMs: nowMs };
  }

  /** Holds what was decided elsewhere, whatever the limits. */
  hold(id: string, items: readonly Item[], how: ReserveHow): void {
    const nowMs = this.#nowMs();
    if (this.#isKnown(id, nowMs)) return;
    const isCrowded = this.#counters.isCrowded(items.length, nowMs);
    this.#keep(id, this.#ask(items, this.#drawnOn(how.from, nowMs), isCrowded, nowMs), how, isCrowded, nowMs);
  }

  async settle(id: string, amounts: readonly number[]): Promise<void> {
    const nowMs = this.#nowMs();
    const unsettled = this.#unsettled.get(id, nowMs);
    this.#unsettled.delete(id);
    this.#settled.add(id, nowMs);
    unsettled?.holds.forEach((hold, index) => {
      const amount = whole(amounts[index]);
      // A counter that was let go holds nothing to refund from; debt needs its successor.
      if (!hold.counter.isGone) hold.counter.settle(hold, amount, nowMs);
      else if (amount > hold.held) this.#successor(hold, nowMs).settle(hold, amount, nowMs);
    });
  }

  async renew(ids: readonly string[], leaseMs: number): Promise<void> {
    const nowMs = this.#nowMs();
    const lease = leaseOf(leaseMs);
    for (const id of ids) {
      const unsettled = this.#unsettled.get(id, nowMs);
      if (!unsettled) continue;
      this.#unsettled.prolong(unsettled, lease, nowMs);
      for (const hold of unsettled.holds) {
        if (hold.item.window.kind !== 'concurrent') continue;
        const counter = hold.counter.isGone ? this.#successor(hold, nowMs) : hold.counter;
        counter.renew(hold, nowMs + lease, nowMs);
      }
    }
  }

  async peek(items: readonly Pick<Item, 'counter' | 'window'>[]): Promise<readonly number[]> {
    const nowMs = this.#nowMs();
    return items.map((item) => this.#counters.used(item, nowMs));
  }

  /** What every counter holds, by where it is dated, without what reservations hold that are told of one by one. */
  counted(isApart: (id: string) => boolean): Iterable<Counted> {
    const apart = new Map<Counter, Map<number, number>>();
    for (const [id, { holds }] of this.#unsettled.all()) {
      if (!isApart(id)) continue;
      for (const { counter, mark, held } of holds) {
        const marks = apart.get(counter) ?? new Map<number, number>();
        apart.set(counter, marks.set(mark, (marks.get(mark) ?? 0) + held));
      }
    }
    return this.#counters.all(this.#nowMs(), apart);
  }

  /** What an id that is not settled holds now, in the order of its items. */
  holding(id: string): readonly number[] | undefined {
    return this.#unsettled.get(id, this.#nowMs())?.holds.map(({ held }) => held);
  }

  onNotice(listener: (notice: StoreNotice) => void): void {
    this.#listener = listener;
  }

  async close(): Promise<void> {}

  /** Whole milliseconds, because waits are: an attempt exactly that much later must find room. */
  #nowMs(): number {
    return Math.floor(this.#clock.now());
  }

  #isKnown(id: string, nowMs: number): boolean {
    return this.#unsettled.get(id, nowMs) !== undefined || this.#settled.has(id, nowMs);
  }

  #drawnOn(from: string | undefined, nowMs: number): Unsettled | undefined {
    return from === undefined ? undefined : this.#unsettled.get(from, nowMs);
  }

  /** Finds out what each item needs. Changes nothing. */
  #ask(items: readonly Item[], from: Unsettled | undefined, isCrowded: boolean, nowMs: number): Ask[] {
    const asks: Ask[] = [];
    for (const item of items) {
      const own = this.#counters.find(item);
      const counter = own ?? this.#counters.standIn(item, isCrowded, nowMs);
      const amount = whole(item.amount);
      const source = counter && from?.holds.find((hold) => hold.counter === counter && hold.item.counter === item.counter);
      const moved = source ? Math.min(amount, source.counter.movable(source, nowMs)) : 0;
      let need = amount - moved;
      // Keys that share a counter must each fit beside the ones before.
      if (counter && !own && need > 0) for (const ask of asks) if (ask.counter === counter) need += ask.amount - ask.moved;
      asks.push({ item, counter, isOwn: own !== undefined, amount, source, moved, need });
    }
    return asks;
  }

  #keep(id: string, asks: readonly Ask[], how: ReserveHow, isCrowded: boolean, nowMs: number): readonly Hold[] {
    const leaseMs = leaseOf(how.leaseMs);
    const holds = this.#hold(asks, leaseMs, isCrowded, nowMs);
    this.#unsettled.add(id, holds, leaseMs, nowMs);
    this.#counters.tidy(nowMs);
    this.#unsettled.tidy(nowMs);
    this.#notice(nowMs);
    return holds;
  }

  #hold(asks: readonly Ask[], leaseMs: number, isCrowded: boolean, nowMs: number): Hold[] {
    const holds: Hold[] = [];
    for (const ask of asks) {
      const { source, moved, item } = ask;
      let paceMs = 0;
      if (source && moved > 0) {
        paceMs = source.counter.release(source, moved, nowMs);
        source.held -= moved;
      }
      const counter = ask.counter && ask.isOwn ? ask.counter : this.#counters.add(item, isCrowded, nowMs);
      const hold = new Hold(item, counter, ask.amount);
      hold.paceMs = paceMs;
      counter.charge(hold, ask, nowMs + leaseMs, nowMs);
      holds.push(hold);
    }
    return holds;
  }

  /** The counter that took the place of one that was let go. */
  #successor(hold: Hold, nowMs: number): Counter {
    const own = this.#counters.find(hold.item);
    hold.counter = own ?? this.#counters.add(hold.item, this.#counters.isCrowded(1, nowMs), nowMs);
    return hold.counter;
  }

  /** Tells of an overflow once everything is counted: the listener may call the store. */
  #notice(nowMs: number): void {
    if (!this.#counters.takeOverflow()) return;
    const sinceMs = nowMs - this.#noticedAtMs;
    if (!this.#listener || (sinceMs >= 0 && sinceMs < NOTICE_MS)) return;
    this.#noticedAtMs = nowMs;
    const message = `${this.#maxKeys} keys are counted, the most allowed: new ones share counters; raise maxKeys, or look for made-up keys`;
    try {
      this.#listener({ code: 'overflow', message });
    } catch {
      // A listener observes; the reservation is held, whatever it throws.
    }
  }
}

function usedBy(parts: readonly { readonly counter: Counter | undefined }[], nowMs: number): number[] {
  const used: number[] = [];
  for (const { counter } of parts) used.push(counter ? counter.used(nowMs) : 0);
  return used;
}

function shortages(asks: readonly Ask[], nowMs: number): { index: number; waitMs: number }[] | undefined {
  let full: { index: number; waitMs: number }[] | undefined;
  for (let index = 0; index < asks.length; index++) {
    const waitMs = waitOf(asks[index] as Ask, nowMs);
    if (waitMs === FITS) continue;
    full ??= [];
    full.push({ index, waitMs });
  }
  return full;
}

function waitOf(ask: Ask, nowMs: number): number {
  if (ask.need <= 0) return FITS;
  if (!(ask.amount <= ask.item.refuseAt)) return Infinity;
  return ask.counter ? ask.counter.waitMs(ask, nowMs) : FITS;
}
