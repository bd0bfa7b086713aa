import type { Dialect } from './dialect.js';
import { openaiLimits } from './limits.js';
import { renderError } from './openai-error.js';
import { collectResponse, responseText, responseUsage } from './openai-responses-answer.js';
import { readResponsesBody, rewriteResponsesBody } from './openai-responses-read.js';
import { renderResponse } from './openai-responses-render.js';

/**
 * OpenAI's Responses API, and what compatible servers make of it: JSON and server-sent events.
 *
 * - It reads what is sent to a path that ends in `/responses`. On a route of the application, it takes bodies with an `input` and no
 *   `messages` that do not look like a call for embeddings.
 * - Input that the provider keeps is not in the body, and not counted: earlier responses, conversations, templates, referenced
 *   items, uploaded files, results of tools that it runs itself. Reasoning that comes encrypted is guessed by its length.
 * - A declared output maximum is the largest of `max_output_tokens`, `max_completion_tokens` and `max_tokens`;
 *   {@link Dialect.rewrite} lowers each of them and raises none.
 * - An answer inside a conversation is never collected, for it depends on what was said there before.
 * - Answers that no model gave carry `spillway: { outcome }` in the response, in a stream in its first event too.
 */
export const openaiResponses: Dialect = {
  name: 'openai-responses',
  endpoint: '/v1/responses',
  read: readResponsesBody,
  rewrite: rewriteResponsesBody,
  usage: responseUsage,
  text: responseText,
  isUsageOnly: () => false,
  collect: collectResponse,
  answer: renderResponse,
  error: renderError,
  limits: openaiLimits,
};
