import { whole } from '../amounts.js';
import type { Full, Held, Item } from '../store.js';
import type { Place, Places } from './places.js';
import { SETTLED_MS } from './scripts.js';

/** A decision of the shared counts, with its place in their history. */
export type Decision = (Held | Full) & {
  /** Grows by one with each change; changes alone have one of their own. */
  readonly seq: number;
};

/** What a settlement or renewal tells of the shared counts. */
export interface Answered {
  readonly seq: number;
  readonly atMs: number;
}

export interface Reserving {
  readonly record: string;
  /** Record that is drawn on. */
  readonly from: string | undefined;
  readonly items: readonly Item[];
  readonly places: readonly Place[];
  readonly leaseMs: number;
  readonly keptMs: number;
  readonly done: (decision: Decision) => void;
  readonly failed: (error: unknown) => void;
}

export interface Settling {
  readonly record: string;
  readonly amounts: readonly number[];
  readonly places: readonly Place[];
  readonly done: (answered: Answered) => void;
  readonly failed: (error: unknown) => void;
}

/** One decision came to nothing, where Redis itself is well. */
export class DecisionFailed extends Error {
  override readonly name = 'DecisionFailed';
}

/** What is decided in one script, together. */
export type Deciding = Reserving | Settling;

/** Keys and list of one script, as `DECIDE` wants them. */
export function encode(decisions: readonly Deciding[], places: Places): { keys: string[]; list: string } {
  const sheet = new Sheet(places);
  for (const decision of decisions) {
    if ('items' in decision) sheet.reserve(decision);
    else sheet.settle(decision);
  }
  return sheet.encoded();
}

/** Numbers the keys of a script as they come. */
class Sheet {
  readonly #places: Places;
  readonly #records = new Map<string, number>();
  readonly #windows = new Map<string, number>();
  readonly #running = new Map<string, number>();
  readonly #calendars = new Map<string, number>();
  readonly #calendarHead: (number | string)[] = [];
  readonly #windowHead: number[] = [];
  readonly #rest: number[] = [];

  constructor(places: Places) {
    this.#places = places;
  }

  reserve({ record, from, items, places, leaseMs, keptMs }: Reserving): void {
    const rest = this.#rest;
    rest.push(0, this.#record(record), from === undefined ? 0 : this.#record(from), leaseMs, keptMs, items.length);
    for (let at = 0; at < items.length; at++) {
      const { amount, limit, refuseAt, paced } = items[at] as Item;
      const isLimited = refuseAt < Infinity;
      rest.push(this.#counter(places[at] as Place), whole(amount), isLimited ? refuseAt : -1, isLimited && paced ? limit : 0);
    }
  }

  settle({ record, amounts, places }: Settling): void {
    const rest = this.#rest;
    rest.push(1, this.#record(record), SETTLED_MS, places.length);
    for (let at = 0; at < places.length; at++) rest.push(this.#counter(places[at] as Place), whole(amounts[at]));
  }

  encoded(): { keys: string[]; list: string } {
    const keys = [this.#places.sequence, ...this.#records.keys(), ...this.#windows.keys(), ...this.#running.keys()];
    const sizes = [this.#records.size, this.#windows.size, this.#calendars.size];
    return { keys, list: JSON.stringify([...sizes, ...this.#calendarHead, ...this.#windowHead, ...this.#rest]) };
  }

  #record(key: string): number {
    const known = this.#records.get(key);
    if (known !== undefined) return known;
    this.#records.set(key, this.#records.size + 1);
    return this.#records.size;
  }

  #counter(place: Place): number {
    const isRunning = place.kind === 'c';
    const numbers = isRunning ? this.#running : this.#windows;
    let number = numbers.get(place.key);
    if (number === undefined) {
      number = numbers.size + 1;
      numbers.set(place.key, number);
      if (!isRunning) this.#windowHead.push(place.kind === 's' ? Number(place.window) : -this.#calendar(place));
    }
    return isRunning ? -number : number;
  }

  #calendar(place: Place): number {
    const known = this.#calendars.get(place.window);
    if (known !== undefined) return known;
    this.#calendars.set(place.window, this.#calendars.size + 1);
    this.#calendarHead.push(place.window, ...this.#places.startsOf(place));
    return this.#calendars.size;
  }
}

/** Tells each who waits for a decision what became of it. */
export function deliver(decisions: readonly Deciding[], answers: readonly unknown[], atMs: number): void {
  decisions.forEach((decision, index) => {
    const answer = answers[index];
    if (!Array.isArray(answer)) decision.failed(new DecisionFailed(String(answer)));
    else if ('items' in decision) decision.done(decisionOf(decision.items.length, answer.map(Number), atMs));
    else decision.done({ seq: Number(answer[1]), atMs });
  });
}

function decisionOf(items: number, answer: readonly number[], atMs: number): Decision {
  const [status, seq] = answer as [number, number];
  const used = answer.slice(2, 2 + items);
  if (status === 1) return { kind: 'held', used, atMs, seq };
  const full: { index: number; waitMs: number }[] = [];
  for (let at = 2 + items; at + 1 < answer.length; at += 2) {
    const waitMs = answer[at + 1] as number;
    full.push({ index: answer[at] as number, waitMs: waitMs < 0 ? Infinity : waitMs });
  }
  return { kind: 'full', full, used, atMs, seq };
}
