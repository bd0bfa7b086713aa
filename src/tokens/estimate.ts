import type { Draft } from '../dialects/dialect.js';
import type { Tokenizer } from './tokenizer.js';

/** Where an estimate comes from. */
export interface EstimateBreakdown {
  readonly kind: 'message' | 'tools' | 'format' | 'overhead';
  readonly role?: string | undefined;
  readonly tokens: number;
}

/** The prompt's tokens before the call. */
export interface PromptEstimate {
  /** Best estimate. */
  readonly inputTokens: number;
  /** The estimate with its overhead: what is held. */
  readonly heldInputTokens: number;
  /** `counted` by the model's own vocabulary, or `guessed` by character class or documented default somewhere. */
  readonly confidence: 'counted' | 'guessed';
  readonly breakdown: readonly EstimateBreakdown[];
}

export interface Overheads {
  /** Added to text estimates. @defaultValue 0.10 */
  readonly overheadRatio: number;
  /** Added when images are present. @defaultValue 0.15 */
  readonly imageOverheadRatio: number;
}

/** Estimates the prompt's tokens of a draft for `model` (the provider's name of it). */
export type EstimatePrompt = (draft: Draft, model: string, tokenizer: Tokenizer, overheads: Overheads) => PromptEstimate;
