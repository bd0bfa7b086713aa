import { randomInt } from 'node:crypto';
import { PieceMemo } from './piece-memo.js';
import { scannerFor } from './scanner.js';

/** A vocabulary as it is published: the expression that cuts text into pieces, and its tokens in base64, in order of rank. */
export interface PublishedVocabulary {
  readonly pat_str: string;
  /** Lines of `! <rank of the first> <token> <token> ...`. */
  readonly bpe_ranks: string;
}

/**
 * Work left to one estimate, a unit being about half a microsecond: a character takes 1/32, a piece that
 * the expression must find 1/4, a character of a piece that is not remembered 1/8, a byte that runs through the merging 1 to 2,
 * the longer its piece.
 */
export interface Work {
  left: number;
}

/** A loaded vocabulary. */
export interface Vocabulary {
  /** Tokens of a text of at most a few thousand characters. Names of special tokens in it are text like any other. */
  count(text: string, work: Work): number;
}

/**
 * Longest piece that is merged at once, in bytes: merging takes time with the square of it. A longer piece is cut into
 * stretches of 64 UTF-16 units, which can only add tokens: at most one for each cut.
 */
const LONGEST_MERGE = 192;
const STRETCH = 64;
/** Tokens read before other work gets its turn: about 2 ms. */
const TOKENS_PER_TURN = 4096;

/** Builds a vocabulary without holding the event loop: other work gets its turn every few milliseconds. */
export async function readVocabulary(published: PublishedVocabulary): Promise<Vocabulary> {
  const ranks = await readRanks(published.bpe_ranks);
  const expression = new RegExp(published.pat_str, 'gu');
  const findEnd = scannerFor(published.pat_str);
  const memo = new PieceMemo(randomInt(2 ** 32));

  function endByExpression(text: string, start: number, work: Work): number {
    work.left -= 1 / 4;
    expression.lastIndex = start;
    return expression.test(text) ? expression.lastIndex : text.length;
  }

  return {
    count(text, work) {
      const units = unitsOf(text);
      const { length } = text;
      let tokens = 0;
      for (let start = 0; start < length; ) {
        let end = findEnd ? findEnd(units, start, length) : -1;
        if (end < 0) end = endByExpression(text, start, work);
        let found = memo.find(units, start, end);
        if (found === 0) {
          found = countPiece(text.slice(start, end), ranks, work);
          memo.keep(found);
        }
        tokens += found;
        start = end;
      }
      work.left -= length / 32;
      return tokens;
    },
  };
}

let scratch = new Uint16Array(4_096);
let scratchBytes = Buffer.from(scratch.buffer);

/**
 * The UTF-16 units of a text, valid until the next call. Reading them from the text itself is slow in whole processes where some
 * library has made a subclass of String.
 */
function unitsOf(text: string): Uint16Array {
  if (text.length > scratch.length) {
    scratch = new Uint16Array(2 ** Math.ceil(Math.log2(text.length)));
    scratchBytes = Buffer.from(scratch.buffer);
  }
  scratchBytes.write(text, 0, 'utf16le');
  return scratch;
}

/** Lets everything else that waits for the event loop go first. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Token to rank; a token is kept as a string with one character for each byte, so that ASCII text is its own key. */
type Ranks = ReadonlyMap<string, number>;

async function readRanks(text: string): Promise<Ranks> {
  const ranks = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, first = '', ...tokens] = line.split(' ');
    let rank = Number.parseInt(first, 10);
    for (const token of tokens) {
      ranks.set(atob(token), rank++);
      if (rank % TOKENS_PER_TURN === 0) await nextTurn();
    }
  }
  return ranks;
}

function countPiece(piece: string, ranks: Ranks, work: Work): number {
  work.left -= piece.length / 8;
  if (piece.length <= LONGEST_MERGE) {
    const bytes = bytesOf(piece);
    if (bytes.length <= LONGEST_MERGE) return countBytes(bytes, ranks, work);
  }
  let tokens = 0;
  for (let start = 0; start < piece.length; ) {
    const end = endOfStretch(piece, start);
    tokens += countBytes(bytesOf(piece.slice(start, end)), ranks, work);
    start = end;
  }
  return tokens;
}

function countBytes(bytes: string, ranks: Ranks, work: Work): number {
  return ranks.has(bytes) ? 1 : countMerged(bytes, ranks, work);
}

function endOfStretch(piece: string, start: number): number {
  const end = start + STRETCH;
  if (end >= piece.length) return piece.length;
  const isPair = isHigh(piece.charCodeAt(end - 1)) && isLow(piece.charCodeAt(end));
  return isPair ? end - 1 : end;
}

const isHigh = (code: number): boolean => code >= 0xd800 && code < 0xdc00;
const isLow = (code: number): boolean => code >= 0xdc00 && code < 0xe000;

/** UTF-8 with one character for each byte; a lone surrogate becomes U+FFFD, as in every encoder. */
function bytesOf(piece: string): string {
  for (let at = 0; at < piece.length; at++) if (piece.charCodeAt(at) > 0x7f) return Buffer.from(piece, 'utf8').toString('latin1');
  return piece;
}

const NEVER = 0x7fffffff;
/** Where each part starts, and the rank of joining it with the next; reused, for merging never yields. */
const starts = new Int32Array(LONGEST_MERGE + 1);
const joins = new Int32Array(LONGEST_MERGE + 1);

/**
 * Byte pair encoding: joins the two neighbours whose union ranks first, the left one of equals, until no union is a token.
 * @returns how many parts are left
 */
function countMerged(bytes: string, ranks: Ranks, work: Work): number {
  let parts = bytes.length;
  work.left -= parts * (1 + parts / LONGEST_MERGE);
  for (let at = 0; at <= parts; at++) starts[at] = at;
  for (let at = 0; at < parts; at++) joins[at] = joinRank(at, parts, bytes, ranks);
  for (;;) {
    let best = NEVER;
    let at = -1;
    for (let part = 0; part < parts - 1; part++) {
      const rank = joins[part] as number;
      if (rank < best) {
        best = rank;
        at = part;
      }
    }
    if (at < 0) return parts;
    for (let part = at + 1; part < parts; part++) {
      starts[part] = starts[part + 1] as number;
      joins[part] = joins[part + 1] as number;
    }
    parts--;
    joins[at] = joinRank(at, parts, bytes, ranks);
    if (at > 0) joins[at - 1] = joinRank(at - 1, parts, bytes, ranks);
  }
}

function joinRank(part: number, parts: number, bytes: string, ranks: Ranks): number {
  if (part + 1 >= parts) return NEVER;
  return ranks.get(bytes.slice(starts[part], starts[part + 2])) ?? NEVER;
}
