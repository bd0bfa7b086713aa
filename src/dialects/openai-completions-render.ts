import type { Answer, Call, Rendered } from '../call.js';
import { choicesShown } from './openai-completions-read.js';
import { usageFields } from './openai-usage.js';
import { type Fields, fieldsOf, listOf, textOf } from './values.js';
import { JSON_HEADERS, pieces, STREAM_HEADERS } from './writing.js';

/** Choices that a prepared text is repeated in: a list of prompts must not make a long answer of it. */
const MOST_REPEATED = 128;

/** Writes an answer as a completion or as its chunks; see `Dialect.answer`. */
export function renderCompletion(answer: Answer, call: Call): Rendered {
  const status = answer.kind === 'deferred' ? 202 : 200;
  const spillway = { outcome: answer.kind };
  const body = fieldsOf(answer.body) ?? freshCompletion(answer, Math.min(MOST_REPEATED, choicesShown(call.body)));
  if (!call.stream) return { status, headers: JSON_HEADERS, body: JSON.stringify({ ...body, spillway }) };
  return { status, headers: STREAM_HEADERS, body: writeEvents(body, spillway, call.draft?.wantsUsage ?? false) };
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

/** The chunks of a completion, choice by choice; the first one carries the mark. */
function writeEvents(body: Fields, spillway: Fields, wantsUsage: boolean): string {
  const { id, created, model } = body;
  const head = { id: id ?? 'cmpl-spillway', object: 'text_completion', created: created ?? 0, model };
  const usage = wantsUsage ? { usage: null } : {};
  const chunks: Fields[] = listOf(body.choices)
    .flatMap((choice) => writeChoice(fieldsOf(choice) ?? {}))
    .map((choice, at) => ({ ...head, choices: [choice], ...usage, ...(at === 0 ? { spillway } : {}) }));
  if (wantsUsage) chunks.push({ ...head, choices: [], usage: fieldsOf(body.usage) ?? usageFields(undefined) });
  return `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`;
}

function writeChoice({ text, index = 0, logprobs = null, finish_reason = 'stop' }: Fields): Fields[] {
  const deltas = pieces(textOf(text)).map((piece) => ({ text: piece, index, logprobs: null, finish_reason: null }));
  return [...deltas, { text: '', index, logprobs, finish_reason }];
}
