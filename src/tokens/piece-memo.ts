/** Pieces remembered; a power of two. Each takes 12 bytes. */
const PLACES = 65_536;
/** Longer pieces are seldom words. In UTF-16 units. */
const LONGEST = 64;

/**
 * Tokens of pieces that were met before, by a 64-bit hash of their UTF-16 units: most of any text are a few thousand words that
 * come again and again. What falls on the place of another takes it over, so memory is fixed. The hash begins differently in
 * every process, so that nobody can prepare pieces that are taken for one another.
 */
export class PieceMemo {
  readonly #hashes = new Int32Array(2 * PLACES);
  readonly #tokens = new Int32Array(PLACES);
  readonly #seed: number;
  /** Where the last piece that was looked for belongs, and its hash. */
  #place = -1;
  #low = 0;
  #high = 0;

  /** @param seed - any whole number */
  constructor(seed: number) {
    this.#seed = seed | 0;
  }

  /** Tokens of the piece from `start` to `end`; 0: not known. */
  find(units: Uint16Array, start: number, end: number): number {
    if (end - start > LONGEST) {
      this.#place = -1;
      return 0;
    }
    let low = this.#seed;
    let high = ~this.#seed;
    for (let at = start; at < end; at++) {
      const unit = units[at] as number;
      low = Math.imul(low ^ unit, 0x01000193);
      high = Math.imul(high + unit, 0x9e3779b1) ^ (high >>> 15);
    }
    low ^= end - start;
    high ^= low >>> 13;
    this.#low = low;
    this.#high = high;
    const place = (low ^ (low >>> 16) ^ high) & (PLACES - 1);
    this.#place = place;
    return this.#hashes[2 * place] === low && this.#hashes[2 * place + 1] === high ? (this.#tokens[place] as number) : 0;
  }

  /** Remembers the tokens of the piece that was looked for last. */
  keep(tokens: number): void {
    const place = this.#place;
    if (place < 0) return;
    this.#hashes[2 * place] = this.#low;
    this.#hashes[2 * place + 1] = this.#high;
    this.#tokens[place] = tokens;
  }
}
