import type { Draft, Section } from '../dialects/dialect.js';
import { createAllowance } from './allowance.js';
import { claudeRules } from './anthropic-rules.js';
import { encodingFor, hasKnownEncoding } from './encodings.js';
import { geminiRules } from './gemini-rules.js';
import { createJsonLeft, jsonText } from './json-text.js';
import { createLooks } from './looks.js';
import { openaiRules } from './openai-rules.js';
import type { Measure } from './rules.js';
import { jsonParts, textLength } from './text-length.js';
import type { Tokenizer } from './tokenizer.js';
import { createSizes, type TellImageSize } from './told-sizes.js';

export type { Measure, Rules } from './rules.js';

/** Where an estimate comes from. */
export interface EstimateBreakdown {
  /** `overhead`: what surrounds the parts and belongs to none of them. */
  readonly kind: Section['kind'] | 'overhead';
  readonly role?: string | undefined;
  readonly tokens: number;
}

/** The prompt's tokens before the call. */
export interface PromptEstimate {
  /** Best estimate. A whole number, 1 or more. */
  readonly inputTokens: number;
  /** The estimate with its overhead: what is held. */
  readonly heldInputTokens: number;
  /** `counted` by the model's own vocabulary, or `guessed` by character class or documented default somewhere. */
  readonly confidence: 'counted' | 'guessed';
  /** In the order of the prompt; its tokens add up to `inputTokens`. */
  readonly breakdown: readonly EstimateBreakdown[];
}

export interface Overheads {
  /** Added to text estimates. @defaultValue 0.10 */
  readonly overheadRatio: number;
  /** Added when images are present. @defaultValue 0.15 */
  readonly imageOverheadRatio: number;
}

/** How prompts are estimated, as the application says. */
export interface EstimateSettings extends Overheads {
  /** Tokens for each token that the rules come to. @defaultValue 1 */
  readonly tokenFactor?: number | undefined;
  /** @defaultValue sizes are known of data URLs only */
  readonly imageSize?: TellImageSize | undefined;
}

/** Estimates the prompt's tokens of a draft for `model` (the provider's name of it, or of one that counts like it). */
export type EstimatePrompt = (draft: Draft, model: string, tokenizer: Tokenizer, settings: EstimateSettings) => PromptEstimate;

/** Estimates by the rules of the model's provider; those of OpenAI count for models that are not known. */
export const estimatePrompt: EstimatePrompt = (draft, model, tokenizer, settings) => {
  const { overheadRatio, imageOverheadRatio, tokenFactor = 1, imageSize } = settings;
  const encoding = encodingFor(model);
  const allowance = createAllowance(textLength(draft));
  const jsonLeft = createJsonLeft(jsonParts(draft));
  const jsonSeen = { tokens: 0, length: 0 };
  const measure: Measure = {
    model,
    hasSystem: draft.sections.some(({ role }) => role === 'system' || role === 'developer'),
    hasTools: draft.sections.some(({ kind }) => kind === 'tools'),
    count: (text) => tokenizer.count(text, encoding, allowance),
    writeJson: (value) => jsonText(value, jsonLeft),
    countJson: (value) => jsonTokens(value, measure, jsonSeen),
    sizeOf: createSizes(draft.model, imageSize),
    lookInto: createLooks(),
    hasGuessed: tokenFactor !== 1 || !hasKnownEncoding(model) || !tokenizer.isReady(encoding),
    hasImages: false,
  };
  const rules = claudeRules(model, draft) ?? geminiRules(model, draft) ?? openaiRules(model, draft);
  const scaled = (tokens: number) => (tokenFactor === 1 ? tokens : Math.ceil(tokens * tokenFactor - 1e-9));
  const breakdown: EstimateBreakdown[] = draft.sections.map((section) => ({
    kind: section.kind,
    role: section.role,
    tokens: scaled(rules.sectionTokens(section, measure)),
  }));
  const within = breakdown.reduce((sum, { tokens }) => sum + tokens, 0);
  const overhead = scaled(rules.overheadTokens(within));
  breakdown.push({ kind: 'overhead', tokens: overhead });

  const inputTokens = within + overhead;
  const ratio = measure.hasImages ? imageOverheadRatio : overheadRatio;
  return {
    inputTokens,
    // Without the small difference 100 * 0.07 would be more than 7.
    heldInputTokens: inputTokens + Math.ceil(inputTokens * ratio - 1e-9),
    confidence: measure.hasGuessed || !allowance.isExact ? 'guessed' : 'counted',
    breakdown,
  };
};

/** Shortest text that speaks for the rest of its own value, in UTF-16 units. */
const LEAST_SAMPLE = 1_024;

/** @param seen - JSON of the same body: what is missing of a value that was hardly written is like that */
function jsonTokens(value: unknown, measure: Measure, seen: { tokens: number; length: number }): number {
  const { text, restLength } = measure.writeJson(value);
  const tokens = measure.count(text);
  seen.tokens += tokens;
  seen.length += text.length;
  if (restLength === 0) return tokens;
  measure.hasGuessed = true;
  const rate = text.length < LEAST_SAMPLE ? seen.tokens / seen.length : tokens / text.length;
  return Math.ceil(tokens + rate * restLength);
}
