/** Encodings that models use; see the prefix table in `encodings.ts`. */
export type EncodingName = 'o200k_base' | 'cl100k_base' | 'p50k_base' | 'r50k_base';

/** Counts the tokens of text. Never throws, never blocks for long, whatever the text. */
export interface Tokenizer {
  /** Tokens of `text` in `encoding`: counted once its vocabulary is loaded, estimated by character class before that. */
  count(text: string, encoding: EncodingName): number;
  /** Whether the vocabulary is there. */
  isReady(encoding: EncodingName): boolean;
  /** Loads vocabularies; resolves when they can be used. Loading again costs nothing. */
  ready(encodings: readonly EncodingName[]): Promise<void>;
}
