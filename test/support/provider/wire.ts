import type { Bucket } from './bucket.js';

/** The parts of a chat completions body that the provider looks at. */
export interface ChatBody {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly stream?: boolean | null;
  readonly stream_options?: { readonly include_usage?: boolean } | null;
  readonly max_tokens?: number | null;
  readonly max_completion_tokens?: number | null;
  readonly n?: number | null;
  readonly tools?: readonly { readonly function?: { readonly name?: string } }[];
  readonly [field: string]: unknown;
}

export interface ChatMessage {
  readonly role: string;
  readonly content?: string | null | readonly { readonly type: string; readonly text?: string }[];
}

/** A response before it is written: status, headers and a JSON body. */
export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** What an image costs the token limit, whatever its size. */
const IMAGE_TOKENS = 765;
const MOST_CHOICES = 128;

export function errorReply(
  status: number,
  error: { message: string; type: string; param?: string | null; code?: string | null },
): Reply {
  return { status, body: { error: { param: null, code: null, ...error } } };
}

export function unknownModel(name: string): Reply {
  const message = `The model \`${name}\` does not exist or you do not have access to it.`;
  return errorReply(404, { message, type: 'invalid_request_error', code: 'model_not_found' });
}

/** Checks a body as far as OpenAI refuses one with 400. */
export function parseChat(text: string): ChatBody | Reply {
  const bad = (message: string, param: string | null = null, code: string | null = null) =>
    errorReply(400, { message, type: 'invalid_request_error', param, code });

  const body = parseJson(text);
  if (body === undefined) return bad('The body of the request is not valid JSON.');
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return bad('The body must be a JSON object.');
  const { model, messages, max_tokens, max_completion_tokens, n } = body as Record<string, unknown>;
  if (typeof model !== 'string') return bad('You must provide a model.', 'model', 'missing_required_parameter');
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isMessage))
    return bad('messages must be a list of at least one message.', 'messages', 'invalid_type');
  for (const [param, value] of Object.entries({ max_tokens, max_completion_tokens, n }))
    if (value != null && !(Number.isInteger(value) && (value as number) >= 1))
      return bad(`${param} must be an integer of at least 1.`, param, 'integer_below_min_value');
  if (n != null && (n as number) > MOST_CHOICES) return bad(`n must be at most ${MOST_CHOICES}.`, 'n', 'integer_above_max_value');
  return body as ChatBody;
}

export function isReply(parsed: ChatBody | Reply): parsed is Reply {
  return 'status' in parsed && 'body' in parsed;
}

/**
 * What a call charges to the token limit when it arrives: ceil(chars / 4) + messages + 1, images flat. Neither max_tokens
 * nor n nor tools count, as measured on OpenAI from March 2025 on.
 */
export function inputCharge(body: ChatBody): number {
  let chars = 0;
  let images = 0;
  for (const { content } of body.messages) {
    if (typeof content === 'string') chars += content.length;
    else if (Array.isArray(content))
      for (const part of content) {
        if (typeof part?.text === 'string') chars += part.text.length;
        else if (part?.type === 'image_url') images++;
      }
  }
  return Math.ceil(chars / 4) + body.messages.length + 1 + images * IMAGE_TOKENS;
}

/** The x-ratelimit headers that every answer about a known model carries. */
export function limitHeaders(requests: Bucket, tokens: Bucket): Record<string, string> {
  return {
    'x-ratelimit-limit-requests': String(requests.capacity),
    'x-ratelimit-limit-tokens': String(tokens.capacity),
    'x-ratelimit-remaining-requests': String(requests.remaining()),
    'x-ratelimit-remaining-tokens': String(tokens.remaining()),
    'x-ratelimit-reset-requests': goDuration(requests.fullInMs()),
    'x-ratelimit-reset-tokens': goDuration(tokens.fullInMs()),
  };
}

/** The 429 of a full limit. A call larger than the limit gets no wait: none would help. */
export function limitReply(model: string, kind: 'requests' | 'tokens', bucket: Bucket, wanted: number, waitMs: number): Reply {
  const unit = kind === 'tokens' ? 'tokens per min (TPM)' : 'requests per min (RPM)';
  const figures = `Limit ${bucket.capacity}, Used ${bucket.capacity - bucket.remaining()}, Requested ${wanted}.`;
  const message = Number.isFinite(waitMs)
    ? `Rate limit reached for ${model} on ${unit}: ${figures} Please try again in ${goDuration(waitMs)}.`
    : `Request too large for ${model} on ${unit}: ${figures}`;
  const reply = errorReply(429, { message, type: kind, code: 'rate_limit_exceeded' });
  return Number.isFinite(waitMs) ? { ...reply, headers: waitHeaders(waitMs) } : reply;
}

export function waitHeaders(waitMs: number): Record<string, string> {
  return { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1_000))), 'retry-after-ms': String(Math.max(1, waitMs)) };
}

/** Writes milliseconds as Go's `Duration.String()` does: `0s`, `120ms`, `1.5s`, `6m0s`, `1h0m2.25s`. */
export function goDuration(ms: number): string {
  if (ms > 0 && ms < 1_000) return `${ms}ms`;
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor((ms % 3_600_000) / 60_000);
  const seconds = `${(ms % 60_000) / 1_000}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}

function isMessage(value: unknown): value is ChatMessage {
  return typeof value === 'object' && value !== null && typeof (value as ChatMessage).role === 'string';
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
