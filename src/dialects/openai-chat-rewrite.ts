import { isReasoningModel } from '../tokens/encodings.js';
import type { Rewrite } from './dialect.js';
import { type MaximumField, withMaximum } from './openai-maximum.js';
import { withUsage } from './openai-usage.js';
import { copyable, type Fields, MOST_TOKENS, maximumOf, textOf } from './values.js';

/** Changes a chat completions body; see `Dialect.rewrite`. */
export function rewriteChat(body: unknown, change: Rewrite): unknown {
  const fields = copyable(body);
  if (!fields) return body;
  let changed: Fields = change.model === undefined ? { ...fields } : forModel({ ...fields, model: change.model }, change.model);
  if (change.maximumOutputTokens !== undefined)
    changed = withMaximum(changed, change.maximumOutputTokens, fieldFor(changed.model));
  return change.includeUsage ? withUsage(changed) : changed;
}

/** Reasoning models refuse `max_tokens`: a substitute of that family gets the same maximum in the field it knows. */
function forModel(fields: Fields, model: string): Fields {
  if (maximumOf(fields.max_tokens, MOST_TOKENS) === undefined || !isReasoningModel(model)) return fields;
  const { max_tokens: maximum, ...others } = fields;
  return { max_completion_tokens: maximum, ...others };
}

/** Compatible servers often know max_tokens only; OpenAI's models take it but for those that reason. */
function fieldFor(model: unknown): MaximumField {
  return isReasoningModel(textOf(model)) ? 'max_completion_tokens' : 'max_tokens';
}
