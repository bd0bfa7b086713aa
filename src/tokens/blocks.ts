/** Length that blocks have where a good place to cut is near, in UTF-16 units, and how far after it one is looked for. */
const BLOCK = 512;
const REACH = 128;

/** How many blocks a text is counted in; an empty text is one. */
export function blockCount(text: string): number {
  return Math.max(1, Math.ceil(text.length / BLOCK));
}

/**
 * A block of a text; all of them in order are the text. They meet where every vocabulary begins a new piece anyway (before a
 * space between words, before a mark after a word, in a line break before one), so that their counts add up exactly. Text
 * without such a place near is cut all the same, but never inside a surrogate pair.
 */
export function blockAt(text: string, index: number): string {
  return text.slice(cutAt(text, index * BLOCK), cutAt(text, (index + 1) * BLOCK));
}

/**
 * The numbers from 0 to `count - 1` in an order of which every beginning is spread evenly over all: blocks that were counted
 * when the work ran out then speak for the rest.
 */
export function* spread(count: number): Generator<number> {
  const bits = Math.ceil(Math.log2(Math.max(1, count)));
  for (let turn = 0; turn < 2 ** bits; turn++) {
    const at = reverseBits(turn, bits);
    if (at < count) yield at;
  }
}

/** 0, 1/2, 1/4, 3/4, 1/8, ... of the way: each turn falls into the middle of a gap. */
function reverseBits(value: number, bits: number): number {
  let reversed = 0;
  for (let bit = 0; bit < bits; bit++) reversed = reversed * 2 + ((value >> bit) & 1);
  return reversed;
}

function cutAt(text: string, from: number): number {
  if (from === 0 || from >= text.length) return Math.min(from, text.length);
  const last = Math.min(text.length, from + REACH);
  for (let at = from; at < last; at++) if (beginsPiece(text, at)) return at;
  if (last === text.length) return last;
  const code = text.charCodeAt(from);
  return code >= 0xdc00 && code < 0xe000 ? from - 1 : from;
}

function beginsPiece(text: string, at: number): boolean {
  const unit = text[at] as string;
  const before = text[at - 1] as string;
  if (unit === ' ') return LETTER.test(before) && LETTER.test(text[at + 1] ?? '');
  if (before === '\n') return LETTER.test(unit) && !SPACE.test(text[at - 2] ?? '');
  return MARKS.has(unit) && LETTER.test(before);
}

const LETTER = /\p{L}/u;
const SPACE = /\s/;
/** No apostrophe among them, for that may belong to the word before. */
const MARKS = new Set('!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~、。！，：；？');
