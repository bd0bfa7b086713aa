import { createCalendar } from '../budget/calendar.js';
import { CalendarCounter } from './calendar-counter.js';
import { ClockHand } from './clock-hand.js';
import { ConcurrentCounter } from './concurrent-counter.js';
import type { Counter, Part } from './counter.js';
import { SlidingCounter } from './sliding-counter.js';
import type { Item, Window } from './store.js';

/** Overflow counters of one window; limits beyond so many share the last. */
const OVERFLOW_LIMITS = 1_000;
/** Entries looked at for each key that is added, beside one in any case: idle keys leave faster than new ones come. */
const LOOKS_PER_KEY = 2;
const LOOKS_WHEN_CROWDED = 16;

/** One counter, and what it holds. */
export interface Counted {
  readonly counter: string;
  readonly window: Window;
  readonly parts: readonly Part[];
}

/** The counters of one window. */
interface Shelf {
  readonly window: Window;
  readonly counters: Map<string, Counter>;
  readonly hand: ClockHand<Counter>;
  /** Stand in, by limit, for keys that found no room. */
  readonly overflow: Map<number, Counter>;
  create(nowMs: number): Counter;
}

/**
 * Every counter by window and name, `maxKeys` at most. A key that finds no room shares a counter with all others in its
 * place that have its window and limit: too strict for them, but nobody gets round a limit by way of fresh keys.
 */
export class Counters {
  readonly #maxKeys: number;
  readonly #sliding = new Map<number, Shelf>();
  readonly #days = new Map<string, Shelf>();
  readonly #months = new Map<string, Shelf>();
  readonly #concurrent: Shelf;
  readonly #shelves: Shelf[];
  #turn = 0;
  #size = 0;
  #added = 0;
  #overflows = 0;
  #hasOverflowed = false;

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
    this.#concurrent = newShelf({ kind: 'concurrent' }, () => new ConcurrentCounter());
    this.#shelves = [this.#concurrent];
  }

  /** Keys that have a counter of their own. */
  get size(): number {
    return this.#size;
  }

  /** Whether there might be no room for `count` more keys, even after a look for some that can leave. */
  isCrowded(count: number, nowMs: number): boolean {
    if (this.#size + count <= this.#maxKeys) return false;
    this.#look(LOOKS_WHEN_CROWDED, nowMs);
    return this.#size + count > this.#maxKeys;
  }

  /** The key's own counter. */
  find({ counter, window }: Pick<Item, 'counter' | 'window'>): Counter | undefined {
    return this.#shelf(window).counters.get(counter);
  }

  /** The counter that decides about a key without its own, because it is charged there or may have been. */
  standIn({ window, limit }: Item, isCrowded: boolean, nowMs: number): Counter | undefined {
    if (!isCrowded && this.#overflows === 0) return undefined;
    const shelf = this.#shelf(window);
    return isCrowded ? this.#shared(shelf, limit, nowMs) : shelf.overflow.get(groupOf(shelf, limit));
  }

  /** A counter to charge for a key without its own. */
  add({ counter: name, window, limit }: Item, isCrowded: boolean, nowMs: number): Counter {
    const shelf = this.#shelf(window);
    if (isCrowded) {
      this.#hasOverflowed = true;
      return this.#shared(shelf, limit, nowMs);
    }
    // What the key may have charged while it had no counter of its own is not forgiven.
    const counter = shelf.overflow.get(groupOf(shelf, limit))?.copy(nowMs) ?? shelf.create(nowMs);
    shelf.counters.set(name, counter);
    this.#size++;
    this.#added++;
    return counter;
  }

  /** What a counter holds. Without its limit nobody knows where an overflowing key is counted: the fullest place answers. */
  used({ counter, window }: Pick<Item, 'counter' | 'window'>, nowMs: number): number {
    const shelf = this.#shelf(window);
    const own = shelf.counters.get(counter);
    if (own) return own.used(nowMs);
    let used = 0;
    for (const stand of shelf.overflow.values()) used = Math.max(used, stand.used(nowMs));
    return used;
  }

  /** Whether a key found no room since this was last asked. */
  takeOverflow(): boolean {
    const hasOverflowed = this.#hasOverflowed;
    this.#hasOverflowed = false;
    return hasOverflowed;
  }

  /** Everything that is counted under a name of its own, `without` some of it. */
  *all(nowMs: number, without: ReadonlyMap<Counter, ReadonlyMap<number, number>>): Iterable<Counted> {
    for (const { window, counters } of this.#shelves)
      for (const [name, counter] of counters) {
        const marks = without.get(counter);
        const parts = counter
          .parts(nowMs)
          .map(([mark, amount]): Part => [mark, amount - (marks?.get(mark) ?? 0)])
          .filter(([, amount]) => amount > 0);
        if (parts.length > 0) yield { counter: name, window, parts };
      }
  }

  /** Lets a few idle keys go: after each reservation, in proportion to the keys it added. */
  tidy(nowMs: number): void {
    const looks = 1 + LOOKS_PER_KEY * this.#added;
    this.#added = 0;
    this.#look(looks, nowMs);
  }

  #shared(shelf: Shelf, limit: number, nowMs: number): Counter {
    const group = groupOf(shelf, limit);
    const found = shelf.overflow.get(group);
    if (found) return found;
    const counter = shelf.create(nowMs);
    shelf.overflow.set(group, counter);
    this.#overflows++;
    return counter;
  }

  #look(looks: number, nowMs: number): void {
    for (let i = 0; i < looks; i++) {
      const shelf = this.#shelves[this.#turn] as Shelf;
      const entry = shelf.hand.next();
      if (!entry) {
        for (const [limit, counter] of shelf.overflow) {
          if (!counter.isIdle(nowMs)) continue;
          letGo(shelf.overflow, limit, counter);
          this.#overflows--;
        }
        if (!this.#drop(shelf)) this.#turn++;
        if (this.#turn >= this.#shelves.length) this.#turn = 0;
      } else if (entry[1].isIdle(nowMs)) {
        letGo(shelf.counters, entry[0], entry[1]);
        this.#size--;
      }
    }
  }

  /** Lets an empty window go: an application that computes its windows must not leave one behind with each call. */
  #drop({ window, counters, overflow }: Shelf): boolean {
    if (window.kind !== 'sliding' || counters.size > 0 || overflow.size > 0) return false;
    this.#sliding.delete(window.ms);
    this.#shelves.splice(this.#turn, 1);
    return true;
  }

  #shelf(window: Window): Shelf {
    if (window.kind === 'concurrent') return this.#concurrent;
    if (window.kind === 'sliding') {
      const found = this.#sliding.get(window.ms);
      if (found) return found;
      const shelf = newShelf(window, (nowMs) => new SlidingCounter(window.ms, nowMs));
      this.#sliding.set(window.ms, shelf);
      this.#shelves.push(shelf);
      return shelf;
    }
    const shelves = window.unit === 'day' ? this.#days : this.#months;
    const found = shelves.get(window.timeZone);
    if (found) return found;
    const periodAt = createCalendar(window.unit, window.timeZone);
    const shelf = newShelf(window, (nowMs) => new CalendarCounter(periodAt, nowMs));
    shelves.set(window.timeZone, shelf);
    this.#shelves.push(shelf);
    return shelf;
  }
}

function newShelf(window: Window, create: (nowMs: number) => Counter): Shelf {
  const counters = new Map<string, Counter>();
  return { window, counters, hand: new ClockHand(counters), overflow: new Map(), create };
}

/** Limits that came when there were too many already share -1, and stay there while it exists. */
function groupOf({ overflow }: Shelf, limit: number): number {
  return overflow.has(limit) || (overflow.size < OVERFLOW_LIMITS && !overflow.has(-1)) ? limit : -1;
}

function letGo<K>(counters: Map<K, Counter>, key: K, counter: Counter): void {
  counter.isGone = true;
  counters.delete(key);
}
