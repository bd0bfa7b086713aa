import { createHash } from 'node:crypto';
import {
  ANY_SPACE,
  CASELESS,
  COMBINING,
  kindAt,
  LETTER,
  LINE_BREAK,
  LOWER,
  NUMBER,
  SYMBOL,
  UPPER,
  widthOf,
} from './code-points.js';

/**
 * Where the piece ends that begins at `start`.
 * @param bytes - well-formed UTF-8 whose end no character crosses
 * @param end - where the text ends
 */
export type FindEnd = (bytes: Uint8Array, start: number, end: number) => number;

/** By the beginning of the SHA-256 of the expression that each was written after: another one is not trusted to them. */
const WRITTEN: ReadonlyMap<string, FindEnd> = new Map([
  ['6f88fcc3dd53c515', findEndO200k],
  ['aab5f2624d4f164e', findEndCl100k],
  ['eeb55ba74cc544ae', findEndOlder],
]);

/** The scanner that cuts text as this expression does, many times as fast; `undefined`: there is none. */
export function scannerFor(expression: string): FindEnd | undefined {
  return WRITTEN.get(createHash('sha256').update(expression).digest('hex').slice(0, 16));
}

const WORD = LETTER | COMBINING;
const CAPITALS = UPPER | CASELESS | COMBINING;
const SMALL = LOWER | CASELESS | COMBINING;
const MARK = SYMBOL | COMBINING;

const NEWLINE_BYTE = 10;
const RETURN_BYTE = 13;
const SPACE_BYTE = 32;
const APOSTROPHE = 39;
const SLASH = 47;
const TO_LOWER = 32;

function findEndO200k(bytes: Uint8Array, start: number, end: number): number {
  const first = kindAt(bytes, start);
  if (first & LETTER) return afterContraction(bytes, endOfCasedWord(bytes, start, end), end);
  if (first & NUMBER) return endOfNumbers(bytes, start, end);
  const second = start + widthOf(bytes[start] as number);
  const next = second < end ? kindAt(bytes, second) : 0;
  if (first & COMBINING) {
    if (!(next & WORD) || isCapitalsOnly(bytes, second, end)) return afterContraction(bytes, second, end);
    return afterContraction(bytes, endOfCasedWord(bytes, second, end), end);
  }
  if (next & WORD && !(first & LINE_BREAK)) return afterContraction(bytes, endOfCasedWord(bytes, second, end), end);
  if (first & SYMBOL) return endOfMarks(bytes, start, end, true);
  if (next & SYMBOL && bytes[start] === SPACE_BYTE) return endOfMarks(bytes, second, end, true);
  return endOfSpace(bytes, start, end);
}

function findEndCl100k(bytes: Uint8Array, start: number, end: number): number {
  const first = kindAt(bytes, start);
  if (first & LETTER) return endOfRun(bytes, start, end, LETTER);
  if (first & NUMBER) return endOfNumbers(bytes, start, end);
  const contraction = afterContraction(bytes, start, end);
  if (contraction > start) return contraction;
  const second = start + widthOf(bytes[start] as number);
  const next = second < end ? kindAt(bytes, second) : 0;
  if (next & LETTER && !(first & LINE_BREAK)) return endOfRun(bytes, second, end, LETTER);
  if (first & MARK) return endOfMarks(bytes, start, end, false);
  if (next & MARK && bytes[start] === SPACE_BYTE) return endOfMarks(bytes, second, end, false);
  return endOfSpace(bytes, start, end);
}

/** Of p50k_base and r50k_base. */
function findEndOlder(bytes: Uint8Array, start: number, end: number): number {
  const contraction = isSmallContraction(bytes, start, end) ? afterContraction(bytes, start, end) : start;
  if (contraction > start) return contraction;
  const second = start + 1;
  const from = bytes[start] === SPACE_BYTE && second < end && !(kindAt(bytes, second) & ANY_SPACE) ? second : start;
  const kind = kindAt(bytes, from);
  if (kind & LETTER) return endOfRun(bytes, from, end, LETTER);
  if (kind & NUMBER) return endOfRun(bytes, from, end, NUMBER);
  return kind & MARK ? endOfRun(bytes, from, end, MARK) : endOfBlank(bytes, start, end);
}

/** After all following characters of these kinds. */
function endOfRun(bytes: Uint8Array, start: number, end: number, kinds: number): number {
  let at = start;
  while (at < end && kindAt(bytes, at) & kinds) at += widthOf(bytes[at] as number);
  return at;
}

/**
 * Capitals, then small letters; letters without case and combining marks are both. Where no small letter follows, the word ends after
 * the last that is both, or with its capitals if none is.
 */
function endOfCasedWord(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  let afterBoth = -1;
  for (; at < end; ) {
    const kind = kindAt(bytes, at);
    if (!(kind & CAPITALS)) {
      if (kind & LOWER) return endOfRun(bytes, at, end, SMALL);
      break;
    }
    at += widthOf(bytes[at] as number);
    if (kind !== UPPER) afterBoth = at;
  }
  return afterBoth < 0 ? at : afterBoth;
}

/** Whether capitals begin here that no small letter, mark or letter without case follows. */
function isCapitalsOnly(bytes: Uint8Array, start: number, end: number): boolean {
  const at = endOfRun(bytes, start, end, UPPER);
  return at > start && !(at < end && kindAt(bytes, at) & SMALL);
}

/** After `'s`, `'t`, `'m`, `'d`, `'re`, `'ve` and `'ll` in any case; `start` itself when there is none. */
function afterContraction(bytes: Uint8Array, start: number, end: number): number {
  if (start + 1 >= end || bytes[start] !== APOSTROPHE) return start;
  // No byte but the two letters gives theirs with that bit set.
  const first = (bytes[start + 1] as number) | TO_LOWER;
  if (first === 0x73 || first === 0x74 || first === 0x6d || first === 0x64) return start + 2;
  if (start + 2 >= end) return start;
  const second = (bytes[start + 2] as number) | TO_LOWER;
  const isPair = ((first === 0x72 || first === 0x76) && second === 0x65) || (first === 0x6c && second === 0x6c);
  return isPair ? start + 3 : start;
}

function isSmallContraction(bytes: Uint8Array, start: number, end: number): boolean {
  const after = afterContraction(bytes, start, end);
  for (let at = start + 1; at < after; at++) if (!((bytes[at] as number) & TO_LOWER)) return false;
  return after > start;
}

/** Three at most. */
function endOfNumbers(bytes: Uint8Array, start: number, end: number): number {
  let at = start + widthOf(bytes[start] as number);
  for (let more = 0; more < 2 && at < end && kindAt(bytes, at) & NUMBER; more++) at += widthOf(bytes[at] as number);
  return at;
}

/** Marks and the line breaks that follow them. */
function endOfMarks(bytes: Uint8Array, start: number, end: number, areSlashesBreaks: boolean): number {
  let at = endOfRun(bytes, start, end, MARK);
  for (; at < end; at++) {
    const byte = bytes[at];
    if (byte !== NEWLINE_BYTE && byte !== RETURN_BYTE && !(areSlashesBreaks && byte === SLASH)) break;
  }
  return at;
}

/** To its last line break, if it has one. */
function endOfSpace(bytes: Uint8Array, start: number, end: number): number {
  let afterBreak = -1;
  for (let at = start; at < end; at += widthOf(bytes[at] as number)) {
    const kind = kindAt(bytes, at);
    if (!(kind & ANY_SPACE)) break;
    if (kind === LINE_BREAK) afterBreak = at + 1;
  }
  return afterBreak < 0 ? endOfBlank(bytes, start, end) : afterBreak;
}

/** To the end of the text, or to before the last space, which goes with what follows. */
function endOfBlank(bytes: Uint8Array, start: number, end: number): number {
  let last = start;
  let at = start;
  for (; at < end && kindAt(bytes, at) & ANY_SPACE; at += widthOf(bytes[at] as number)) last = at;
  return at < end && last > start ? last : at;
}
