import { SpillwayError } from './errors.js';

/** Deepest nesting of a body that is parsed. */
export const DEEPEST_BODY = 64;
/** Most names of objects in a body that is parsed: an engine takes a third of a microsecond to list each. */
export const MOST_NAMES = 100_000;

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
  let isInString = false;
  for (let index = 0; index < json.length; index++) {
    const unit = isText ? json.charCodeAt(index) : json[index];
    if (isInString) {
      if (unit === BACKSLASH) index++;
      else if (unit === QUOTE) isInString = false;
    } else if (unit === QUOTE) isInString = true;
    else if (unit === OPEN_BRACE || unit === OPEN_BRACKET) {
      if (++depth > DEEPEST_BODY) throw refusal('DEEP', `nests deeper than ${DEEPEST_BODY} levels; send flatter JSON`);
    } else if (unit === CLOSE_BRACE || unit === CLOSE_BRACKET) depth--;
    else if (unit === COLON && ++names > MOST_NAMES) throw refusal('WIDE', `has more than ${MOST_NAMES} names; send fewer`);
  }
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
