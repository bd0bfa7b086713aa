import { blockAt, blockCount, spread } from './blocks.js';
import { guessTokens } from './character-classes.js';
import type { EncodingName } from './encodings.js';
import { nextTurn, type Vocabulary, type Work } from './vocabulary.js';

/** How much counting may still be done, and how it went so far. */
export interface Allowance {
  readonly work: Work;
  /** Characters that may still be judged by class, in UTF-16 units; beyond them texts count by their length. */
  guesses: number;
  /** Whether everything so far was counted whole, by its vocabulary. */
  isExact: boolean;
}

/** Tokens of a text, and how they were found. */
export interface Counted {
  readonly tokens: number;
  readonly isExact: boolean;
  /** Counted whole, or sampled with most of an allowance: another time would not come closer. */
  readonly isWorthKeeping: boolean;
}

/** At most about 8 ms of counting: 500,000 characters of English whose words were met before, 5,000 of Chinese without a break. */
const WORK = 16_000;
/** About 1 ms of judging by character class. */
const GUESSES = 65_536;
/** Most work that a UTF-16 unit can take: three bytes, looked up and merged in a long piece. What fits so need not be cut. */
const MOST_WORK_RATIO = 6.125;
/** Tokens per character of what is not even looked at. */
const UNSEEN_RATE = 0.3;

/** An allowance for the texts of one body: about 10 ms for all of them together. */
export function createAllowance(): Allowance {
  return { work: { left: WORK }, guesses: GUESSES, isExact: true };
}

/**
 * Counts what the allowance covers, of a longer text evenly spread blocks, and extrapolates the rest.
 * @param vocabulary - `undefined`: everything is judged by the classes of its characters
 */
export function countWithin(
  text: string,
  encoding: EncodingName,
  vocabulary: Vocabulary | undefined,
  allowance: Allowance,
): Counted {
  const { work } = allowance;
  const before = work.left;
  if (vocabulary && text.length * MOST_WORK_RATIO <= before)
    return { tokens: vocabulary.count(text, work), isExact: true, isWorthKeeping: true };

  const order = spread(blockCount(text));
  const samples: string[] = [];
  let counted = 0;
  let next = order.next();
  for (; vocabulary && work.left > 0 && !next.done; next = order.next()) {
    const sample = blockAt(text, next.value);
    counted += vocabulary.count(sample, work);
    samples.push(sample);
  }
  if (next.done) return { tokens: counted, isExact: true, isWorthKeeping: true };

  const others: string[] = [];
  for (; allowance.guesses > 0 && !next.done; next = order.next()) {
    const other = blockAt(text, next.value);
    allowance.guesses -= other.length;
    others.push(other);
  }
  const rest = restRate(counted, samples, others, encoding) * (text.length - lengthOf(samples));
  const tokens = Math.max(1, Math.round(counted + rest));
  return { tokens, isExact: false, isWorthKeeping: before - work.left >= WORK / 2 };
}

/** Tokens per character by the classes of the other blocks' characters, corrected by how far the samples' classes were off. */
function restRate(counted: number, samples: readonly string[], others: readonly string[], encoding: EncodingName): number {
  if (others.length === 0) return counted > 0 ? counted / lengthOf(samples) : UNSEEN_RATE;
  const guess = (blocks: readonly string[]) => blocks.reduce((sum, block) => sum + guessTokens(block, encoding), 0);
  const correction = counted > 0 ? Math.min(4, Math.max(0.25, counted / guess(samples))) : 1;
  return (guess(others) * correction) / lengthOf(others);
}

const lengthOf = (blocks: readonly string[]): number => blocks.reduce((sum, { length }) => sum + length, 0);

/** Texts with one and with two bytes a character: engines compile for each kind. */
const WARM_UP = [
  'The quick brown fox: {"id": 42, "camelCase": [true]}\n\t- qzxjvkwpt/kQ7Zt+0xW9 (1,000.5 = ###!?) '.repeat(32),
  '你好，世界。Здравствуйте, สวัสดี! 😀🜁 naïve 鑫淼焱垚犇鑫淼焱垚犇鑫淼焱垚犇鑫淼焱垚犇 a1漢 !'.repeat(32),
];

/** Has everything compiled before the first request needs it, which would wait 20 ms for that. */
export async function warmUp(encoding: EncodingName, vocabulary: Vocabulary): Promise<void> {
  for (let turn = 0; turn < 12; turn++) {
    for (const text of WARM_UP) countWithin(text, encoding, vocabulary, { work: { left: 1_000 }, guesses: 1_000, isExact: true });
    await nextTurn();
  }
}
