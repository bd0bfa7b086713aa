import type { Charge } from '../call.js';

/** Where somebody stands: runs of visits that already passed come first, then whoever came first. */
export interface Place {
  readonly hasPassed: boolean;
  /** Counts up with each arrival; `Infinity`: has yet to come. */
  readonly arrival: number;
}

export function isBefore(a: Place, b: Place): boolean {
  return a.hasPassed === b.hasPassed ? a.arrival < b.arrival : a.hasPassed;
}

/** A line for each counter that somebody waits for: whoever frees a counter looks at the head of its line and at nobody else. */
export interface Places<W extends Place> {
  /** Takes a place in the line of each charge's counter, with the amount that is wanted there. */
  take(waiter: W, charges: readonly Charge[]): void;
  /** Leaves these lines. @returns the counters of those that the waiter was at the head of */
  leave(waiter: W, charges: readonly Charge[]): readonly string[];
  head(counter: string): W | undefined;
  /** What those before `place` want of a counter. */
  amountBefore(counter: string, place: Place): number;
}

interface Taken<W> {
  readonly waiter: W;
  readonly amount: number;
}

interface Line<W> {
  readonly places: Taken<W>[];
  amount: number;
}

export function createPlaces<W extends Place>(): Places<W> {
  const lines = new Map<string, Line<W>>();

  return {
    take(waiter, charges) {
      for (const { counter, amount } of charges) {
        const line = lines.get(counter) ?? { places: [], amount: 0 };
        lines.set(counter, line);
        line.places.splice(placeOf(waiter, line.places), 0, { waiter, amount });
        line.amount += amount;
      }
    },
    leave(waiter, charges) {
      const led: string[] = [];
      for (const { counter } of charges) {
        const line = lines.get(counter) as Line<W>;
        const index = line.places.findIndex((place) => place.waiter === waiter);
        const [left] = line.places.splice(index, 1);
        line.amount -= left?.amount ?? 0;
        if (index === 0) led.push(counter);
        if (line.places.length === 0) lines.delete(counter);
      }
      return led;
    },
    head: (counter) => lines.get(counter)?.places[0]?.waiter,
    amountBefore(counter, place) {
      const line = lines.get(counter);
      if (!line) return 0;
      if (!place.hasPassed && place.arrival === Infinity) return line.amount;
      let amount = 0;
      for (const { waiter, amount: wanted } of line.places) {
        if (!isBefore(waiter, place)) break;
        amount += wanted;
      }
      return amount;
    },
  };
}

/** Where in line somebody belongs: before the first that comes after. */
function placeOf(place: Place, places: readonly Taken<Place>[]): number {
  let [from, to] = [0, places.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (isBefore(place, (places[middle] as Taken<Place>).waiter)) to = middle;
    else from = middle + 1;
  }
  return from;
}
