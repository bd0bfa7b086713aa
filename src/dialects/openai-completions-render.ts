import type { Answer, Call, Rendered } from '../call.js';
import { type ChunkKind, writeChunks } from './openai-chunks.js';
import { choicesShown } from './openai-completions-read.js';
import { usageFields } from './openai-usage.js';
import { type Fields, fieldsOf, textOf } from './values.js';
import { JSON_HEADERS, pieces, STREAM_HEADERS } from './writing.js';

/** Choices that a prepared text is repeated in: a list of prompts must not make a long answer of it. */
const MOST_REPEATED = 128;

/** Writes an answer as a completion or as its chunks; see `Dialect.answer`. */
export function renderCompletion(answer: Answer, call: Call): Rendered {
  const status = answer.kind === 'deferred' ? 202 : 200;
  const spillway = { outcome: answer.kind };
  const body = fieldsOf(answer.body) ?? freshCompletion(answer, Math.min(MOST_REPEATED, choicesShown(call.body)));
  if (!call.stream) return { status, headers: JSON_HEADERS, body: JSON.stringify({ ...body, spillway }) };
  return { status, headers: STREAM_HEADERS, body: writeChunks(CHUNKS, body, spillway, call.draft?.wantsUsage ?? false) };
}

/** A completion with the same text in each choice. It has no time of its own, for nothing here reads a clock. */
function freshCompletion({ kind, model, text, usage }: Answer, choices: number): Fields {
  return {
    id: `cmpl-spillway-${kind}-${crypto.randomUUID()}`,
    object: 'text_completion',
    created: 0,
    model,
    choices: Array.from({ length: choices }, (_, index) => ({ text, index, logprobs: null, finish_reason: 'stop' })),
    usage: usageFields(usage),
  };
}

const CHUNKS: ChunkKind = { id: 'cmpl-spillway', object: 'text_completion', writeChoice };

function writeChoice({ text, index = 0, logprobs = null, finish_reason = 'stop' }: Fields): Fields[] {
  const deltas = pieces(textOf(text)).map((piece) => ({ text: piece, index, logprobs: null, finish_reason: null }));
  return [...deltas, { text: '', index, logprobs, finish_reason }];
}
