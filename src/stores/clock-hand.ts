/**
 * Goes round and round a map, an entry at a time: whoever uses the map looks at a few entries with each operation, and what
 * is no longer needed leaves without any timer and without any operation that takes long.
 */
export class ClockHand<V> {
  readonly #map: Map<string, V>;
  #round: MapIterator<[string, V]> | undefined;

  constructor(map: Map<string, V>) {
    this.#map = map;
  }

  /** The next entry; `undefined` once at the end of each round. */
  next(): [string, V] | undefined {
    this.#round ??= this.#map.entries();
    const { value, done } = this.#round.next();
    if (!done) return value;
    this.#round = undefined;
    return undefined;
  }
}
