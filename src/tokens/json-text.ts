/** JSON text of a value, as far as it was written out. */
export interface JsonText {
  readonly text: string;
  /** Characters that the rest would probably take, judged by what was written of the same lists; 0 when nothing is missing. */
  readonly restLength: number;
}

/** Values written before the rest is only judged: about 5 ms. */
const MOST_VALUES = 20_000;
/** Characters after which strings are cut short, in UTF-16 units, and what is left of them: about 3 ms where all must be escaped. */
const MOST_LENGTH = 524_288;
const LEAST_LENGTH = 32;

/** A list or an object that is being written. */
interface Level {
  readonly item: readonly unknown[] | Readonly<Record<string, unknown>>;
  /** `undefined` for a list. */
  readonly names: readonly string[] | undefined;
  readonly size: number;
  readonly startsAt: number;
  next: number;
}

/**
 * Writes a value as `JSON.stringify` does, without its recursion: no depth overflows the stack, and no size takes long, but
 * for objects with hundreds of thousands of keys: listing them takes half as long as parsing them did. What JSON cannot say is
 * written as `null`, and a `toJSON` is not asked.
 */
export function jsonText(value: unknown): JsonText {
  const levels: Level[] = [];
  let text = '';
  let missing = 0;

  function quoted(given: string): string {
    const left = Math.max(LEAST_LENGTH, MOST_LENGTH - text.length);
    if (given.length <= left) return JSON.stringify(given);
    missing += given.length - left;
    return JSON.stringify(given.slice(0, left));
  }

  function write(item: unknown): void {
    if (typeof item !== 'object' || item === null) {
      text += typeof item === 'string' ? quoted(item) : leafText(item);
      return;
    }
    const names = Array.isArray(item) ? undefined : Object.keys(item);
    const size = names?.length ?? (item as readonly unknown[]).length;
    levels.push({ item: item as Level['item'], names, size, startsAt: text.length, next: 0 });
    text += names ? '{' : '[';
  }

  write(value);
  for (let written = 1; levels.length > 0 && written < MOST_VALUES; ) {
    const level = levels[levels.length - 1] as Level;
    const { item, names, size, next } = level;
    if (next === size) {
      text += names ? '}' : ']';
      levels.pop();
      continue;
    }
    const name = names?.[next] ?? next;
    if (next > 0) text += ',';
    if (names) text += `${quoted(String(name))}:`;
    level.next++;
    written++;
    write((item as Record<string | number, unknown>)[name]);
  }
  return { text, restLength: Math.round(levels.reduce((sum, level) => sum + restOf(level, text.length), missing)) };
}

function leafText(item: unknown): string {
  if (typeof item === 'number') return Number.isFinite(item) ? String(item) : 'null';
  return typeof item === 'boolean' || typeof item === 'bigint' ? String(item) : 'null';
}

const restOf = ({ size, next, startsAt }: Level, writtenLength: number): number =>
  next === 0 ? 0 : ((size - next) * (writtenLength - startsAt)) / next;
