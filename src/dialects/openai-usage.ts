import type { Usage } from '../call.js';
import { copyable, countOf, type Fields, fieldsOf, modelOf } from './values.js';

/** Usage as completions of chats and of prompts report it, in JSON and in chunks; see `Dialect.usage`. */
export function completionUsage(bodyOrData: unknown): Usage | undefined {
  const fields = fieldsOf(bodyOrData);
  const usage = fieldsOf(fields?.usage);
  if (!fields || !usage) return undefined;
  const inputTokens = countOf(usage.prompt_tokens) || undefined;
  const outputTokens = countOf(usage.completion_tokens);
  // Servers that fill in zeros have counted nothing.
  if (inputTokens === undefined && !outputTokens) return undefined;
  return {
    inputTokens,
    outputTokens,
    cachedInputTokens: countOf(fieldsOf(usage.prompt_tokens_details)?.cached_tokens),
    reasoningTokens: countOf(fieldsOf(usage.completion_tokens_details)?.reasoning_tokens),
    model: modelOf(fields.model),
  };
}

/** Whether a chunk only carries usage: Azure's first chunk has no choices either, but says nothing of usage. */
export function isUsageChunk(data: unknown): boolean {
  const fields = fieldsOf(data);
  return Array.isArray(fields?.choices) && fields.choices.length === 0 && fieldsOf(fields.usage) !== undefined;
}

/** Usage as completions report it; zeros for what is not known. */
export function usageFields(usage: Usage | undefined): Fields {
  const { inputTokens = 0, outputTokens = 0 } = usage ?? {};
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens };
}

/** The body with usage asked for in its stream; the same when it asks for no stream. */
export function withUsage(fields: Fields): Fields {
  if (fields.stream !== true) return fields;
  return { ...fields, stream_options: { ...copyable(fields.stream_options), include_usage: true } };
}

/** Whether a body asks for usage in its stream. */
export function wantsUsage(fields: Fields): boolean {
  return fields.stream === true && fieldsOf(fields.stream_options)?.include_usage === true;
}
