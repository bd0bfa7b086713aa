import type { CompleteAnswer } from '../dialects/dialect.js';

/** An answer, and when it was given. */
export interface KeptAnswer {
  readonly answer: CompleteAnswer;
  /** Epoch milliseconds. */
  readonly atMs: number;
}

/** How to keep an answer. */
export interface KeepHow {
  /** About what it takes, in bytes. */
  readonly bytes: number;
  /** Nobody asks for it when it is older, in milliseconds. */
  readonly ttlMs: number;
}

/**
 * Whole answers, each of one partition: what identities share. The contract, proved by `answerCacheConformance`:
 *
 * - **Partitioned.** What was set in one partition is found in no other one, whatever the key.
 * - **Bounded.** All answers together never take more than a number of bytes; whichever the cache can best do without leave first.
 * - **A miss, never an error.** A cache that cannot be reached, or not soon, has nothing and keeps nothing: `get` is waited for while a
 *   caller waits.
 *
 * Partitions and keys are hashes: no text of a prompt and no identity is in them. Answers are given as they are: whoever reads the
 * cache reads them.
 */
export interface AnswerCache {
  get(partition: string, key: string): Promise<KeptAnswer | undefined>;
  /** Keeps an answer in place of an earlier one of this partition and key. */
  set(partition: string, key: string, kept: KeptAnswer, how: KeepHow): Promise<void>;
  delete(partition: string, key: string): Promise<void>;
}
