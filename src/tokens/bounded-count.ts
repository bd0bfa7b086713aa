import { type Allowance, add, createAllowance, grant, granted, unseenRate, WORK } from './allowance.js';
import { type Blocks, blockAt, blockCount, spread } from './blocks.js';
import { guessTokens } from './character-classes.js';
import type { EncodingName } from './encodings.js';
import { nextTurn } from './turns.js';
import { MOST_WORK_PER_UNIT, type Vocabulary } from './vocabulary.js';

/** Tokens of a text, and how they were found. */
export interface Counted {
  readonly tokens: number;
  readonly isExact: boolean;
  /** Counted whole, or sampled with most of an allowance: another time would not come closer. */
  readonly isWorthKeeping: boolean;
}

/** Characters of counted blocks that are judged by class too, to learn how far off that is. In UTF-16 units. */
const COMPARED = 16_384;
/** What judging a block takes whatever its length, as UTF-16 units. */
const GUESS_UNITS = 64;
/** How far off classes can be by few blocks; by more, as many times as there are. */
const LEAST_CORRECTION = 4;

/**
 * Counts what the text was granted, of a longer one evenly spread blocks, and extrapolates the rest.
 * @param vocabulary - `undefined`: everything is judged by the classes of its characters
 */
export function countWithin(
  text: string,
  encoding: EncodingName,
  vocabulary: Vocabulary | undefined,
  allowance: Allowance,
): Counted {
  const { work, guesses, seen } = allowance;
  const { length } = text;
  if (granted(vocabulary ? work : guesses) <= 0) return guessed(unseenRate(allowance) * length);

  const before = work.left;
  const order = spread(blockCount(text));
  const sample = vocabulary ? countSample(text, order, vocabulary, allowance) : NOTHING;
  const isExact = vocabulary !== undefined && sample.length === length;
  const rest = isExact ? 0 : restRate(text, order, sample, encoding, allowance) * (length - sample.length);
  const tokens = sample.tokens + rest;
  add(seen, tokens, length);
  return isExact ? { tokens, isExact, isWorthKeeping: true } : guessed(tokens, before - work.left >= WORK / 2);
}

const guessed = (tokens: number, isWorthKeeping = false): Counted => ({
  tokens: Math.max(1, Math.round(tokens)),
  isExact: false,
  isWorthKeeping,
});

/** What was counted of a text. */
interface Sample {
  readonly tokens: number;
  readonly length: number;
  /** Its first blocks, and their tokens. */
  readonly blocks: readonly string[];
  readonly blockTokens: number;
}

const NOTHING: Sample = { tokens: 0, length: 0, blocks: [], blockTokens: 0 };

/** A text that fits for certain is counted in one go. */
function countSample(text: string, order: Blocks, vocabulary: Vocabulary, { work }: Allowance): Sample {
  if (text.length * MOST_WORK_PER_UNIT <= granted(work)) {
    const tokens = vocabulary.count(text, work);
    return { tokens, length: text.length, blocks: [], blockTokens: 0 };
  }
  const blocks: string[] = [];
  let tokens = 0;
  let length = 0;
  let blockTokens = 0;
  while (granted(work) > 0) {
    const index = order.next();
    if (index < 0) break;
    const block = blockAt(text, index);
    const found = vocabulary.count(block, work);
    tokens += found;
    length += block.length;
    if (length > COMPARED) continue;
    blocks.push(block);
    blockTokens += found;
  }
  return { tokens, length, blocks, blockTokens };
}

/** Tokens per character of what was not counted: as its classes say, corrected by how far off they are for the sample. */
function restRate(text: string, order: Blocks, sample: Sample, encoding: EncodingName, allowance: Allowance): number {
  let tokens = 0;
  let length = 0;
  while (granted(allowance.guesses) > 0) {
    const index = order.next();
    if (index < 0) break;
    const block = blockAt(text, index);
    tokens += judge(block, encoding, allowance);
    length += block.length;
  }
  const { blocks, blockTokens } = sample;
  if (length === 0) return sample.tokens / sample.length;
  if (blocks.length === 0) return tokens / length;
  const judged = blocks.reduce((sum, block) => sum + judge(block, encoding, allowance), 0);
  const most = Math.max(LEAST_CORRECTION, blocks.length);
  const correction = Math.min(most, Math.max(1 / most, blockTokens / Math.max(1, judged)));
  return (tokens * correction) / length;
}

function judge(text: string, encoding: EncodingName, { guesses }: Allowance): number {
  guesses.left -= text.length + GUESS_UNITS;
  return guessTokens(text, encoding);
}

/** Texts with one and with two bytes a character: engines compile for each kind. */
const WARM_UP = [
  'The quick brown fox: {"id": 42, "camelCase": [true]}\n\t- qzxjvkwpt/kQ7Zt+0xW9 (1,000.5 = ###!?) '.repeat(32),
  `${'你好，世界。Здравствуйте, สวัสดี! 😀🜁 naïve 鑫淼焱垚犇鑫淼焱垚犇鑫淼焱垚犇鑫淼焱垚犇 a1漢 !'.repeat(32)}${'鑫'.repeat(200)}`,
];
const SHORT_TEXTS = WARM_UP.flatMap((text) => Array.from({ length: 200 }, (_, at) => text.slice(5 * at, 5 * at + (at % 40))));
const WARM_UP_TURNS = 12;
/** Work of each time: enough for a part of a text, so that the rest is extrapolated. */
const WARM_UP_WORK = 100;

/** Has everything compiled before the first request needs it, which would wait 50 ms for that. */
export async function warmUp(encoding: EncodingName, vocabulary: Vocabulary): Promise<void> {
  for (let turn = 0; turn < WARM_UP_TURNS; turn++) {
    for (const text of WARM_UP) {
      vocabulary.count(text, { left: 0 });
      const allowance = createAllowance(text.length);
      allowance.work.left = WARM_UP_WORK;
      allowance.guesses.left = text.length / 4;
      grant(allowance, text.length);
      countWithin(text, encoding, vocabulary, allowance);
    }
    const shared = createAllowance(10 * SHORT_TEXTS.length);
    for (const text of SHORT_TEXTS) {
      grant(shared, text.length);
      countWithin(text, encoding, vocabulary, shared);
    }
    await nextTurn();
  }
}
