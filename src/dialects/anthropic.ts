import { collectMessage, messageText, messageUsage } from './anthropic-answer.js';
import { readMessagesBody } from './anthropic-read.js';
import { renderMessage, renderMessageError } from './anthropic-render.js';
import { rewriteMessagesBody } from './anthropic-rewrite.js';
import type { Dialect } from './dialect.js';
import { anthropicLimits } from './limits.js';

/**
 * Anthropic's messages, and what compatible servers make of them: JSON and server-sent events.
 *
 * - It reads what is sent to a path that ends in `/messages`. On a route of the application, it takes bodies that only it has
 *   (`system` beside the messages, tools with `input_schema`, blocks such as `tool_result`), and those for a model named
 *   `claude...` that nothing marks as a chat completion.
 * - Usage counts the whole prompt: `input_tokens` and what was written to the cache or read from it.
 * - {@link Dialect.rewrite} lowers `max_tokens`, and a budget for thinking with it, which must stay smaller; where that leaves
 *   less than the API takes, thinking is disabled.
 * - Answers that no model gave carry `spillway: { outcome }`: in the body, or in the first event and the message it begins.
 */
export const anthropicMessages: Dialect = {
  name: 'anthropic-messages',
  endpoint: '/v1/messages',
  read: readMessagesBody,
  rewrite: rewriteMessagesBody,
  usage: messageUsage,
  text: messageText,
  isUsageOnly: () => false,
  collect: collectMessage,
  answer: renderMessage,
  error: renderMessageError,
  limits: anthropicLimits,
};
