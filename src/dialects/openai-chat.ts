import type { Dialect } from './dialect.js';
import { openaiLimits } from './limits.js';
import { chatText, collectChat } from './openai-chat-answer.js';
import { readChat } from './openai-chat-read.js';
import { renderAnswer } from './openai-chat-render.js';
import { rewriteChat } from './openai-chat-rewrite.js';
import { renderError } from './openai-error.js';
import { completionUsage, isUsageChunk } from './openai-usage.js';

/**
 * OpenAI's chat completions, and what compatible servers make of them: JSON and server-sent events.
 *
 * - A declared output maximum is the largest of `max_tokens`, `max_completion_tokens` and `max_output_tokens`; what is no
 *   positive number counts as not declared.
 * - {@link Dialect.rewrite} lowers every field that declares one and never raises any. A substitute that reasons gets the
 *   maximum in `max_completion_tokens`, for it refuses `max_tokens`.
 * - Answers that no model gave carry `spillway: { outcome }`: in the body, or in the first chunk.
 */
export const openaiChat: Dialect = {
  name: 'openai-chat',
  endpoint: '/v1/chat/completions',
  read: readChat,
  rewrite: rewriteChat,
  usage: completionUsage,
  text: chatText,
  isUsageOnly: ({ data }) => isUsageChunk(data),
  collect: collectChat,
  answer: renderAnswer,
  error: renderError,
  limits: openaiLimits,
};
