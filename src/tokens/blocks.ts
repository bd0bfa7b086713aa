import { COMBINING, kindOf, LETTER, NUMBER } from './code-points.js';
import { unitsOf } from './units.js';

/** Length that blocks have where a good place to cut is near, in UTF-16 units, and how far after it one is looked for. */
const BLOCK = 512;
const REACH = 512;

/** How many blocks a text is counted in; an empty text is one. The last is half as long to half as long again. */
export function blockCount(text: string): number {
  return Math.max(1, Math.round(text.length / BLOCK));
}

/**
 * A block of a text; all of them in order are the text. They meet where every vocabulary begins a new piece anyway (between letters
 * and what is none, between numbers and what is none), so that their counts add up exactly. Text
 * without such a place near is cut all the same, but never inside a surrogate pair: a piece longer than {@link REACH} may so take
 * one token more for each block. A block may be empty.
 */
export function blockAt(text: string, index: number): string {
  if (blockCount(text) === 1) return text;
  const from = index * BLOCK;
  const base = Math.max(0, from - 1);
  const window = text.slice(base, from + BLOCK + REACH);
  const units = unitsOf(window);
  const start = cutAt(units, window.length, from - base);
  const isLast = index === blockCount(text) - 1;
  return window.slice(start, isLast ? window.length : cutAt(units, window.length, from - base + BLOCK));
}

/** The numbers of blocks, one at a time. */
export interface Blocks {
  /** -1: that was all. */
  next(): number;
}

/**
 * The numbers from 0 to `count - 1` in an order of which every beginning is spread evenly over all: blocks that were counted
 * when the work ran out then speak for the rest.
 */
export function spread(count: number): Blocks {
  const bits = Math.ceil(Math.log2(Math.max(1, count)));
  let turn = 0;
  return {
    next() {
      while (turn < 2 ** bits) {
        const at = reverseBits(turn++, bits);
        if (at < count) return at;
      }
      return -1;
    },
  };
}

/** 0, 1/2, 1/4, 3/4, 1/8, ... of the way: each turn falls into the middle of a gap. */
function reverseBits(value: number, bits: number): number {
  let reversed = 0;
  for (let bit = 0; bit < bits; bit++) reversed = reversed * 2 + ((value >> bit) & 1);
  return reversed;
}

/** The place to cut at or after `from`; the beginning and the end of the text are such. */
function cutAt(units: Uint16Array, length: number, from: number): number {
  if (from === 0 || from >= length) return Math.min(from, length);
  const last = Math.min(length, from + REACH);
  for (let at = from; at < last; at++) if (beginsPiece(units, at)) return at;
  if (last === length && length < from + REACH) return length;
  return isHalf(units[from] as number) && (units[from] as number) >= 0xdc00 ? from - 1 : from;
}

const APOSTROPHE = 39;

function beginsPiece(units: Uint16Array, at: number): boolean {
  const unit = units[at] as number;
  // Half of a character says nothing about it.
  if (isHalf(unit)) return false;
  const kind = kindOf(unit);
  const before = units[at - 1] as number;
  const kindBefore = isHalf(before) ? 0 : kindOf(before);
  // An apostrophe may belong to the word before.
  if (kindBefore & LETTER) return !(kind & (LETTER | COMBINING)) && unit !== APOSTROPHE;
  if (kindBefore & NUMBER) return !(kind & NUMBER);
  return false;
}

const isHalf = (unit: number): boolean => unit >= 0xd800 && unit < 0xe000;
