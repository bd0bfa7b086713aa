import type { Draft, Part, Section } from '../dialects/dialect.js';
import { claudeRules } from './anthropic-rules.js';
import { createAllowance } from './bounded-count.js';
import { baseName, encodingFor, hasKnownEncoding, marksChannels } from './encodings.js';
import { fileTokens } from './files.js';
import { imageSize } from './image-size.js';
import { imageTokens } from './images.js';
import { jsonText } from './json-text.js';
import { shownSchema } from './schema-text.js';
import type { Tokenizer } from './tokenizer.js';
import { type FunctionDefinition, functionOf, toolText } from './tool-text.js';

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
const GPT5_TOOLS_TOKENS = 89;
/** What surrounds the schema of an answer, by API. */
const RESPONSE_FORMAT_TOKENS = 6;
const CHAT_FORMAT_TOKENS = 11;
/** Functions that are written as models see them. */
const MOST_FUNCTIONS = 2_000;
/** Of the word that one function must be called, beside its name. */
const CHOICE_TOKENS = 7;

/**
 * Estimates by OpenAI's rules for chat messages, as they follow from the usage it reported in 2023 to 2026: exact for text,
 * names and roles; within a few tokens for calls of tools. Definitions of tools and schemas count as their JSON text, images and
 * files by a default of the model's family. Claude has rules of its own; all other models are estimated by these.
 */
export const estimatePrompt: EstimatePrompt = (draft, model, tokenizer, { overheadRatio, imageOverheadRatio }) => {
  const encoding = encodingFor(model);
  const allowance = createAllowance();
  const measure: Measure = {
    model,
    isResponse: draft.rules === 'responses',
    hasSystem: draft.sections.some(({ role }) => role === 'system' || role === 'developer'),
    count: (text) => tokenizer.count(text, encoding, allowance),
    countJson: (value) => jsonTokens(value, measure),
    hasGuessed: !hasKnownEncoding(model) || !tokenizer.isReady(encoding),
    hasImages: false,
  };
  const rules = claudeRules(model, draft) ?? { sectionTokens, overheadTokens: (within) => overheadTokens(draft, model, within) };
  const breakdown: EstimateBreakdown[] = draft.sections.map((section) => ({
    kind: section.kind,
    role: section.role,
    tokens: rules.sectionTokens(section, measure),
  }));
  const within = breakdown.reduce((sum, { tokens }) => sum + tokens, 0);
  const overhead = rules.overheadTokens(within);
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

/** How a provider counts: what surrounds texts, and how much they take. */
export interface Rules {
  /** A whole number. */
  sectionTokens(section: Section, measure: Measure): number;
  /** @param within - tokens of all sections */
  overheadTokens(within: number): number;
}

/** How parts are counted, and what was met on the way. */
export interface Measure {
  readonly model: string;
  readonly isResponse: boolean;
  /** Whether somebody instructs the model. */
  readonly hasSystem: boolean;
  readonly count: (text: string) => number;
  /** Of its JSON text. */
  readonly countJson: (value: unknown) => number;
  hasGuessed: boolean;
  hasImages: boolean;
}

/** What surrounds all sections: a prompt is taken as it is, but not even an empty one is free. */
function overheadTokens({ sections }: Draft, model: string, within: number): number {
  if (sections.some(({ kind }) => kind === 'prompt')) return within === 0 ? 1 : 0;
  return marksChannels(model) ? PRIMING_TOKENS - 1 : PRIMING_TOKENS;
}

function sectionTokens(section: Section, measure: Measure): number {
  switch (section.kind) {
    case 'message':
      return messageTokens(section, measure);
    case 'prompt':
      return section.parts.reduce((sum, part) => sum + partTokens(part, measure), 0);
    case 'tools':
    case 'format':
      return definitionTokens(section, measure);
    default:
      return section.kind satisfies never;
  }
}

function messageTokens({ role, name, parts }: Section, measure: Measure): number {
  let tokens = MESSAGE_TOKENS + callsTokens(parts, measure);
  for (const part of parts) tokens += partTokens(part, measure);
  if (role === 'assistant' && marksChannels(measure.model)) tokens += CHANNEL_TOKENS;
  // The result of a tool is named by its call; that of a function has a name, but one that is framed more tightly.
  if (name !== undefined && role !== 'tool') tokens += NAME_TOKENS + measure.count(name);
  if (role === 'function') tokens -= 2;
  return tokens;
}

/** What calls of tools take on top of their names and arguments. */
function callsTokens(parts: readonly Part[], { model, isResponse }: Measure): number {
  const calls = parts.reduce((sum, { kind }) => sum + (kind === 'tool-call' ? 1 : 0), 0);
  if (calls === 0) return 0;
  if (isResponse) return calls * (isGpt5(model) ? 14 : 8);
  if (isGpt5(model)) return 13 * calls + 1;
  return calls === 1 ? 7 : 23 + 3 * calls;
}

/** gpt-5 and what came after it. */
const isGpt5 = (model: string): boolean => /^gpt-[5-9]/.test(baseName(model));

/** Schemas of answers, and tools of models that are not known: their JSON text is a guess on the safe side. */
function definitionTokens({ kind, parts, mustCallName }: Section, measure: Measure): number {
  measure.hasGuessed = true;
  const choice = mustCallName === undefined || isGpt5(measure.model) ? 0 : CHOICE_TOKENS + measure.count(mustCallName);
  if (hasKnownEncoding(measure.model))
    return kind === 'tools' ? choice + toolTokens(parts, measure) : formatTokens(parts, measure);
  return parts.reduce((sum, part) => sum + partTokens(part, measure), choice);
}

/** The schema of an answer as OpenAI's models see it. */
function formatTokens(parts: readonly Part[], measure: Measure): number {
  const overhead = measure.isResponse ? RESPONSE_FORMAT_TOKENS : CHAT_FORMAT_TOKENS;
  return parts.reduce(
    (sum, part) => sum + partTokens(part.kind === 'json' ? { ...part, value: shownSchema(part.value) } : part, measure),
    overhead,
  );
}

/** Functions as OpenAI's models see them; tools of other kinds, and more than anybody means to give, as JSON. */
function toolTokens(parts: readonly Part[], measure: Measure): number {
  const functions: FunctionDefinition[] = [];
  const others: unknown[] = [];
  const values = parts.flatMap((part) => (part.kind === 'json' ? part.value : []));
  for (const value of values.length <= MOST_FUNCTIONS ? values : []) {
    const definition = functionOf(value);
    if (definition) functions.push(definition);
    else others.push(value);
  }
  const written = functions.length > 0 ? toolText(functions) : undefined;
  if (!written) return measure.countJson(values);
  const rest = others.length > 0 ? measure.countJson(others) : 0;
  return rest + measure.count(written.text) - written.bareFunctions + toolsOverhead(measure);
}

/** What comes with functions, whatever they are. */
function toolsOverhead({ model, isResponse, hasSystem }: Measure): number {
  if (isResponse) return isGpt5(model) ? 9 : 3;
  if (isGpt5(model)) return GPT5_TOOLS_TOKENS;
  return hasSystem ? 5 : 9;
}

function partTokens(part: Part, measure: Measure): number {
  switch (part.kind) {
    case 'text':
      return measure.count(part.text);
    case 'json':
      return measure.countJson(part.value);
    case 'tool-call':
      return measure.count(part.name) + measure.count(part.arguments);
    case 'tokens':
      measure.hasGuessed ||= part.isGuessed ?? false;
      return part.count;
    case 'image':
      measure.hasGuessed = true;
      measure.hasImages = true;
      return imageTokens(measure.model, part.detail, imageSize(part.url));
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
