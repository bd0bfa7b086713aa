/** JSON text of a value, as far as it was written out. */
export interface JsonText {
  readonly text: string;
  /** Characters that the rest would probably take, judged by what was written of the same lists; 0 when nothing is missing. */
  readonly restLength: number;
}

/** Values written before the rest is only judged: about 10 ms. */
const MOST_VALUES = 50_000;

interface Level {
  readonly names: readonly string[] | undefined;
  readonly values: readonly unknown[];
  readonly startsAt: number;
  next: number;
}

/**
 * Writes a value as `JSON.stringify` does, without its recursion: no depth overflows the stack, and no size takes long.
 * What JSON cannot say is written as `null`, and a `toJSON` is not asked.
 */
export function jsonText(value: unknown): JsonText {
  const levels: Level[] = [];
  let text = '';

  function write(item: unknown): void {
    if (typeof item !== 'object' || item === null) {
      text += leafText(item);
      return;
    }
    const isList = Array.isArray(item);
    const names = isList ? undefined : Object.keys(item);
    const values = isList ? item : Object.values(item);
    levels.push({ names, values, startsAt: text.length, next: 0 });
    text += isList ? '[' : '{';
  }

  write(value);
  for (let written = 1; levels.length > 0 && written < MOST_VALUES; ) {
    const level = levels[levels.length - 1] as Level;
    const { names, values, next } = level;
    if (next === values.length) {
      text += names ? '}' : ']';
      levels.pop();
      continue;
    }
    if (next > 0) text += ',';
    if (names) text += `${JSON.stringify(names[next])}:`;
    level.next++;
    written++;
    write(values[next]);
  }
  return { text, restLength: Math.round(levels.reduce((sum, level) => sum + restOf(level, text.length), 0)) };
}

function leafText(item: unknown): string {
  if (typeof item === 'string') return JSON.stringify(item);
  if (typeof item === 'number') return Number.isFinite(item) ? String(item) : 'null';
  return typeof item === 'boolean' || typeof item === 'bigint' ? String(item) : 'null';
}

const restOf = ({ values, next, startsAt }: Level, writtenLength: number): number =>
  next === 0 ? 0 : ((values.length - next) * (writtenLength - startsAt)) / next;
