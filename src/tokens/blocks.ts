/** Length that blocks have where a good place to cut is near, in UTF-16 units, and how far after it one is looked for. */
const BLOCK = 512;
const REACH = 128;

/**
 * Where to cut a text into blocks that can be counted one by one: 0, the cuts, the length. A cut lies where every
 * vocabulary begins a new piece anyway (before a space and a word, at a line break, before Chinese or Japanese punctuation), so that the
 * counts of the blocks add up exactly; text without such a place is cut all the same, never inside a surrogate pair.
 */
export function cutBlocks(text: string): readonly number[] {
  const cuts = [0];
  for (let at = BLOCK; at < text.length; at += BLOCK) {
    at = goodCut(text, at);
    if (at < text.length) cuts.push(at);
  }
  cuts.push(text.length);
  return cuts;
}

/**
 * The blocks `0` to `count - 1` in an order in which every beginning is spread evenly over the whole: what has been counted when the
 * work runs out then speaks for the rest.
 */
export function* spread(count: number): Generator<number> {
  let step = Math.max(1, Math.round(count * 0.618_034));
  while (divisor(step, count) !== 1) step++;
  for (let turn = 0, at = 0; turn < count; turn++, at = (at + step) % count) yield at;
}

const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));

function goodCut(text: string, from: number): number {
  const last = Math.min(text.length, from + REACH);
  for (let at = from; at < last; at++) if (beginsPiece(text, at)) return at;
  const code = text.charCodeAt(from);
  return code >= 0xdc00 && code < 0xe000 ? from - 1 : from;
}

function beginsPiece(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  const before = text.charCodeAt(at - 1);
  if (code === 0x20) return isWord(before) && isWord(text.charCodeAt(at + 1));
  if (before === 0x0a) return isWord(code) && text.charCodeAt(at - 2) > 0x20;
  return isCjkMark(code) && isCjkLetter(before);
}

const isWord = (code: number): boolean => (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a);

/** Common Han, kana, Hangul. */
const isCjkLetter = (code: number): boolean =>
  (code >= 0x4e00 && code <= 0x9fa5) ||
  (code >= 0x3041 && code <= 0x3096) ||
  (code >= 0x30a1 && code <= 0x30fa) ||
  (code >= 0xac00 && code <= 0xd7a3);

/** The ideographic comma and full stop, and the full-width `!`, `,`, `:`, `;`, `?`. */
const isCjkMark = (code: number): boolean =>
  code === 0x3001 ||
  code === 0x3002 ||
  code === 0xff01 ||
  code === 0xff0c ||
  code === 0xff1a ||
  code === 0xff1b ||
  code === 0xff1f;
