const GENERATION_MS = 60_000;
const GENERATION_SIZE = 100_000;

/**
 * Ids that were settled, so that whatever arrives late or twice finds them so. In two generations: an id is remembered for at
 * least a minute or 100,000 others, and memory stays bounded without a look at any single one.
 */
export class SettledIds {
  #young = new Set<string>();
  #old = new Set<string>();
  #sinceMs: number;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  has(id: string, nowMs: number): boolean {
    this.#turn(nowMs);
    return this.#young.has(id) || this.#old.has(id);
  }

  add(id: string, nowMs: number): void {
    this.#turn(nowMs);
    this.#young.add(id);
  }

  #turn(nowMs: number): void {
    const ageMs = nowMs - this.#sinceMs;
    if (ageMs < GENERATION_MS && ageMs >= 0 && this.#young.size < GENERATION_SIZE) return;
    // A clock that went back says nothing of the age, only that a new generation must be dated by it.
    if (ageMs >= 0) {
      this.#old = ageMs < 2 * GENERATION_MS ? this.#young : new Set();
      this.#young = new Set();
    }
    this.#sinceMs = nowMs;
  }
}
