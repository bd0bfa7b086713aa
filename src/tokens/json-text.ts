import { type Blocks, spread } from './blocks.js';

/** JSON text of a value, as far as it was written out. */
export interface JsonText {
  readonly text: string;
  /** Characters that the rest would probably take, judged by what was written of the same lists; 0 when nothing is missing. */
  readonly restLength: number;
}

/** How much may still be written of one body, by whichever of its parts comes first. */
export interface JsonLeft {
  values: number;
  /** Names that may still be listed: an engine lists all names of an object or none. */
  names: number;
  /** In UTF-16 units. */
  length: number;
  /** Parts that are still to come, as far as they are known, and the values that are kept for each of these. */
  parts: number;
  readonly valuesOfEach: number;
  /** What was asked for so far: how often, and how long it is or probably is. */
  readonly seen: { count: number; length: number };
}

/** Values written before the rest is only judged: about 3 ms. */
const MOST_VALUES = 12_000;
/** Names listed: about 3 ms, beside those of one object more, of which nobody knows before how many names it has. */
const MOST_NAMES = 20_000;
/** Characters after which strings are cut short, in UTF-16 units, and what is left of them: about 3 ms where all must be escaped. */
const MOST_LENGTH = 524_288;
const LEAST_LENGTH = 32;
/** Values that are kept for each part at most: enough to see what it is like. */
const KEPT_VALUES = 64;
/** What is not looked at counts as long as this where nothing else was looked at, and a member of an object, in UTF-16 units. */
const UNSEEN_LENGTH = 64;
const UNSEEN_MEMBER_LENGTH = 16;

/** @param parts - values of the body that are to be written, as far as that is known */
export function createJsonLeft(parts = 1): JsonLeft {
  return {
    values: MOST_VALUES,
    names: MOST_NAMES,
    length: MOST_LENGTH,
    parts,
    valuesOfEach: Math.min(KEPT_VALUES, Math.floor(MOST_VALUES / 2 / Math.max(1, parts))),
    seen: { count: 0, length: 0 },
  };
}

/** A list or an object that is being written. */
interface Level {
  readonly item: readonly unknown[] | Readonly<Record<string, unknown>>;
  /** `undefined` for a list. */
  readonly names: readonly string[] | undefined;
  /** Of what is too long to be written whole: members from all over it. */
  readonly sample: Blocks | undefined;
  readonly size: number;
  readonly startsAt: number;
  next: number;
}

/**
 * Writes a value as `JSON.stringify` does, without its recursion: no depth overflows the stack, and no size takes long, but
 * for objects with hundreds of thousands of keys: listing them takes half as long as parsing them did, whoever does it. What JSON
 * cannot say is written as `null`, and a `toJSON` is not asked.
 * @param left - shared by all that is written of one body
 */
export function jsonText(value: unknown, left: JsonLeft = createJsonLeft()): JsonText {
  const written = writeWithin(value, left);
  left.seen.count++;
  left.seen.length += written.text.length + written.restLength;
  return written;
}

function writeWithin(value: unknown, left: JsonLeft): JsonText {
  const levels: Level[] = [];
  let text = '';
  let missing = 0;
  left.parts--;
  const kept = Math.max(0, left.parts) * left.valuesOfEach;
  const unseen = left.seen.count > 0 ? left.seen.length / left.seen.count : UNSEEN_LENGTH;

  function quoted(given: string): string {
    const most = Math.max(LEAST_LENGTH, left.length);
    const shown = given.length <= most ? given : given.slice(0, most);
    missing += given.length - shown.length;
    left.length -= shown.length;
    return JSON.stringify(shown);
  }

  function write(item: unknown): void {
    left.values--;
    if (typeof item !== 'object' || item === null) {
      text += typeof item === 'string' ? quoted(item) : leafText(item);
      return;
    }
    const isList = Array.isArray(item);
    if (!isList && left.names <= 0) {
      text += '{}';
      missing += Math.max(1, unseen - 2);
      return;
    }
    const names = isList ? undefined : Object.keys(item);
    const size = names?.length ?? (item as readonly unknown[]).length;
    if (names) left.names -= size;
    const sample = size > left.values - kept ? spread(size) : undefined;
    levels.push({ item: item as Level['item'], names, sample, size, startsAt: text.length, next: 0 });
    text += names ? '{' : '[';
  }

  write(value);
  while (levels.length > 0 && left.values > kept) {
    const level = levels[levels.length - 1] as Level;
    const { item, names, sample, size, next } = level;
    if (next === size) {
      text += names ? '}' : ']';
      levels.pop();
      continue;
    }
    const at = sample ? sample.next() : next;
    const name = names?.[at] ?? at;
    if (next > 0) text += ',';
    if (names) text += `${quoted(String(name))}:`;
    level.next++;
    write((item as Record<string | number, unknown>)[name]);
  }
  const rest = levels.reduce((sum, level) => sum + restOf(level, text.length, unseen), missing);
  // Something is missing of what was not closed, however short it is.
  return { text, restLength: Math.max(Math.min(1, levels.length), Math.round(rest)) };
}

function leafText(item: unknown): string {
  if (typeof item === 'number') return Number.isFinite(item) ? String(item) : 'null';
  return typeof item === 'boolean' || typeof item === 'bigint' ? String(item) : 'null';
}

/** @param unseen - length of an item of a list of which nothing was written */
function restOf({ size, next, startsAt, names }: Level, writtenLength: number, unseen: number): number {
  if (next === 0) return size * (names ? UNSEEN_MEMBER_LENGTH : unseen);
  return ((size - next) * (writtenLength - startsAt)) / next;
}
