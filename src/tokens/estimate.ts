import type { Draft, Part, Section } from '../dialects/dialect.js';
import { createAllowance } from './bounded-count.js';
import { baseName, encodingFor, hasKnownEncoding, marksChannels } from './encodings.js';
import { fileTokens } from './files.js';
import { imageTokens } from './images.js';
import { jsonText } from './json-text.js';
import type { Tokenizer } from './tokenizer.js';

/** Where an estimate comes from. */
export interface EstimateBreakdown {
  /** `overhead`: what surrounds the parts and belongs to none of them. */
  readonly kind: 'message' | 'tools' | 'format' | 'overhead';
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

/** Estimates the prompt's tokens of a draft for `model` (the provider's name of it). */
export type EstimatePrompt = (draft: Draft, model: string, tokenizer: Tokenizer, overheads: Overheads) => PromptEstimate;

/** What the beginning of the answer takes in every prompt. */
const PRIMING_TOKENS = 3;
/** What separates a message from the next, and its role: the names of all roles are one token. */
const MESSAGE_TOKENS = 4;
const NAME_TOKENS = 1;
/** A marker for the channel of an answer in the history. */
const CHANNEL_TOKENS = 2;
/** What the gpt-5 family takes for tools, whatever they are, more than other models do (chat completions only). */
const GPT5_TOOLS_TOKENS = 80;

/**
 * Estimates by OpenAI's rules for chat messages, as they follow from the usage it reported in 2023 to 2026: exact for text,
 * names and roles; within a few tokens for calls of tools. Definitions of tools and schemas count as their JSON text, images and
 * files by a default of the model's family. Models of other providers are estimated by the same rules.
 */
export const estimatePrompt: EstimatePrompt = (draft, model, tokenizer, { overheadRatio, imageOverheadRatio }) => {
  const encoding = encodingFor(model);
  const allowance = createAllowance();
  const measure: Measure = {
    model,
    count: (text) => tokenizer.count(text, encoding, allowance),
    hasGuessed: !hasKnownEncoding(model) || !tokenizer.isReady(encoding),
    hasImages: false,
  };
  const breakdown: EstimateBreakdown[] = draft.sections.map((section) => {
    const { kind, role } = section;
    return {
      kind,
      role,
      tokens: kind === 'message' ? messageTokens(section, measure) : definitionTokens(section, measure),
    };
  });
  breakdown.push({ kind: 'overhead', tokens: marksChannels(model) ? PRIMING_TOKENS - 1 : PRIMING_TOKENS });

  const inputTokens = breakdown.reduce((sum, { tokens }) => sum + tokens, 0);
  const ratio = measure.hasImages ? imageOverheadRatio : overheadRatio;
  return {
    inputTokens,
    // Without the small difference 70 * 0.1 would be more than 7.
    heldInputTokens: inputTokens + Math.ceil(inputTokens * ratio - 1e-9),
    confidence: measure.hasGuessed || !allowance.isExact ? 'guessed' : 'counted',
    breakdown,
  };
};

/** How parts are counted, and what was met on the way. */
interface Measure {
  readonly model: string;
  readonly count: (text: string) => number;
  hasGuessed: boolean;
  hasImages: boolean;
}

function messageTokens({ role, name, parts }: Section, measure: Measure): number {
  let tokens = MESSAGE_TOKENS + callsTokens(parts, measure.model);
  for (const part of parts) tokens += partTokens(part, measure);
  if (role === 'assistant' && marksChannels(measure.model)) tokens += CHANNEL_TOKENS;
  // The result of a tool is named by its call; that of a function has a name, but one that is framed more tightly.
  if (name !== undefined && role !== 'tool') tokens += NAME_TOKENS + measure.count(name);
  if (role === 'function') tokens -= 2;
  return tokens;
}

/** What calls of tools take on top of their names and arguments. */
function callsTokens(parts: readonly Part[], model: string): number {
  const calls = parts.reduce((sum, { kind }) => sum + (kind === 'tool-call' ? 1 : 0), 0);
  if (calls === 0) return 0;
  if (isGpt5(model)) return 13 * calls + 1;
  return calls === 1 ? 7 : 23 + 3 * calls;
}

/** gpt-5 and what came after it. */
const isGpt5 = (model: string): boolean => /^gpt-[5-9]/.test(baseName(model));

/** Providers render definitions in a form of their own, mostly a shorter one: their JSON text is a guess on the safe side. */
function definitionTokens({ kind, parts }: Section, measure: Measure): number {
  measure.hasGuessed = true;
  const preamble = kind === 'tools' && isGpt5(measure.model) ? GPT5_TOOLS_TOKENS : 0;
  return parts.reduce((sum, part) => sum + partTokens(part, measure), preamble);
}

function partTokens(part: Part, measure: Measure): number {
  switch (part.kind) {
    case 'text':
      return measure.count(part.text);
    case 'json':
      return jsonTokens(part.value, measure);
    case 'tool-call':
      return measure.count(part.name) + measure.count(part.arguments);
    case 'image':
      measure.hasGuessed = true;
      measure.hasImages = true;
      return imageTokens(measure.model, part.detail);
    case 'file':
      measure.hasGuessed = true;
      return fileTokens(part.media, part.base64Length);
    default:
      return part satisfies never;
  }
}

function jsonTokens(value: unknown, measure: Measure): number {
  const { text, restLength } = jsonText(value);
  const tokens = measure.count(text);
  if (restLength === 0) return tokens;
  measure.hasGuessed = true;
  return Math.ceil(tokens * (1 + restLength / text.length));
}
