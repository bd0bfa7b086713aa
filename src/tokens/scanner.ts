import { createHash } from 'node:crypto';

/**
 * Where the piece of a text ends that begins at `start`; -1: only the expression knows, because of characters beyond ASCII.
 * @param units - the text's UTF-16 units
 * @param end - where the text ends
 */
export type FindEnd = (units: Uint16Array, start: number, end: number) => number;

/** By the beginning of the SHA-256 of the expression whose ASCII cases were written by hand: another one is not trusted to them. */
const WRITTEN: ReadonlyMap<string, FindEnd> = new Map([
  ['6f88fcc3dd53c515', findEndO200k],
  ['aab5f2624d4f164e', findEndCl100k],
]);

/** The hand-written scanner that cuts ASCII text as this expression does, several times as fast; `undefined`: there is none. */
export function scannerFor(expression: string): FindEnd | undefined {
  return WRITTEN.get(createHash('sha256').update(expression).digest('hex').slice(0, 16));
}

const MARK = 0;
const UPPER = 1;
const LOWER = 2;
const DIGIT = 3;
const SPACE = 4;
const LINE_BREAK = 5;
const FOREIGN = 6;

/** What each UTF-16 unit is to the expressions: those above ASCII are foreign, and there is one place for all of them. */
const CLASSES = new Uint8Array(129).map((_, unit) => {
  if (unit === 128) return FOREIGN;
  const character = String.fromCharCode(unit);
  if (/[A-Z]/.test(character)) return UPPER;
  if (/[a-z]/.test(character)) return LOWER;
  if (/[0-9]/.test(character)) return DIGIT;
  if (/[\r\n]/.test(character)) return LINE_BREAK;
  return /\s/.test(character) ? SPACE : MARK;
});

function classOf(units: Uint16Array, at: number): number {
  return CLASSES[Math.min(units[at] as number, 128)] as number;
}

const SPACE_UNIT = 32;
const APOSTROPHE = 39;
const SLASH = 47;
const TO_LOWER = 32;

function findEndO200k(units: Uint16Array, start: number, end: number): number {
  const first = classOf(units, start);
  if (first === UPPER || first === LOWER) return endOfCasedWord(units, start, end);
  if (first === DIGIT) return endOfDigits(units, start, end);
  if (first === FOREIGN) return -1;
  if (first !== LINE_BREAK && start + 1 < end) {
    const second = classOf(units, start + 1);
    if (second === UPPER || second === LOWER) return endOfCasedWord(units, start + 1, end);
    if (second === FOREIGN) return -1;
  }
  return endOfOther(units, start, end, first, true);
}

function findEndCl100k(units: Uint16Array, start: number, end: number): number {
  const first = classOf(units, start);
  if (first === UPPER || first === LOWER) return endOfWord(units, start, end);
  if (first === DIGIT) return endOfDigits(units, start, end);
  if (first === FOREIGN) return -1;
  if (units[start] === APOSTROPHE) {
    const after = endOfContraction(units, start, end);
    if (after > start) return after;
  }
  if (first !== LINE_BREAK && start + 1 < end) {
    const second = classOf(units, start + 1);
    if (second === UPPER || second === LOWER) return endOfWord(units, start + 1, end);
    if (second === FOREIGN) return -1;
  }
  return endOfOther(units, start, end, first, false);
}

/** Capitals, then small letters, then perhaps a contraction. */
function endOfCasedWord(units: Uint16Array, start: number, end: number): number {
  let at = start;
  let kind = UPPER;
  for (; at < end; at++) {
    const next = classOf(units, at);
    if (next === FOREIGN) return -1;
    if (next === LOWER) kind = LOWER;
    else if (next !== UPPER || kind === LOWER) break;
  }
  return at < end && units[at] === APOSTROPHE ? endOfContraction(units, at, end) : at;
}

function endOfWord(units: Uint16Array, start: number, end: number): number {
  for (let at = start; at < end; at++) {
    const next = classOf(units, at);
    if (next === FOREIGN) return -1;
    if (next !== UPPER && next !== LOWER) return at;
  }
  return end;
}

/** After `'s`, `'t`, `'m`, `'d`, `'re`, `'ve` and `'ll` in any case; `start` itself when there is none. */
function endOfContraction(units: Uint16Array, start: number, end: number): number {
  if (start + 1 >= end) return start;
  const first = (units[start + 1] as number) | TO_LOWER;
  // No unit but the two letters gives theirs with that bit set, as long as it is one of ASCII.
  if ((units[start + 1] as number) > 0x7f) return start;
  if (first === 0x73 || first === 0x74 || first === 0x6d || first === 0x64) return start + 2;
  if (start + 2 >= end || (units[start + 2] as number) > 0x7f) return start;
  const second = (units[start + 2] as number) | TO_LOWER;
  const isPair = ((first === 0x72 || first === 0x76) && second === 0x65) || (first === 0x6c && second === 0x6c);
  return isPair ? start + 3 : start;
}

/** Three at most. */
function endOfDigits(units: Uint16Array, start: number, end: number): number {
  for (let at = start + 1; at < start + 3; at++) {
    if (at >= end) return at;
    const next = classOf(units, at);
    if (next === FOREIGN) return -1;
    if (next !== DIGIT) return at;
  }
  return start + 3;
}

/** Marks with a space before them and line breaks after them, or white space. */
function endOfOther(units: Uint16Array, start: number, end: number, first: number, takesSlashes: boolean): number {
  let at = units[start] === SPACE_UNIT ? start + 1 : start;
  if (at < end && classOf(units, at) === MARK) {
    while (at < end && classOf(units, at) === MARK) at++;
    if (at < end && classOf(units, at) === FOREIGN) return -1;
    while (at < end && (classOf(units, at) === LINE_BREAK || (takesSlashes && units[at] === SLASH))) at++;
    return at;
  }
  return first === MARK ? -1 : endOfSpace(units, start, end);
}

/** To its last line break; else to the end of the text, or to before the last space, which goes with what follows. */
function endOfSpace(units: Uint16Array, start: number, end: number): number {
  let afterBreak = -1;
  let at = start;
  for (; at < end; at++) {
    const next = classOf(units, at);
    if (next === LINE_BREAK) afterBreak = at + 1;
    else if (next === FOREIGN) return -1;
    else if (next !== SPACE) break;
  }
  if (afterBreak >= 0) return afterBreak;
  return at < end && at - start > 1 ? at - 1 : at;
}
