/** What a code point is to the expressions that cut text into pieces; each a bit, so that sets of them are one number. */
export const UPPER = 1;
export const LOWER = 2;
/** Letters without case: Han, kana, modifiers. */
export const CASELESS = 4;
/** Marks that join the letter before. */
export const COMBINING = 8;
export const NUMBER = 16;
export const SPACE = 32;
export const LINE_BREAK = 64;
export const SYMBOL = 128;
export const LETTER = UPPER | LOWER | CASELESS;
export const ANY_SPACE = SPACE | LINE_BREAK;

const EXPRESSIONS: readonly (readonly [kind: number, runs: RegExp])[] = [
  [UPPER, /[\p{Lu}\p{Lt}]+/gu],
  [LOWER, /\p{Ll}+/gu],
  [CASELESS, /[\p{Lm}\p{Lo}]+/gu],
  [COMBINING, /\p{M}+/gu],
  [NUMBER, /\p{N}+/gu],
  [SPACE, /\s+/gu],
  [LINE_BREAK, /[\r\n]+/gu],
];

/**
 * By code point; 1.1 MB of which unused pages take no memory. What has no letters, marks, numbers or spaces stays a symbol: planes
 * that are unassigned, private or for surrogates alone.
 */
const KINDS = new Uint8Array(0x110000).fill(SYMBOL);
const PAGE = 1_024;
/** Han and Hangul fill most pages. */
const CASELESS_PAGE = /^\p{Lo}+$/u;
/** Planes 4 to 13, 15 and 16 are unassigned or private. */
const ASSIGNED: readonly (readonly [first: number, end: number])[] = [
  [0, 0xd800],
  [0xe000, 0x40000],
  [0xe0000, 0xe1000],
];

let reading: Promise<void> | undefined;

/**
 * Reads the kinds of all code points from the regular expressions of this very engine, once in a process: about 40 ms in all, at most
 * 2 ms at a time. Until then everything is a symbol.
 * @param nextTurn - lets other work go first
 */
export function readKinds(nextTurn: () => Promise<void>): Promise<void> {
  reading ??= readPages(nextTurn);
  return reading;
}

async function readPages(nextTurn: () => Promise<void>): Promise<void> {
  for (const [first, end] of ASSIGNED) {
    for (let from = first; from < end; from += PAGE) {
      readPage(from);
      if (from % (4 * PAGE) === 0) await nextTurn();
    }
  }
}

function readPage(from: number): void {
  const page = String.fromCodePoint(...Array.from({ length: PAGE }, (_, index) => from + index));
  if (CASELESS_PAGE.test(page)) {
    KINDS.fill(CASELESS, from, from + PAGE);
    return;
  }
  const width = from > 0xffff ? 2 : 1;
  for (const [kind, runs] of EXPRESSIONS) {
    for (const { index, 0: run } of page.matchAll(runs))
      KINDS.fill(kind, from + index / width, from + (index + run.length) / width);
  }
}

/** Kind of the character that begins at `at` in well-formed UTF-8. */
export function kindAt(bytes: Uint8Array, at: number): number {
  const first = bytes[at] as number;
  return first < 0x80 ? (KINDS[first] as number) : (KINDS[beyondAscii(bytes, at, first)] as number);
}

function beyondAscii(bytes: Uint8Array, at: number, first: number): number {
  const second = (bytes[at + 1] as number) & 0x3f;
  if (first < 0xe0) return ((first & 0x1f) << 6) | second;
  const third = (bytes[at + 2] as number) & 0x3f;
  if (first < 0xf0) return ((first & 0x0f) << 12) | (second << 6) | third;
  return ((first & 0x07) << 18) | (second << 12) | (third << 6) | ((bytes[at + 3] as number) & 0x3f);
}

/** Bytes of the character that begins with this one. */
export function widthOf(first: number): number {
  if (first < 0x80) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}

/** Kind of a UTF-16 unit as a character of its own. */
export const kindOf = (unit: number): number => KINDS[unit] as number;
