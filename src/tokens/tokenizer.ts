import { type BoundedMap, createBoundedMap } from '../cache/bounded-map.js';
import { cutBlocks, spread } from './blocks.js';
import { guessTokens } from './character-classes.js';
import { loadedVocabulary, loadVocabulary } from './vocabularies.js';
import { nextTurn, type Vocabulary, type Work } from './vocabulary.js';

/** Encodings that models use; see the prefix table in `encodings.ts`. */
export type EncodingName = 'o200k_base' | 'cl100k_base' | 'p50k_base' | 'r50k_base';

/** Counts the tokens of text. Never throws, never blocks for long, whatever the text. */
export interface Tokenizer {
  /**
   * Tokens of `text` in `encoding`: counted once its vocabulary is loaded, estimated by character class before that.
   * @param allowance - shared by the texts of one body, so that many of them take no longer than a single long one; without
   * it each text has an allowance of its own
   */
  count(text: string, encoding: EncodingName, allowance?: Allowance): number;
  /** Whether the vocabulary is there. */
  isReady(encoding: EncodingName): boolean;
  /** Loads vocabularies; resolves when they can be used. Loading again costs nothing. */
  ready(encodings: readonly EncodingName[]): Promise<void>;
}

/** How much counting may still be done, and how it went so far. */
export interface Allowance {
  readonly work: Work;
  /** Characters that may still be judged one by one, in UTF-16 units; beyond them texts count by their length. */
  guesses: number;
  /** Whether everything so far was counted whole, by its vocabulary. */
  isExact: boolean;
}

/** About 10 ms of counting: 190,000 characters of English, 8,000 of Chinese without a break. */
const WORK = 16_000;
/** About 1 ms of judging by character class. */
const GUESSES = 65_536;
/** Tokens per character of what is not even looked at. */
const UNSEEN_RATE = 0.3;

const MEMO_BYTES = 8_388_608;
/** Shorter texts are counted faster than they are looked up, in UTF-16 units. */
const MEMO_LENGTH = 128;
/** Longer ones would push out too many others. */
const MEMO_LONGEST = 524_288;

/** An allowance for the texts of one body: about 15 ms for all of them together. */
export function createAllowance(): Allowance {
  return { work: { left: WORK }, guesses: GUESSES, isExact: true };
}

/**
 * A tokenizer over the vocabularies that OpenAI publishes. Vocabularies are shared by the whole process; what was counted is
 * remembered by each tokenizer, up to 8 MiB, so that a conversation that grows costs its new messages only.
 *
 * A text takes at most about 15 ms: what the allowance does not cover is extrapolated from evenly spread samples and from the
 * classes of its characters. Measured on 100,000 to 400,000 characters of prose, code and JSON in ten languages, the error is under 3 %.
 */
export function createTokenizer(): Tokenizer {
  const memos = new Map<EncodingName, BoundedMap<Counted>>();

  function memoOf(encoding: EncodingName): BoundedMap<Counted> {
    let memo = memos.get(encoding);
    if (!memo)
      memos.set(encoding, (memo = createBoundedMap({ maxBytes: MEMO_BYTES, sizeOf: (_, text) => text.length * 2 + 128 })));
    return memo;
  }

  return {
    count(text, encoding, allowance = createAllowance()) {
      const vocabulary = loadedVocabulary(encoding);
      const isMemoable = vocabulary !== undefined && text.length >= MEMO_LENGTH && text.length <= MEMO_LONGEST;
      const known = isMemoable ? memoOf(encoding).get(text) : undefined;
      const counted = known ?? countWithin(text, encoding, vocabulary, allowance);
      if (!counted.isExact) allowance.isExact = false;
      if (isMemoable && !known && counted.isWorthKeeping) memoOf(encoding).set(text, counted);
      return counted.tokens;
    },
    isReady: (encoding) => loadedVocabulary(encoding) !== undefined,
    async ready(encodings) {
      for (const encoding of encodings) await loadVocabulary(encoding, warmUp);
    },
  };
}

interface Counted {
  readonly tokens: number;
  readonly isExact: boolean;
  /** Counted whole, or sampled with most of an allowance: another time would not come closer. */
  readonly isWorthKeeping: boolean;
}

function countWithin(text: string, encoding: EncodingName, vocabulary: Vocabulary | undefined, allowance: Allowance): Counted {
  const { work } = allowance;
  const before = work.left;
  const cuts = cutBlocks(text);
  const order = spread(cuts.length - 1);
  const block = (index: number): string => text.slice(cuts[index], cuts[index + 1]);

  // Blocks counted by vocabulary; beside them what their characters would have let us guess.
  const samples: string[] = [];
  let counted = 0;
  let seen = 0;
  let next = order.next();
  for (; vocabulary && work.left > 0 && !next.done; next = order.next()) {
    const sample = block(next.value);
    counted += vocabulary.count(sample, work);
    seen += sample.length;
    samples.push(sample);
  }
  if (next.done) return { tokens: counted, isExact: true, isWorthKeeping: true };

  // The rest by character class, corrected by how far the same guess was off on the samples.
  const correction =
    counted === 0 ? 1 : clamp(counted / samples.reduce((sum, sample) => sum + guessTokens(sample, encoding), 0), 0.25, 4);
  let guessed = 0;
  let judged = 0;
  for (; allowance.guesses > 0 && !next.done; next = order.next()) {
    const sample = block(next.value);
    guessed += guessTokens(sample, encoding);
    judged += sample.length;
    allowance.guesses -= sample.length;
  }
  const rate = judged === 0 ? UNSEEN_RATE : (guessed * correction) / judged;
  const tokens = Math.max(1, Math.round(counted + rate * (text.length - seen)));
  return { tokens, isExact: false, isWorthKeeping: before - work.left >= WORK / 2 };
}

const clamp = (value: number, lowest: number, highest: number): number => Math.min(highest, Math.max(lowest, value));

/** Texts with one and with two bytes a character: engines compile for each kind. */
const WARM_UP = [
  'The quick brown fox: {"id": 42, "camelCase": [true]}\n\t- qzxjvkwpt/kQ7Zt+0xW9 (1,000.5 = ###!?) '.repeat(32),
  '你好，世界。Здравствуйте, สวัสดี! 😀🜁 naïve 鑫淼焱垚犇鑫淼焱垚犇鑫淼焱垚犇鑫淼焱垚犇 a1漢 !'.repeat(32),
];

/** Has everything compiled before the first request needs it, which would wait 20 ms for that. */
async function warmUp(encoding: EncodingName, vocabulary: Vocabulary): Promise<void> {
  for (let turn = 0; turn < 12; turn++) {
    for (const text of WARM_UP) countWithin(text, encoding, vocabulary, { work: { left: 1_000 }, guesses: 1_000, isExact: true });
    await nextTurn();
  }
}
