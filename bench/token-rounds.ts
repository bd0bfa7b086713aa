// What the benches of counting share: time, caches, goals.
import { clearMergeCache } from 'gpt-tokenizer/encoding/o200k_base';
import { type Allowance, createAllowance } from '../src/tokens/allowance.js';
import { createTokenizer, type Tokenizer } from '../src/tokens/tokenizer.js';
import { createRandom } from '../test/support/random-texts.js';
import { type MakeText, TEXTS } from './token-texts.js';

export const ENCODING = 'o200k_base';
export const KILO = 1_000;
export const seed = Number(process.argv[2] ?? 20_261_130);
export const random = createRandom(seed);
/** Random characters that push every piece out of the memo that all tokenizers share. */
const FORGET_LENGTH = 600_000;

export const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

/** Time of the processor, so that whatever else the machine does is not counted. In milliseconds. */
export function timed<T>(work: () => T): [ms: number, result: T] {
  const before = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(before);
  return [(user + system) / KILO, result];
}

export const failures: string[] = [];
export function goal(isMet: boolean, what: string): string {
  if (!isMet) failures.push(what);
  return isMet ? 'met' : 'MISSED';
}

/** Enough to count any text whole. */
export function unlimited(): Allowance {
  const allowance = createAllowance();
  allowance.work.left = allowance.work.pool = Number.MAX_SAFE_INTEGER;
  return allowance;
}

export const shared = createTokenizer();

/** A tokenizer that remembers nothing, after everything that is remembered elsewhere was pushed out. */
export function forget(): Tokenizer {
  shared.count((TEXTS.base64 as MakeText)(random, FORGET_LENGTH), ENCODING, unlimited());
  clearMergeCache();
  return createTokenizer();
}
