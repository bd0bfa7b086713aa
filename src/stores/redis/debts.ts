import { createCalendar, type Period } from '../../budget/calendar.js';
import { SLOTS, slotAt } from '../../budget/ring.js';
import type { Part } from '../counter.js';
import type { Counted } from '../counters.js';
import type { Item } from '../store.js';

/** Most counters whose debts are told apart; what more there are is forgiven, oldest first. */
const MOST_COUNTERS = 100_000;

/** Slots told apart: those inside the window, and as many before they are looked through. */
const MOST_MARKS = 2 * SLOTS;

/** What was spent while the common counts were away, by where it is dated: it is told to them when they are back. */
export class Debts {
  readonly #byCounter = new Map<
    string,
    { readonly item: Pick<Item, 'counter' | 'window'>; readonly parts: Map<number, number> }
  >();
  readonly #calendars = new Map<string, (nowMs: number) => Period>();

  get size(): number {
    return this.#byCounter.size;
  }

  add(items: readonly Item[], amounts: readonly number[], atMs: number): void {
    items.forEach((item, index) => {
      const amount = amounts[index] ?? 0;
      if (item.window.kind === 'concurrent' || !(amount > 0)) return;
      const mark = this.#markOf(item, atMs);
      const { parts } = this.#entryOf(item);
      parts.set(mark, (parts.get(mark) ?? 0) + Math.ceil(amount));
      // An outage may be far longer than a window.
      if (item.window.kind === 'sliding' && parts.size > MOST_MARKS) forgetBefore(parts, mark - SLOTS);
    });
  }

  /** Takes some of it out, to be told in one command. */
  take(most: number): readonly Counted[] {
    const taken: Counted[] = [];
    for (const [name, { item, parts }] of this.#byCounter) {
      if (taken.length >= most) break;
      taken.push({ ...item, parts: [...parts].sort(([a], [b]) => a - b) as readonly Part[] });
      this.#byCounter.delete(name);
    }
    return taken;
  }

  clear(): void {
    this.#byCounter.clear();
  }

  #entryOf({ counter, window }: Item) {
    const name = `${JSON.stringify(window)} ${counter}`;
    let entry = this.#byCounter.get(name);
    if (!entry) {
      if (this.#byCounter.size >= MOST_COUNTERS) this.#byCounter.delete(this.#byCounter.keys().next().value as string);
      entry = { item: { counter, window }, parts: new Map() };
      this.#byCounter.set(name, entry);
    }
    return entry;
  }

  #markOf({ window }: Item, atMs: number): number {
    if (window.kind === 'sliding') return slotAt(atMs, window.ms);
    if (window.kind !== 'calendar') return 0;
    const name = `${window.unit} ${window.timeZone}`;
    const calendar = this.#calendars.get(name) ?? createCalendar(window.unit, window.timeZone);
    this.#calendars.set(name, calendar);
    return calendar(atMs).startMs;
  }
}

function forgetBefore(parts: Map<number, number>, first: number): void {
  for (const mark of parts.keys()) if (mark < first) parts.delete(mark);
}
