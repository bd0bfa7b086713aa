import { SpillwayError } from './errors.js';

/** Deepest nesting of a body that is parsed. */
export const DEEPEST_BODY = 64;
/** Most names of objects in a body that is parsed: an engine takes up to a third of a microsecond to list each. */
export const MOST_NAMES = 100_000;
/** Most names of an object that is copied so that one of them may change: copying takes up to a microsecond for each. */
export const MOST_COPIED_NAMES = 5_000;

/**
 * Refuses JSON that nests deeper than {@link DEEPEST_BODY} or has more than {@link MOST_NAMES} names, before it is parsed: whatever
 * walks it later may recurse, and listing so many names blocks.
 * @param json - text, or its bytes in UTF-8
 * @throws {@link SpillwayError} `SPILLWAY_BODY_TOO_DEEP` or `SPILLWAY_BODY_TOO_WIDE`, status 400
 */
export function checkShape(json: Uint8Array | string): void {
  const isText = typeof json === 'string';
  let depth = 0;
  let names = 0;
  for (let index = 0; index < json.length; index++) {
    const unit = isText ? json.charCodeAt(index) : json[index];
    if (unit === QUOTE) index = endOfString(json, index);
    else if (unit === OPEN_BRACE || unit === OPEN_BRACKET) {
      if (++depth > DEEPEST_BODY) throw refusal('DEEP', `nests deeper than ${DEEPEST_BODY} levels; send flatter JSON`);
    } else if (unit === CLOSE_BRACE || unit === CLOSE_BRACKET) depth--;
    else if (unit === COLON && ++names > MOST_NAMES) throw refusal('WIDE', `has more than ${MOST_NAMES} names; send fewer`);
  }
}

/** Stretch of a string that is gone through unit by unit before the next quote is searched for, which pays in long ones only. */
const SHORT_STRETCH = 48;

/** Where the string ends that begins there: at its closing quote, or at the end of the text where it has none. */
function endOfString(json: Uint8Array | string, start: number): number {
  const isText = typeof json === 'string';
  let index = start + 1;
  for (let searchAt = index + SHORT_STRETCH; index < json.length; index++) {
    if (index >= searchAt) {
      const quote = isText ? json.indexOf('"', index) : json.indexOf(QUOTE, index);
      if (quote < 0) return json.length;
      // Whether a quote is escaped is told by the backslashes before it: none of those gone through already.
      let backslashes = 0;
      while (quote - backslashes > index && unitAt(json, quote - backslashes - 1) === BACKSLASH) backslashes++;
      if (backslashes % 2 === 0) return quote;
      index = quote;
      searchAt = index + SHORT_STRETCH;
      continue;
    }
    const unit = unitAt(json, index);
    if (unit === BACKSLASH) index++;
    else if (unit === QUOTE) return index;
  }
  return json.length;
}

const unitAt = (json: Uint8Array | string, index: number): number | undefined =>
  typeof json === 'string' ? json.charCodeAt(index) : json[index];

/** How many names objects had that turned out to have too many. */
const widths = new WeakMap<object, number>();

/**
 * The names of an object; `undefined` when it has more than `most`. Bodies with hundreds of thousands of them come from parsers of the
 * application alone, and JavaScript has no way to find out how many names an object has but to list them all: a tenth to a quarter of a
 * microsecond for each, half of what parsing them took. So that this happens once, it is remembered of which objects there is no hope.
 */
export function namesWithin(fields: object, most: number): string[] | undefined {
  if ((widths.get(fields) ?? 0) > most) return undefined;
  const names = Object.keys(fields);
  if (names.length <= most) return names;
  widths.set(fields, names.length);
  return undefined;
}

/**
 * Refuses to have an object copied that has more than {@link MOST_COPIED_NAMES} names.
 * @throws {@link SpillwayError} `SPILLWAY_BODY_TOO_WIDE`, status 400
 */
export function checkCopyable(fields: object): void {
  if (!namesWithin(fields, MOST_COPIED_NAMES))
    throw refusal('WIDE', `has an object of more than ${MOST_COPIED_NAMES} names where one of them must change; send fewer`);
}

function refusal(kind: 'DEEP' | 'WIDE', fault: string): SpillwayError {
  return new SpillwayError(`SPILLWAY_BODY_TOO_${kind}`, `the body ${fault}`, { status: 400 });
}

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
