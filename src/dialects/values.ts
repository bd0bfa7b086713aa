import { checkCopyable } from '../json-shape.js';

/** A JSON object, of whose members nothing is known yet. */
export type Fields = Readonly<Record<string, unknown>>;

/** Largest number of tokens that is believed, whoever says it. */
export const MOST_TOKENS = 10_000_000;
/** Longest model name that is taken, in characters. */
export const LONGEST_MODEL = 256;

/** The value as a JSON object; `undefined` for lists, `null` and everything else. */
export function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

/**
 * An object of a body that is to be copied with changes, in bounded time.
 * @throws SpillwayError `SPILLWAY_BODY_TOO_WIDE`, status 400, when it has too many names
 */
export function copyable(value: unknown): Fields | undefined {
  const fields = fieldsOf(value);
  if (fields) checkCopyable(fields);
  return fields;
}

/** The value as a list; an empty one when it is none. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value as text; empty when it is none. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A model's name of 1 to 256 characters; `undefined` for anything else. */
export function modelOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_MODEL ? value : undefined;
}

/** A whole number from 1 to `most`, rounded down and cut off there; `undefined` for what is not a number of that kind. */
export function maximumOf(value: unknown, most: number): number | undefined {
  const count = countOf(value, most);
  return count === undefined || count < 1 ? undefined : count;
}

/** A whole number from 0 to `most`, rounded down and cut off there; `undefined` for what is not a number of that kind. */
export function countOf(value: unknown, most: number = MOST_TOKENS): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.min(most, Math.floor(value)) : undefined;
}

/** Whether lists and objects lie more than `most` levels inside one another: `JSON.stringify` overflows the stack on such. */
export function nestsDeeper(value: unknown, most: number): boolean {
  let level = new Set([value]);
  for (let depth = 0; depth <= most && level.size > 0; depth++) {
    const next = new Set<unknown>();
    for (const item of level)
      if (typeof item === 'object' && item !== null) for (const member of Object.values(item)) next.add(member);
    level = next;
  }
  return level.size > 0;
}
