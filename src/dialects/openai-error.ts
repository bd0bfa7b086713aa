import type { Rendered } from '../call.js';
import type { Complaint } from './dialect.js';
import { JSON_HEADERS } from './writing.js';

/** Writes an error as all of OpenAI's endpoints do; see `Dialect.error`. */
export function renderError(complaint: Complaint): Rendered {
  const { status, message } = complaint;
  return { status, headers: JSON_HEADERS, body: JSON.stringify({ error: { message, ...describe(complaint) } }) };
}

function describe({ kind, dimension, status }: Complaint): { type: string; param: string | null; code: string } {
  switch (kind) {
    case 'full':
      if (dimension === 'usd' || status === 402) return { type: 'insufficient_quota', param: null, code: 'insufficient_quota' };
      if (status >= 500) return { type: 'service_unavailable_error', param: null, code: 'server_is_overloaded' };
      return { type: dimension === 'tokens' ? 'tokens' : 'requests', param: null, code: 'rate_limit_exceeded' };
    case 'closed':
      return { type: 'service_unavailable_error', param: null, code: 'server_is_overloaded' };
    case 'never-fits':
      return { type: 'invalid_request_error', param: null, code: 'request_too_large' };
    case 'blocked':
      return { type: 'permission_error', param: null, code: 'not_allowed' };
    case 'unidentified':
      return { type: 'invalid_request_error', param: null, code: 'missing_identity' };
    case 'unknown-model':
      return { type: 'invalid_request_error', param: 'model', code: 'model_not_found' };
    case 'bad-body':
      return { type: 'invalid_request_error', param: null, code: 'invalid_body' };
    default:
      return kind satisfies never;
  }
}
