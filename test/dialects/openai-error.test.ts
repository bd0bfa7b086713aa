import { describe, expect, it } from 'vitest';
import type { Complaint } from '../../src/dialects/dialect.js';
import { renderError } from '../../src/dialects/openai-error.js';

describe('an error', () => {
  it.each<[Partial<Complaint>, object]>([
    [
      { kind: 'full', dimension: 'tokens' },
      { type: 'tokens', code: 'rate_limit_exceeded', param: null },
    ],
    [
      { kind: 'full', dimension: 'requests' },
      { type: 'requests', code: 'rate_limit_exceeded', param: null },
    ],
    [
      { kind: 'full', dimension: 'concurrent' },
      { type: 'requests', code: 'rate_limit_exceeded', param: null },
    ],
    [{ kind: 'full' }, { type: 'requests', code: 'rate_limit_exceeded', param: null }],
    [
      { kind: 'full', dimension: 'usd' },
      { type: 'insufficient_quota', code: 'insufficient_quota', param: null },
    ],
    [{ kind: 'closed' }, { type: 'service_unavailable_error', code: 'server_is_overloaded', param: null }],
    [{ kind: 'never-fits' }, { type: 'invalid_request_error', code: 'request_too_large', param: null }],
    [{ kind: 'unidentified' }, { type: 'invalid_request_error', code: 'missing_identity', param: null }],
    [{ kind: 'unknown-model' }, { type: 'invalid_request_error', code: 'model_not_found', param: 'model' }],
    [{ kind: 'bad-body' }, { type: 'invalid_request_error', code: 'invalid_body', param: null }],
  ])('of %j is told as OpenAI tells it', (complaint, error) => {
    const { status, body } = renderError({ status: 418, kind: 'full', message: 'Why.', ...complaint });

    expect(status).toBe(418);
    expect(JSON.parse(body)).toEqual({ error: { message: 'Why.', ...error } });
  });
});
