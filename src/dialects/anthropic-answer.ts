import type { Usage } from '../call.js';
import { jsonText } from '../tokens/json-text.js';
import { CALLS, foldEvents } from './anthropic-fold.js';
import type { CompleteAnswer, StreamEvent } from './dialect.js';
import { countOf, type Fields, fieldsOf, listOf, MOST_TOKENS, modelOf, nestsDeeper, textOf } from './values.js';

/** Ends of a message that is whole; everything else was cut off, refused or goes on. */
const GOOD_ENDS = new Set<unknown>(['end_turn', 'stop_sequence', 'tool_use']);
/** Levels of an answer worth keeping, as deep as a tool's input may go. */
const DEEPEST = 64;

/**
 * Usage of a message or of an event; see `Dialect.usage`. The prompt is what was neither read from the cache nor written to it,
 * and both of these.
 */
export function messageUsage(bodyOrData: unknown): Usage | undefined {
  const fields = fieldsOf(bodyOrData);
  const isStart = fields?.type === 'message_start';
  const message = isStart ? fieldsOf(fields.message) : fields;
  const usage = fieldsOf(message?.usage);
  if (!usage) return undefined;
  // A stream begins with a placeholder: were it believed, whoever leaves early would have had the rest for nothing.
  const outputTokens = isStart ? undefined : countOf(usage.output_tokens);
  const model = modelOf(message?.model);
  const cachedInputTokens = countOf(usage.cache_read_input_tokens);
  const cacheWriteTokens = countOf(usage.cache_creation_input_tokens);
  const inputTokens = (countOf(usage.input_tokens) ?? 0) + (cachedInputTokens ?? 0) + (cacheWriteTokens ?? 0);
  const reasoningTokens = countOf(fieldsOf(usage.output_tokens_details)?.thinking_tokens);
  // Zeros say that nothing was counted: what the beginning of the stream told of the prompt stays.
  if (inputTokens === 0) return outputTokens ? { inputTokens: undefined, outputTokens, reasoningTokens, model } : undefined;
  return {
    inputTokens: Math.min(MOST_TOKENS, inputTokens),
    outputTokens,
    cachedInputTokens,
    cacheWriteTokens,
    reasoningTokens,
    model,
  };
}

/** Everything that a message or an event adds to the output; see `Dialect.text`. */
export function messageText(bodyOrData: unknown): string {
  const fields = fieldsOf(bodyOrData);
  switch (fields?.type) {
    case 'message_start':
      return contentText(fieldsOf(fields.message)?.content);
    case 'content_block_start':
      return blockText(fields.content_block);
    case 'content_block_delta': {
      const { text, thinking, partial_json } = fieldsOf(fields.delta) ?? {};
      return textOf(text) + textOf(thinking) + textOf(partial_json);
    }
    default:
      return contentText(fields?.content);
  }
}

/** The whole answer; see `Dialect.collect`. */
export function collectMessage(
  given: { readonly body: unknown } | { readonly events: readonly StreamEvent[] },
): CompleteAnswer | undefined {
  const body = fieldsOf('body' in given ? given.body : foldEvents(given.events));
  if (!body || body.error || !GOOD_ENDS.has(body.stop_reason) || !Array.isArray(body.content)) return undefined;
  if (nestsDeeper(body, DEEPEST)) return undefined;
  const blocks = body.content.map((block: unknown) => fieldsOf(block) ?? {});
  return {
    model: modelOf(body.model),
    text: blocks.map(({ type, text }) => (type === 'text' ? textOf(text) : '')).join(''),
    hasToolCalls: blocks.some(({ type }) => type === 'tool_use'),
    usage: messageUsage(body),
    body,
  };
}

const contentText = (content: unknown): string => listOf(content).map(blockText).join('');

/** What a model wrote: results of tools that the provider runs are none of it. */
function blockText(value: unknown): string {
  const block: Fields = fieldsOf(value) ?? {};
  if (block.type === 'text') return textOf(block.text);
  if (block.type === 'thinking') return textOf(block.thinking);
  return CALLS.has(block.type) ? textOf(block.name) + inputText(fieldsOf(block.input) ?? {}) : '';
}

/** A call begins with an empty input, and has none where the tool takes none. */
const inputText = (input: Fields): string => (Object.keys(input).length === 0 ? '' : jsonText(input).text);
