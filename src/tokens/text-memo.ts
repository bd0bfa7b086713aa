import { type BoundedMap, createBoundedMap } from '../cache/bounded-map.js';

/** Values of texts, within a number of bytes; what was not asked for longest is forgotten first. */
export interface TextMemo<V> {
  get(text: string): V | undefined;
  set(text: string, value: V): void;
}

/** What an entry takes beside its text, in bytes. */
const ENTRY_BYTES = 256;
/** Of its beginning, its middle and its end this much is the key. In UTF-16 units. */
const SAMPLE = 16;

interface Entry<V> {
  readonly text: string;
  readonly value: V;
}

/**
 * Engines hash every character of a key, and of the longest strings (V8: over 16,383 characters) the length alone, so that all texts
 * of one length are compared with each other. Here a text's length and a few stretches are its key, and one comparison tells whether
 * it is the same: a tenth of the time for 1,000 characters, and never more. Texts that share a key take each other's place.
 */
export function createTextMemo<V>(maxBytes: number): TextMemo<V> {
  const entries: BoundedMap<Entry<V>> = createBoundedMap({ maxBytes, sizeOf: ({ text }) => text.length * 2 + ENTRY_BYTES });

  return {
    get(text) {
      const entry = entries.get(keyOf(text));
      return entry?.text === text ? entry.value : undefined;
    },
    set: (text, value) => entries.set(keyOf(text), { text, value }),
  };
}

function keyOf(text: string): string {
  const { length } = text;
  const middle = length >> 1;
  return `${length} ${text.slice(0, SAMPLE)}${text.slice(middle, middle + SAMPLE)}${text.slice(-SAMPLE)}`;
}
