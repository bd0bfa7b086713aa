import type { Answer, Rendered, Usage } from '../call.js';
import type { CompleteAnswer, Dialect, Draft, Rewrite, StreamEvent } from './dialect.js';
import { openaiLimits } from './limits.js';
import { renderError } from './openai-error.js';
import { inputKind } from './openai-input.js';
import { readPrompts } from './openai-prompts.js';
import { copyable, countOf, fieldsOf, listOf, modelOf, nestsDeeper } from './values.js';
import { JSON_HEADERS } from './writing.js';

/** Levels of an answer worth keeping, apart from its vectors. */
const DEEPEST = 64;

/**
 * OpenAI's embeddings, and what compatible servers make of them: JSON only. Nothing is generated, so that the output maximum is 0.
 *
 * - It reads what is sent to a path that ends in `/embeddings`. On a route of the application, it takes bodies with an `input` for a
 *   model whose name speaks of embedding, and lists of texts or of tokens that nothing marks as a call for a response.
 * - Vectors are for programs: {@link Draft.hasFormat} is always true. A text that is to be given in the place of vectors becomes the
 *   message of an error.
 * - Kept answers carry `spillway: { outcome }` in the body.
 */
export const openaiEmbeddings: Dialect = {
  name: 'openai-embeddings',
  endpoint: '/v1/embeddings',
  read: readEmbeddingsBody,
  rewrite: rewriteEmbeddingsBody,
  usage: embeddingsUsage,
  text: () => '',
  isUsageOnly: () => false,
  collect: collectEmbeddings,
  answer: renderEmbeddings,
  error: renderError,
  limits: openaiLimits,
};

function readEmbeddingsBody(body: unknown, path?: string): Draft | undefined {
  const fields = fieldsOf(body);
  const model = modelOf(fields?.model);
  if (!fields || model === undefined || inputKind(fields, path) !== 'embeddings') return undefined;
  return {
    model,
    stream: false,
    wantsUsage: false,
    maximumOutputTokens: 0,
    choices: 1,
    hasTools: false,
    hasFormat: true,
    sections: [readPrompts(fields.input).section],
  };
}

function rewriteEmbeddingsBody(body: unknown, { model }: Rewrite): unknown {
  if (model === undefined) return body;
  const fields = copyable(body);
  return fields ? { ...fields, model } : body;
}

function embeddingsUsage(body: unknown): Usage | undefined {
  const fields = fieldsOf(body);
  const inputTokens = countOf(fieldsOf(fields?.usage)?.prompt_tokens) || undefined;
  return inputTokens === undefined ? undefined : { inputTokens, outputTokens: 0, model: modelOf(fields?.model) };
}

function collectEmbeddings(
  given: { readonly body: unknown } | { readonly events: readonly StreamEvent[] },
): CompleteAnswer | undefined {
  const body = fieldsOf('body' in given ? given.body : undefined);
  const data = listOf(body?.data);
  if (!body || body.error || data.length === 0 || !data.every(isVector)) return undefined;
  const frame = { ...body, data: data.map((item) => ({ ...fieldsOf(item), embedding: null })) };
  if (nestsDeeper(frame, DEEPEST)) return undefined;
  return { model: modelOf(body.model), text: '', hasToolCalls: false, usage: embeddingsUsage(body), body };
}

/** Numbers, or base64 of them. */
function isVector(value: unknown): boolean {
  const vector = fieldsOf(value)?.embedding;
  return typeof vector === 'string' || (Array.isArray(vector) && vector.every((item) => typeof item === 'number'));
}

function renderEmbeddings({ kind, body, text }: Answer): Rendered {
  const fields = fieldsOf(body);
  if (!fields) return renderError({ status: 503, kind: 'closed', message: text });
  return { status: 200, headers: JSON_HEADERS, body: JSON.stringify({ ...fields, spillway: { outcome: kind } }) };
}
