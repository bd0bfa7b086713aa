import type { Usage } from '../call.js';
import { jsonText } from '../tokens/json-text.js';
import type { CompleteAnswer, StreamEvent } from './dialect.js';
import { foldContent } from './gemini-fold.js';
import { either } from './gemini-parts.js';
import { countOf, type Fields, fieldsOf, listOf, MOST_TOKENS, modelOf, nestsDeeper, textOf } from './values.js';

/** Levels of an answer worth keeping, as deep as a function's arguments may go. */
const DEEPEST = 64;

/**
 * Usage of an answer or of a chunk; see `Dialect.usage`. Each chunk tells all of it so far. What tools of the provider brought into
 * the prompt is told apart from it, and so is what was thought from what was said.
 */
export function contentUsage(bodyOrData: unknown): Usage | undefined {
  // A stream that was not asked for as events is a list of its chunks.
  if (Array.isArray(bodyOrData)) return contentUsage(bodyOrData.findLast((chunk) => fieldsOf(chunk)?.usageMetadata));
  const fields = fieldsOf(bodyOrData);
  const usage = fieldsOf(either(fields, 'usageMetadata', 'usage_metadata'));
  if (!fields || !usage) return undefined;
  const inputTokens = sum(usage.promptTokenCount, usage.toolUsePromptTokenCount) || undefined;
  const outputTokens = sum(usage.candidatesTokenCount, usage.thoughtsTokenCount);
  if (inputTokens === undefined && !outputTokens) return undefined;
  return {
    inputTokens,
    outputTokens,
    cachedInputTokens: countOf(usage.cachedContentTokenCount),
    reasoningTokens: countOf(usage.thoughtsTokenCount),
    model: modelOf(fields.modelVersion),
  };
}

/** Of what is known; `undefined` when nothing is. */
function sum(...values: readonly unknown[]): number | undefined {
  const counts = values.map((value) => countOf(value)).filter((count) => count !== undefined);
  return counts.length === 0
    ? undefined
    : Math.min(
        MOST_TOKENS,
        counts.reduce((total, count) => total + count, 0),
      );
}

/** Everything that an answer or a chunk adds to the output; see `Dialect.text`. */
export function generatedText(bodyOrData: unknown): string {
  const chunks = Array.isArray(bodyOrData) ? bodyOrData : [bodyOrData];
  return chunks.map((chunk) => candidatesOf(chunk).map(candidateText).join('')).join('');
}

/** The whole answer; see `Dialect.collect`. */
export function collectContent(
  given: { readonly body: unknown } | { readonly events: readonly StreamEvent[] },
): CompleteAnswer | undefined {
  const body = fieldsOf('body' in given ? given.body : foldContent(given.events));
  if (!body || body.error || nestsDeeper(body, DEEPEST)) return undefined;
  const candidates = listOf(body.candidates).map(fieldsOf);
  // Everything else was cut off, filtered or went wrong.
  if (candidates.length === 0 || !candidates.every((candidate) => candidate?.finishReason === 'STOP')) return undefined;
  const [first = []] = candidates.map(partsOf);
  return {
    model: modelOf(body.modelVersion),
    text: first.map(({ text, thought }) => (thought === true ? '' : textOf(text))).join(''),
    hasToolCalls: candidates.some((candidate) => partsOf(candidate).some(({ functionCall }) => fieldsOf(functionCall))),
    usage: contentUsage(body),
    body,
  };
}

const candidatesOf = (chunk: unknown): readonly unknown[] => listOf(fieldsOf(chunk)?.candidates);

function partsOf(candidate: unknown): Fields[] {
  return listOf(fieldsOf(fieldsOf(candidate)?.content)?.parts).map((part) => fieldsOf(part) ?? {});
}

const candidateText = (candidate: unknown): string => partsOf(candidate).map(partText).join('');

/** What a model wrote: results of code that the provider ran are none of it. */
function partText(part: Fields): string {
  const call = fieldsOf(part.functionCall);
  if (call) return textOf(call.name) + (fieldsOf(call.args) ? jsonText(call.args).text : '');
  return textOf(part.text) + textOf(fieldsOf(part.executableCode)?.code);
}
