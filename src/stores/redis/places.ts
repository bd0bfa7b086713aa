import { createCalendar, type Period } from '../../budget/calendar.js';
import { slotAt } from '../../budget/ring.js';
import { encodeKey } from '../../identity.js';
import type { Item, Window } from '../store.js';

/** Where an item is counted, as keys and scripts know it. */
export interface Place {
  readonly key: string;
  /** A sliding window, a calendar, or what is running. */
  readonly kind: 's' | 'd' | 'c';
  /** Milliseconds, unit and time zone, or nothing. */
  readonly window: string;
}

/** Previous, current and three later starts of the periods around the server's present. */
export type Starts = readonly [number, number, number, number, number];

/** Where everything is in Redis, and which periods of calendars are now. */
export class Places {
  /** Names the hash tag that all keys share. */
  readonly tag: string;
  readonly sequence: string;
  /** The server's time as far as it is known, epoch milliseconds. */
  readonly #nowMs: () => number;
  readonly #kinds = new WeakMap<Window, Omit<Place, 'key'> & { readonly keyStart: string }>();
  readonly #calendars = new Map<string, (nowMs: number) => Period>();
  readonly #periods = new Map<string, { readonly startMs: number; readonly endMs: number; readonly starts: Starts }>();

  constructor(prefix: string, nowMs: () => number) {
    this.tag = `{${encodeKey(prefix)}}`;
    this.sequence = `${this.tag}q`;
    this.#nowMs = nowMs;
  }

  record(id: string): string {
    return `${this.tag}r:${encodeKey(id)}`;
  }

  of({ counter, window }: Pick<Item, 'counter' | 'window'>): Place {
    const known = this.#kinds.get(window) ?? this.#look(window);
    return { key: known.keyStart + counter, kind: known.kind, window: known.window };
  }

  /** What records call it: its key without the hash tag. */
  named(name: string): Place {
    const window = name.slice(1, name.indexOf(':')).replaceAll(';', ':');
    return { key: this.tag + name, kind: name.charAt(0) as Place['kind'], window };
  }

  /** Where an item that was decided at `atMs` is dated. */
  markOf(place: Place, atMs: number): number {
    if (place.kind === 'c') return 0;
    return place.kind === 's' ? slotAt(atMs, Number(place.window)) : this.#calendarOf(place)(atMs).startMs;
  }

  /** Found once for each period: that is slow. */
  startsOf(place: Place): Starts {
    const nowMs = this.#nowMs();
    const known = this.#periods.get(place.window);
    if (known && nowMs >= known.startMs && nowMs < known.endMs) return known.starts;
    const calendar = this.#calendarOf(place);
    const { previousMs, startMs, endMs } = calendar(nowMs);
    const second = calendar(endMs).endMs;
    const third = calendar(second).endMs;
    // The calendar remembers one period: the present one is asked for again.
    calendar(startMs);
    const starts: Starts = [previousMs, startMs, endMs, second, third];
    this.#periods.set(place.window, { startMs, endMs, starts });
    return starts;
  }

  #look(window: Window) {
    const [kind, name] = windowName(window);
    const found = { kind, window: name, keyStart: `${this.tag}${kind}${name.replaceAll(':', ';')}:` };
    this.#kinds.set(window, found);
    return found;
  }

  #calendarOf({ window }: Place): (nowMs: number) => Period {
    let calendar = this.#calendars.get(window);
    if (!calendar) {
      const [unit, timeZone] = window.split('@', 2) as ['day' | 'month', string];
      calendar = createCalendar(unit, timeZone);
      this.#calendars.set(window, calendar);
    }
    return calendar;
  }
}

function windowName(window: Window): [Place['kind'], string] {
  switch (window.kind) {
    case 'sliding':
      return ['s', String(window.ms)];
    case 'calendar':
      return ['d', `${window.unit}@${window.timeZone}`];
    case 'concurrent':
      return ['c', ''];
    default:
      return window satisfies never;
  }
}
