import { LRUCache } from 'lru-cache';

/** A map that forgets what has been unused for longest once its entries together pass a number of bytes. */
export interface BoundedMap<V> {
  /** The value; asking for it makes it the last to be forgotten. */
  get(key: string): V | undefined;
  /** Keeps a value in place of an earlier one of this key. One larger than the whole map is not kept at all. */
  set(key: string, value: V): void;
  delete(key: string): void;
  clear(): void;
  /** All values, the last to be forgotten first; they stay where they are. */
  values(): Iterable<V>;
  /** How many entries there are. */
  readonly size: number;
  /** What the entries take together, by `sizeOf`. */
  readonly bytes: number;
}

export interface BoundedMapOptions<V> {
  /** A whole number above 0. */
  readonly maxBytes: number;
  /** Bytes of an entry, asked once when it is set; less than 1 counts as 1, so that empty values are bounded too. */
  readonly sizeOf: (value: V, key: string) => number;
}

export function createBoundedMap<V extends {}>({ maxBytes, sizeOf }: BoundedMapOptions<V>): BoundedMap<V> {
  const entries = new LRUCache<string, V>({
    maxSize: maxBytes,
    sizeCalculation: (value, key) => Math.max(1, Math.ceil(sizeOf(value, key)) || 1),
  });

  return {
    get: (key) => entries.get(key),
    set: (key, value) => void entries.set(key, value),
    delete: (key) => void entries.delete(key),
    clear: () => entries.clear(),
    values: () => entries.values(),
    get size() {
      return entries.size;
    },
    get bytes() {
      return entries.calculatedSize;
    },
  };
}
