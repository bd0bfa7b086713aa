import type { Bucket } from './bucket.js';
import type { FullLimit, Reply, Shape, Trouble } from './shape.js';

/** What all of OpenAI's endpoints have in common: errors, limits and their headers. */
export const openai: Pick<Shape, 'idHeader' | 'error' | 'unknownModel' | 'full' | 'limitHeaders'> = {
  idHeader: 'x-request-id',
  error: ({ status, message, type, param = null, code = null, waitMs }): Reply => ({
    status,
    ...(waitMs === undefined ? {} : { headers: waitHeaders(waitMs) }),
    body: { error: { message, type, param, code } },
  }),
  unknownModel: (name): Trouble => ({
    status: 404,
    message: `The model \`${name}\` does not exist or you do not have access to it.`,
    type: 'invalid_request_error',
    code: 'model_not_found',
  }),
  full: ({ model, kind, bucket, wanted, waitMs }: FullLimit): Trouble => {
    const unit = kind === 'tokens' ? 'tokens per min (TPM)' : 'requests per min (RPM)';
    const figures = `Limit ${bucket.capacity}, Used ${bucket.capacity - bucket.remaining()}, Requested ${wanted}.`;
    const trouble = { status: 429, type: kind, code: 'rate_limit_exceeded' };
    return Number.isFinite(waitMs)
      ? {
          ...trouble,
          message: `Rate limit reached for ${model} on ${unit}: ${figures} Please try again in ${goDuration(waitMs)}.`,
          waitMs,
        }
      : { ...trouble, message: `Request too large for ${model} on ${unit}: ${figures}` };
  },
  limitHeaders: ({ requests, tokens }) => ({ ...headersOf('requests', requests), ...headersOf('tokens', tokens) }),
};

function headersOf(kind: FullLimit['kind'], bucket: Bucket): Record<string, string> {
  return {
    [`x-ratelimit-limit-${kind}`]: String(bucket.capacity),
    [`x-ratelimit-remaining-${kind}`]: String(bucket.remaining()),
    [`x-ratelimit-reset-${kind}`]: goDuration(bucket.fullInMs()),
  };
}

function waitHeaders(waitMs: number): Record<string, string> {
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
