import { type ChatBody, contentOf, type Fields, isFields, listOf, parseJson } from './body.js';
import type { Bucket } from './bucket.js';
import { onlyChoice } from './plan.js';
import {
  type Answer,
  type AnswerStream,
  badRequest,
  belowLeast,
  type FullLimit,
  missing,
  namedEvent,
  type Reply,
  type Shape,
  type Trouble,
} from './shape.js';

const STOP_REASONS = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' } as const;

/** Names of errors by status; everything else is an `api_error`. */
const ERRORS: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
};

/** Anthropic's messages. */
export const messages: Shape = {
  path: '/v1/messages',
  idPrefix: 'msg_',
  idHeader: 'request-id',
  garbageUsage: { input_tokens: -5, output_tokens: 'many' },
  objection,
  chat,
  usage: (inputTokens, outputTokens) => ({
    input_tokens: inputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    output_tokens: outputTokens,
    service_tier: 'standard',
  }),
  json: (answer) => {
    const { tool, pieces, finish } = onlyChoice(answer);
    const text = pieces.join('');
    return {
      ...begun(answer),
      content: [tool ? { ...toolUse(answer, tool), input: parseJson(text) ?? {} } : { type: 'text', text }],
      stop_reason: STOP_REASONS[finish],
      usage: answer.usage,
    };
  },
  stream,
  error: ({ status, message, waitMs }): Reply => ({
    status,
    ...(waitMs === undefined ? {} : { headers: { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1_000))) } }),
    body: { type: 'error', error: { type: ERRORS[status] ?? 'api_error', message } },
  }),
  unknownModel: (name): Trouble => ({ status: 404, message: `model: ${name}`, type: 'not_found_error' }),
  full: ({ kind, bucket, waitMs }: FullLimit): Trouble => ({
    status: 429,
    message: `This request would exceed your organization's rate limit of ${bucket.capacity} ${kind} per minute.`,
    type: 'rate_limit_error',
    ...(Number.isFinite(waitMs) ? { waitMs } : {}),
  }),
  limitHeaders: ({ requests, tokens }, nowMs) => ({
    ...headersOf('requests', requests, nowMs),
    ...headersOf('tokens', tokens, nowMs),
  }),
};

function objection({ model, messages, max_tokens }: Fields): Trouble | undefined {
  if (typeof model !== 'string') return missing('model');
  if (max_tokens === undefined) return missing('max_tokens');
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isFields))
    return badRequest('messages: at least one message is required');
  return belowLeast({ max_tokens });
}

function chat(body: Fields): ChatBody {
  const { model, system, stream, max_tokens } = body;
  const asked = listOf(body.messages)
    .filter(isFields)
    .map(({ role, content }) => ({ role: String(role), content: contentOf(content) }));
  return {
    model: model as string,
    messages: [...(system === undefined ? [] : [{ role: 'system', content: contentOf(system) }]), ...asked],
    stream: stream === true,
    max_tokens: max_tokens as number,
    tools: listOf(body.tools)
      .filter(isFields)
      .map(({ name }) => ({ function: { name: String(name) } })),
  };
}

/** Usage comes in two parts: the input with the first event, the output with the last but one. */
function stream(answer: Answer): AnswerStream {
  const { tool, pieces, finish } = onlyChoice(answer);
  const usage = isFields(answer.usage) ? answer.usage : undefined;
  const event = (type: string, fields: Fields = {}) => namedEvent({ type, ...fields });
  const begunUsage = usage && { ...usage, output_tokens: 1 };
  const block = tool ? { ...toolUse(answer, tool), input: {} } : { type: 'text', text: '' };

  return {
    produced(from, to) {
      const text = pieces.slice(from, to).join('');
      const delta = tool ? { type: 'input_json_delta', partial_json: text } : { type: 'text_delta', text };
      const opening = [
        event('message_start', { message: { ...begun(answer), usage: begunUsage } }),
        event('content_block_start', { index: 0, content_block: block }),
        event('ping'),
      ];
      return [
        ...(from === 0 ? opening : []),
        event('content_block_delta', { index: 0, delta }),
        ...(to >= pieces.length ? [event('content_block_stop', { index: 0 })] : []),
      ];
    },
    ended: () => [
      event('message_delta', {
        delta: { stop_reason: STOP_REASONS[finish], stop_sequence: null },
        usage: usage && { output_tokens: usage.output_tokens },
      }),
      event('message_stop'),
    ],
  };
}

function begun({ id, model }: Answer): Fields {
  return { id, type: 'message', role: 'assistant', model, content: [], stop_reason: null, stop_sequence: null };
}

function toolUse({ id }: Answer, name: string): Fields {
  return { type: 'tool_use', id: id.replace('msg_', 'toolu_'), name };
}

/** Resets are instants, in whole seconds and never too early. */
function headersOf(kind: FullLimit['kind'], bucket: Bucket, nowMs: number): Record<string, string> {
  const resetMs = Math.ceil((nowMs + bucket.fullInMs()) / 1_000) * 1_000;
  return {
    [`anthropic-ratelimit-${kind}-limit`]: String(bucket.capacity),
    [`anthropic-ratelimit-${kind}-remaining`]: String(bucket.remaining()),
    [`anthropic-ratelimit-${kind}-reset`]: new Date(resetMs).toISOString().replace('.000Z', 'Z'),
  };
}
