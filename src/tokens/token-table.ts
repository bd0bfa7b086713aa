import { nextTurn } from './turns.js';

/** Rank of what is no token. */
export const NO_RANK = 0x7fffffff;
/** Tokens read before other work gets its turn: about 1 ms. */
const TOKENS_PER_TURN = 4_096;
const HASH_BASE = 0x01000193;

/**
 * The tokens of a vocabulary in typed arrays: 8 MB for the 200,000 of o200k_base. They are found by a polynomial hash of their bytes,
 * so that the hash of any part of a piece follows from those of its beginnings, and then compared byte by byte. Nothing is ever added,
 * so that no text makes looking up slower than the published tokens do.
 */
export interface TokenTable {
  /** Length of the longest token, in bytes. */
  readonly longest: number;
  /** What takes a beginning out of a hash, by the number of bytes that follow it, which are at most as many as the longest token has. */
  readonly powers: Int32Array;
  /** Ranks of the tokens of two bytes, by both. */
  readonly pairs: Int32Array;
  /** Rank of the token that the bytes from `start` to `end` are, whose hash is given. */
  rankOf(bytes: Uint8Array, start: number, end: number, hash: number): number;
}

/** The hash of bytes that begin with those of this hash. */
export const hashNext = (hash: number, byte: number): number => (Math.imul(hash, HASH_BASE) + byte + 1) | 0;

function powersUpTo(longest: number): Int32Array {
  const powers = new Int32Array(longest + 1);
  powers[0] = 1;
  for (let length = 1; length <= longest; length++) powers[length] = Math.imul(powers[length - 1] as number, HASH_BASE);
  return powers;
}

/**
 * Reads tokens in base64 without holding the event loop.
 * @param published - lines of `! <rank of the first> <token> <token> ...`, in order of rank
 */
export async function readTokenTable(published: string): Promise<TokenTable> {
  const text = Buffer.from(published, 'latin1');
  const count = countSpaces(text);
  const mask = 2 ** Math.ceil(Math.log2(count * 2)) - 1;
  /** Hash, and rank plus one, of each place; 0: it is free. */
  const places = new Int32Array(2 * (mask + 1));
  const pairs = new Int32Array(65_536).fill(NO_RANK);
  const tokenBytes = new Uint8Array((text.length * 3) >> 2);
  /** Where the bytes of each token begin. The order of ranks is all that counts, so they are numbered without gaps. */
  const starts = new Uint32Array(count + 1);
  let longest = 1;
  let rank = 0;
  let written = 0;

  function keep(start: number, end: number): void {
    let hash = 0;
    for (let at = start; at < end; at++) hash = hashNext(hash, tokenBytes[at] as number);
    let place = placeOf(hash) & mask;
    while (places[2 * place + 1] !== 0) place = (place + 1) & mask;
    places[2 * place] = hash;
    places[2 * place + 1] = rank + 1;
    if (end - start === 2) pairs[((tokenBytes[start] as number) << 8) | (tokenBytes[start + 1] as number)] = rank;
    longest = Math.max(longest, end - start);
    starts[++rank] = end;
  }

  for (let at = 0; at < text.length; ) {
    if (text[at] === LINE_MARK) at = text.indexOf(SPACE, at + 2) + 1;
    const start = written;
    let bits = 0;
    let held = 0;
    for (; ; at++) {
      const digit = DIGITS[text[at] ?? 0] as number;
      if (digit < 0) break;
      bits = ((bits << 6) | digit) & 0xffff;
      held += 6;
      if (held < 8) continue;
      held -= 8;
      tokenBytes[written++] = bits >> held;
    }
    if (written > start) keep(start, written);
    else at++;
    if (written > start && rank % TOKENS_PER_TURN === 0) await nextTurn();
  }

  const isToken = (index: number, bytes: Uint8Array, start: number, end: number): boolean => {
    const from = starts[index] as number;
    if ((starts[index + 1] as number) - from !== end - start) return false;
    for (let at = start, other = from; at < end; at++, other++) if (bytes[at] !== tokenBytes[other]) return false;
    return true;
  };

  return {
    longest,
    powers: powersUpTo(longest),
    pairs,
    rankOf(bytes, start, end, hash) {
      for (let place = placeOf(hash) & mask; ; place = (place + 1) & mask) {
        const next = places[2 * place + 1] as number;
        if (next === 0) return NO_RANK;
        if (places[2 * place] === hash && isToken(next - 1, bytes, start, end)) return next - 1;
      }
    },
  };
}

const SPACE = 32;
const LINE_MARK = 33;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const DIGITS = Int8Array.from({ length: 256 }, (_, byte) => ALPHABET.indexOf(String.fromCharCode(byte)));

/** The low bits of a polynomial say little. */
function placeOf(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return mixed ^ (mixed >>> 13);
}

function countSpaces(text: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) if (text[at] === SPACE) count++;
  return count;
}
