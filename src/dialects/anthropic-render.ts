import type { Answer, Call, Rendered, Usage } from '../call.js';
import { CALLS } from './anthropic-fold.js';
import type { Complaint } from './dialect.js';
import { type Fields, fieldsOf, listOf, textOf } from './values.js';
import { JSON_HEADERS, pieces, STREAM_HEADERS } from './writing.js';

const NOTHING = { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 };

/** Writes an answer as a message or as its events; see `Dialect.answer`. */
export function renderMessage(answer: Answer, call: Call): Rendered {
  const status = answer.kind === 'deferred' ? 202 : 200;
  const body = fieldsOf(answer.body) ?? freshMessage(answer);
  const message = { ...body, spillway: { outcome: answer.kind } };
  if (!call.stream) return { status, headers: JSON_HEADERS, body: JSON.stringify(message) };
  const events = eventsOf(message, call.draft?.wantsUsage ?? true);
  const written = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  return { status, headers: STREAM_HEADERS, body: written.join('') };
}

/** Writes an error as Anthropic does; see `Dialect.error`. */
export function renderMessageError(complaint: Complaint): Rendered {
  const { status, message } = complaint;
  const body = { type: 'error', error: { type: errorType(complaint), message } };
  return { status, headers: JSON_HEADERS, body: JSON.stringify(body) };
}

function errorType({ kind, dimension, status }: Complaint): string {
  switch (kind) {
    case 'full':
      if (dimension === 'usd' || status === 402) return 'billing_error';
      return status >= 500 ? 'overloaded_error' : 'rate_limit_error';
    case 'closed':
      return 'overloaded_error';
    case 'never-fits':
      return 'request_too_large';
    case 'blocked':
      return 'permission_error';
    case 'unidentified':
      return 'authentication_error';
    case 'unknown-model':
      return 'not_found_error';
    case 'bad-body':
      return 'invalid_request_error';
    default:
      return kind satisfies never;
  }
}

function freshMessage({ kind, model, text, usage }: Answer): Fields {
  return {
    id: `msg_spillway_${kind}_${crypto.randomUUID()}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: usageFields(usage),
  };
}

/** The prompt is told in three parts that do not overlap. */
function usageFields(usage: Usage | undefined): Fields {
  const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0, cacheWriteTokens = 0 } = usage ?? {};
  return {
    input_tokens: Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedInputTokens,
    output_tokens: outputTokens,
  };
}

interface MessageEvent extends Fields {
  readonly type: string;
}

/** The whole sequence of a stream. Usage is told once, at its end, where it replaces what the beginning said. */
function eventsOf(message: Fields, tellsUsage: boolean): MessageEvent[] {
  const { spillway, stop_reason = 'end_turn', stop_sequence = null, container } = message;
  const usage = fieldsOf(message.usage) ?? NOTHING;
  const begun = { ...message, content: [], stop_reason: null, stop_sequence: null, usage: { ...usage, ...NOTHING } };
  const delta = { stop_reason, stop_sequence, ...(container === undefined ? {} : { container }) };
  return [
    { type: 'message_start', message: begun, spillway },
    ...listOf(message.content).flatMap((block, index) => blockEvents(fieldsOf(block) ?? {}, index)),
    { type: 'message_delta', delta, usage: tellsUsage ? usage : NOTHING },
    { type: 'message_stop' },
  ];
}

function blockEvents(block: Fields, index: number): MessageEvent[] {
  const { begun, deltas } = unfolded(block);
  return [
    { type: 'content_block_start', index, content_block: begun },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

/** What a block begins with, and the deltas that complete it. */
function unfolded(block: Fields): { readonly begun: Fields; readonly deltas: readonly Fields[] } {
  if (block.type === 'text') {
    const text = pieces(textOf(block.text)).map((piece) => ({ type: 'text_delta', text: piece }));
    const citations = listOf(block.citations).map((citation) => ({ type: 'citations_delta', citation }));
    const cited = citations.length > 0 ? { citations: [] } : {};
    return { begun: { ...block, text: '', ...cited }, deltas: [...text, ...citations] };
  }
  if (block.type === 'thinking') {
    const thinking = pieces(textOf(block.thinking)).map((piece) => ({ type: 'thinking_delta', thinking: piece }));
    const signature = { type: 'signature_delta', signature: textOf(block.signature) };
    return { begun: { ...block, thinking: '', signature: '' }, deltas: [...thinking, signature] };
  }
  if (CALLS.has(block.type)) {
    const json = JSON.stringify(fieldsOf(block.input) ?? {});
    const deltas = pieces(json).map((piece) => ({ type: 'input_json_delta', partial_json: piece }));
    return { begun: { ...block, input: {} }, deltas };
  }
  return { begun: block, deltas: [] };
}
