import { type BoundedMap, createBoundedMap } from '../cache/bounded-map.js';
import { type Allowance, type Counted, countWithin, createAllowance, warmUp } from './bounded-count.js';
import type { EncodingName } from './encodings.js';
import { loadedVocabulary, loadVocabulary } from './vocabularies.js';

/** Counts the tokens of text. Never throws, never blocks for long, whatever the text. */
export interface Tokenizer {
  /**
   * Tokens of `text` in `encoding`: counted once its vocabulary is loaded, which being asked brings about; estimated by character
   * class before that.
   * @param allowance - shared by the texts of one body, so that many of them take no longer than a single long one; without
   * it each text has an allowance of its own
   */
  count(text: string, encoding: EncodingName, allowance?: Allowance): number;
  /** Whether the vocabulary is there. */
  isReady(encoding: EncodingName): boolean;
  /** Loads vocabularies; resolves when they can be used. Loading again costs nothing. */
  ready(encodings: readonly EncodingName[]): Promise<void>;
}

/** What a tokenizer remembers for each encoding, in bytes. */
const MEMO_BYTES = 8_388_608;
/** Shorter texts are counted as fast as they are looked up; longer ones would push out too many others. In UTF-16 units. */
const MEMO_SHORTEST = 128;
const MEMO_LONGEST = 524_288;

/**
 * A tokenizer over the vocabularies that OpenAI publishes. Vocabularies are shared by the whole process; texts that were
 * counted are remembered by each tokenizer, so that a conversation that grows costs its new messages only.
 *
 * No text takes more than about 10 ms: what an allowance does not cover is extrapolated from evenly spread samples and the
 * classes of its characters. Measured on 17,000 to 170,000 characters of prose, JSON and tool definitions in 19 languages, the
 * error is at most 2 %, mostly under 1 %.
 */
export function createTokenizer(): Tokenizer {
  const memos = new Map<EncodingName, BoundedMap<Counted>>();

  function memoOf(encoding: EncodingName): BoundedMap<Counted> {
    const memo = memos.get(encoding) ?? createBoundedMap({ maxBytes: MEMO_BYTES, sizeOf: (_, text) => text.length * 2 + 128 });
    memos.set(encoding, memo);
    return memo;
  }

  return {
    count(text, encoding, allowance = createAllowance()) {
      if (text === '') return 0;
      const vocabulary = loadedVocabulary(encoding);
      // Nobody listed a model of this kind: the next one is counted.
      if (!vocabulary) void loadVocabulary(encoding, warmUp).catch(() => {});
      const isMemoable = vocabulary !== undefined && text.length >= MEMO_SHORTEST && text.length <= MEMO_LONGEST;
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
