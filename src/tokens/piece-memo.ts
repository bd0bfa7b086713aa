/** Pieces remembered; a power of two. Each takes 12 bytes. */
const PLACES = 32_768;
/** Longer pieces are seldom words. In bytes. */
const LONGEST = 96;

/**
 * Tokens of pieces that were merged before, by a 64-bit hash of their bytes: names and rare words come again and again. What falls
 * on the place of another takes it over, so memory is fixed. Half of the hash begins differently in every process, so that nobody
 * can prepare pieces that are taken for one another.
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

  /**
   * Tokens of the piece from `start` to `end`; 0: not known.
   * @param hash - of the same bytes, the same in every process
   */
  find(bytes: Uint8Array, start: number, end: number, hash: number): number {
    if (end - start > LONGEST) {
      this.#place = -1;
      return 0;
    }
    let high = this.#seed;
    for (let at = start; at < end; at++) high = Math.imul(high + (bytes[at] as number), 0x9e3779b1) ^ (high >>> 15);
    this.#low = hash;
    this.#high = high;
    const place = (high ^ (high >>> 13)) & (PLACES - 1);
    this.#place = place;
    return this.#hashes[2 * place] === hash && this.#hashes[2 * place + 1] === high ? (this.#tokens[place] as number) : 0;
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
