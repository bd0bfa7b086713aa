import type { Dialect } from './dialect.js';
import { collectContent, contentUsage, generatedText } from './gemini-answer.js';
import { pathForModel } from './gemini-path.js';
import { readGenerateContent } from './gemini-read.js';
import { renderContent, renderContentError } from './gemini-render.js';
import { rewriteGenerateContent } from './gemini-rewrite.js';

/**
 * Google's generateContent, of the Gemini API and of Vertex AI: JSON and server-sent events.
 *
 * - It reads what is sent to `.../MODEL:generateContent` and `.../MODEL:streamGenerateContent`, where the path names the model and
 *   says whether the answer is a stream. On a route of the application, it takes bodies with a `model` and `contents` that have
 *   parts, or are a text for a model named `gemini-...`; `stream: true` then asks for a stream. Fields may be in camel or in
 *   snake case, and settings, tools and instructions in `config`, as client libraries take them.
 * - {@link Dialect.rewrite} changes a model that the body names; where the path does, {@link Dialect.rewritePath} does it.
 * - Usage counts everything: what tools of the provider added to the prompt, and thoughts as output.
 * - Streams are written as server-sent events, which every client library asks for (`alt=sse`).
 * - Answers that no model gave carry `spillway: { outcome }`: in the body, or in the first chunk.
 */
export const geminiContent: Dialect = {
  name: 'gemini-content',
  read: readGenerateContent,
  rewrite: rewriteGenerateContent,
  rewritePath: pathForModel,
  usage: contentUsage,
  text: generatedText,
  isUsageOnly: () => false,
  collect: collectContent,
  answer: renderContent,
  error: renderContentError,
};
