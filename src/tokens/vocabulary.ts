import { randomInt } from 'node:crypto';
import { readKinds } from './code-points.js';
import { countMerged, LONGEST_MERGE, LONGEST_SCAN } from './merge.js';
import { PieceMemo } from './piece-memo.js';
import { type FindEnd, scannerFor } from './scanner.js';
import { hashNext, NO_RANK, readTokenTable, type TokenTable } from './token-table.js';
import { nextTurn } from './turns.js';

/** A vocabulary as it is published: the expression that cuts text into pieces, and its tokens in base64, in order of rank. */
export interface PublishedVocabulary {
  readonly pat_str: string;
  /** Lines of `! <rank of the first> <token> <token> ...`. */
  readonly bpe_ranks: string;
}

/** Work left to one estimate, a unit being at most about half a microsecond, for most texts a quarter. */
export interface Work {
  left: number;
}

/** More than it takes by itself: the next text of many lies elsewhere in memory. */
const WORK_PER_TEXT = 2;
const WORK_PER_BYTE = 0.025;
const WORK_PER_PIECE = 0.08;
/** Of a piece that is no token and was not met before. */
const WORK_PER_MERGED_BYTE = 0.1;
/** Of a long one. */
const WORK_PER_ORDERED_BYTE = 0.25;
const WORK_PER_JOIN = 0.3;
/** Of a piece that only the expression finds. */
const WORK_PER_MATCH = 0.5;
/** Most work that a UTF-16 unit can take: three bytes, each joined to the next in a long piece. */
export const MOST_WORK_PER_UNIT = 3 * (WORK_PER_BYTE + WORK_PER_PIECE + WORK_PER_ORDERED_BYTE + WORK_PER_JOIN);

/** A loaded vocabulary. */
export interface Vocabulary {
  /** Tokens of a text. Names of special tokens in it are text like any other. */
  count(text: string, work: Work): number;
}

/** Builds a vocabulary without holding the event loop: other work gets its turn every few milliseconds. */
export async function readVocabulary(published: PublishedVocabulary): Promise<Vocabulary> {
  const table = await readTokenTable(published.bpe_ranks);
  await readKinds(nextTurn);
  const findEnd = scannerFor(published.pat_str);
  const memo = new PieceMemo(randomInt(2 ** 32));
  const countWritten = (length: number, work: Work) => countPieces(length, findEnd as FindEnd, table, memo, work);
  const expression = new RegExp(published.pat_str, 'gu');

  return {
    count(text, work) {
      if (findEnd) return countWritten(write(text), work);
      let tokens = 0;
      work.left -= WORK_PER_TEXT;
      for (const [piece] of text.matchAll(expression)) {
        tokens += countPiece(0, write(piece), table, memo, work);
        work.left -= WORK_PER_MATCH;
      }
      return tokens;
    },
  };
}

function countPieces(length: number, findEnd: FindEnd, table: TokenTable, memo: PieceMemo, work: Work): number {
  let tokens = 0;
  for (let start = 0; start < length; ) {
    const end = findEnd(scratch, start, length);
    tokens += countPiece(start, end, table, memo, work);
    start = end;
  }
  work.left -= WORK_PER_TEXT + length * WORK_PER_BYTE;
  return tokens;
}

function countPiece(start: number, end: number, table: TokenTable, memo: PieceMemo, work: Work): number {
  work.left -= WORK_PER_PIECE;
  if (end - start <= 1) return 1;
  let hash = 0;
  for (let at = start; at < end; at++) hash = hashNext(hash, scratch[at] as number);
  if (end - start <= table.longest && table.rankOf(scratch, start, end, hash) !== NO_RANK) return 1;
  const known = memo.find(scratch, start, end, hash);
  if (known > 0) return known;
  const tokens = countStretches(start, end, table, work);
  memo.keep(tokens);
  return tokens;
}

/** Longer pieces are cut, which can only add tokens: at most one for each cut. */
function countStretches(start: number, end: number, table: TokenTable, work: Work): number {
  let tokens = 0;
  for (let from = start; from < end; ) {
    let to = Math.min(end, from + LONGEST_MERGE);
    if (to < end) while (isInside(scratch[to] as number)) to--;
    tokens += countMerged(scratch, from, to, table);
    from = to;
  }
  const length = end - start;
  work.left -=
    (length - tokens) * WORK_PER_JOIN + length * (length > LONGEST_SCAN ? WORK_PER_ORDERED_BYTE : WORK_PER_MERGED_BYTE);
  return tokens;
}

/** Whether a character goes on with this byte. */
const isInside = (byte: number): boolean => (byte & 0xc0) === 0x80;

const encoder = new TextEncoder();
let scratch = new Uint8Array(16_384);

/**
 * Writes a text as UTF-8 where it stays until the next one; a lone surrogate becomes U+FFFD, as in every encoder. Reading characters
 * from the text itself is slow in whole processes where some library has made a subclass of String.
 * @returns its length in bytes
 */
function write(text: string): number {
  if (3 * text.length > scratch.length) scratch = new Uint8Array(3 * text.length);
  return encoder.encodeInto(text, scratch).written;
}
