import type { Answer, Call, Rendered } from '../call.js';
import { contentText, REASONING_FIELDS } from './openai-chat-fold.js';
import { type ChunkKind, writeChunks } from './openai-chunks.js';
import { usageFields } from './openai-usage.js';
import { type Fields, fieldsOf, listOf, textOf } from './values.js';
import { JSON_HEADERS, pieces, STREAM_HEADERS } from './writing.js';

/** Writes an answer as a completion or as its chunks; see `Dialect.answer`. */
export function renderAnswer(answer: Answer, call: Call): Rendered {
  const status = answer.kind === 'deferred' ? 202 : 200;
  const spillway = { outcome: answer.kind };
  const body = fieldsOf(answer.body) ?? freshCompletion(answer, call.draft?.choices ?? 1);
  if (!call.stream) return { status, headers: JSON_HEADERS, body: JSON.stringify({ ...body, spillway }) };
  return { status, headers: STREAM_HEADERS, body: writeChunks(CHUNKS, body, spillway, call.draft?.wantsUsage ?? false) };
}

/** A completion with the same text in each choice. It has no time of its own, for nothing here reads a clock. */
function freshCompletion({ kind, model, text, usage }: Answer, choices: number): Fields {
  return {
    id: `chatcmpl-spillway-${kind}-${crypto.randomUUID()}`,
    object: 'chat.completion',
    created: 0,
    model,
    choices: Array.from({ length: choices }, (_, index) => ({
      index,
      message: { role: 'assistant', content: text, refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    })),
    usage: usageFields(usage),
  };
}

const CHUNKS: ChunkKind = { id: 'chatcmpl-spillway', object: 'chat.completion.chunk', writeChoice };

function writeChoice(choice: Fields): Fields[] {
  const index = choice.index ?? 0;
  const message = fieldsOf(choice.message) ?? {};
  const deltas: Fields[] = [{ role: 'assistant', content: '' }];
  for (const name of REASONING_FIELDS) deltas.push(...pieces(textOf(message[name])).map((piece) => ({ [name]: piece })));
  deltas.push(...pieces(contentText(message.content)).map((content) => ({ content })));
  deltas.push(...pieces(textOf(message.refusal)).map((refusal) => ({ refusal })));
  deltas.push(...listOf(message.tool_calls).flatMap((call, at) => writeToolCall(fieldsOf(call) ?? {}, at)));
  const called = fieldsOf(message.function_call);
  if (called) deltas.push(...writeCalled(called).map((part) => ({ function_call: part })));
  return [
    ...deltas.map((delta) => ({ index, delta, logprobs: null, finish_reason: null })),
    { index, delta: {}, logprobs: null, finish_reason: choice.finish_reason ?? 'stop' },
  ];
}

/** A call's name and identifier first, then its arguments piece by piece. */
function writeToolCall(call: Fields, index: number): Fields[] {
  const { id, type = 'function' } = call;
  const called = fieldsOf(call.function);
  if (!called) return [{ tool_calls: [{ ...call, index }] }];
  return writeCalled(called).map((part, at) => ({
    tool_calls: [at === 0 ? { index, id, type, function: part } : { index, function: part }],
  }));
}

function writeCalled({ name, arguments: given }: Fields): Fields[] {
  return [{ name, arguments: '' }, ...pieces(textOf(given)).map((piece) => ({ arguments: piece }))];
}
