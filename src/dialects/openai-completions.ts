import type { Dialect } from './dialect.js';
import { openaiLimits } from './limits.js';
import { collectCompletion, completionText } from './openai-completions-answer.js';
import { readCompletionsBody, rewriteCompletionsBody } from './openai-completions-read.js';
import { renderCompletion } from './openai-completions-render.js';
import { renderError } from './openai-error.js';
import { completionUsage, isUsageChunk } from './openai-usage.js';

/**
 * OpenAI's older completions, which go on with a prompt, and what compatible servers make of them: JSON and server-sent events.
 *
 * - It reads what is sent to a path that ends in `/completions` and not in `/chat/completions`. On a route of the application, it
 *   takes bodies with a `prompt` that is a text or a list, and neither `messages` nor an `input`.
 * - Each prompt of a list is answered on its own: the output counts for each of them, times `n` or `best_of`, whichever is more.
 * - Answers that no model gave carry `spillway: { outcome }`: in the body, or in the first chunk.
 */
export const openaiCompletions: Dialect = {
  name: 'openai-completions',
  endpoint: '/v1/completions',
  read: readCompletionsBody,
  rewrite: rewriteCompletionsBody,
  usage: completionUsage,
  text: completionText,
  isUsageOnly: ({ data }) => isUsageChunk(data),
  collect: collectCompletion,
  answer: renderCompletion,
  error: renderError,
  limits: openaiLimits,
};
