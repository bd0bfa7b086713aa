import { validateHeaderValue } from 'node:http';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Answer, Call, Charge, Refusal, Shortage } from '../../src/call.js';
import type { Complaint } from '../../src/dialects/dialect.js';
import { openaiChat } from '../../src/dialects/openai-chat.js';
import { complaintOf, outcomeHeaders, renderAnswer, renderComplaint, renderRefusal } from '../../src/http/render.js';

const SECRET = 'my secret prompt';

function callOf(fields: Partial<Call> = {}): Call {
  const body = { model: 'gpt-4o', messages: [{ role: 'user', content: SECRET }] };
  return { dialect: openaiChat, draft: openaiChat.read(body), body, stream: false, model: 'gpt-4o', ...fields } as Call;
}

function shortage(scope: string, dimension: Charge['dimension'], waitMs: number, fields: Partial<Charge> = {}): Shortage {
  return {
    charge: { scope, dimension, key: 'tenant-x', counter: 'c', amount: 20, limit: 10, refuseAt: 10, ...fields } as Charge,
    waitMs,
  };
}

const refusal = (full: readonly Shortage[], reason: Refusal['reason'] = 'full'): Refusal => ({ reason, full, waitMs: 0 });
const headersFor = (waitMs: number, isInner = false) =>
  renderRefusal(refusal([shortage('user', 'tokens', 5)]), callOf(), openaiChat, { waitMs, isInner }).headers;

describe('the waits of a refusal', () => {
  it.each([
    [0, { 'retry-after': '1', 'retry-after-ms': '1' }],
    [0.4, { 'retry-after': '1', 'retry-after-ms': '1' }],
    [1, { 'retry-after': '1', 'retry-after-ms': '1' }],
    [1_000, { 'retry-after': '1', 'retry-after-ms': '1000' }],
    [1_000.2, { 'retry-after': '2', 'retry-after-ms': '1001' }],
    [59_999, { 'retry-after': '60', 'retry-after-ms': '59999' }],
    [60_000, { 'retry-after': '60', 'retry-after-ms': '60000' }],
  ])('of %d ms are told in whole seconds, 1 or more, and in milliseconds', (waitMs, expected) => {
    const headers = headersFor(waitMs);

    expect(headers).toMatchObject(expected);
    expect(headers).not.toHaveProperty('x-should-retry');
  });

  it.each([60_001, 3_600_000, 30 * 86_400_000])('of %d ms are told in seconds only, and not to be slept through', (waitMs) => {
    const headers = headersFor(waitMs);

    expect(headers).toMatchObject({ 'retry-after': String(Math.ceil(waitMs / 1_000)), 'x-should-retry': 'false' });
    expect(headers).not.toHaveProperty('retry-after-ms');
  });

  it('that have no end are not told, and are not worth a retry', () => {
    const headers = headersFor(Infinity);

    expect(headers).toMatchObject({ 'x-should-retry': 'false' });
    expect(Object.keys(headers).filter((name) => name.startsWith('retry-after'))).toEqual([]);
  });

  it('inside a request are not told: whoever sits above would sleep for so long with the request open', () => {
    const told = Object.keys(headersFor(500, true)).filter((name) => /retry/.test(name));

    expect(told).toEqual(['x-should-retry']);
    expect(headersFor(500, true)['x-should-retry']).toBe('false');
  });

  it('are never told shorter than they are', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e10, noNaN: true }), (waitMs) => {
        const headers = headersFor(waitMs);

        expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
        expect(Number(headers['retry-after']) * 1_000).toBeGreaterThanOrEqual(waitMs);
        expect(Number.isInteger(Number(headers['retry-after']))).toBe(true);
        expect(Number(headers['retry-after-ms'] ?? Infinity)).toBeGreaterThanOrEqual(waitMs);
      }),
    );
  });
});

describe('what a refusal says', () => {
  it.each([
    ['full', 429, 'full'],
    ['never-fits', 413, 'never-fits'],
    ['closed', 503, 'closed'],
  ] as const)('is, when %s, status %d', (reason, status, kind) => {
    const told = complaintOf(refusal([shortage('user', 'tokens', 5)], reason));

    expect(told).toMatchObject({ status, kind });
    expect(renderRefusal(refusal([], reason), callOf(), openaiChat, { waitMs: 1, isInner: false }).status).toBe(status);
  });

  it('is that it is not allowed, where a budget of 0 blocks every call', () => {
    const blocked = shortage('user', 'requests', Infinity, { limit: 0, refuseAt: 0 });
    const told = complaintOf(refusal([shortage('user', 'tokens', Infinity), blocked], 'never-fits'));

    expect(told).toMatchObject({ status: 403, kind: 'blocked', message: 'Not allowed: the request budget of this user is 0.' });
  });

  it('names every full budget once, by scope and dimension', () => {
    const full = [
      shortage('user', 'tokens', 5),
      shortage('user', 'tokens', 9, { key: 'another' }),
      shortage('model', 'requests', 1),
      shortage('global', 'usd', 2),
      shortage('organization', 'concurrent', 0),
    ];

    expect(complaintOf(refusal(full)).message).toBe(
      'Used up for now: the token budget of this user and the request budget of this model and the money budget of the whole service and the concurrency budget of this organization. Please try again later.',
    );
  });

  it.each([
    ['tokens', 'tokens'],
    ['inputTokens', 'tokens'],
    ['outputTokens', 'tokens'],
    ['requests', 'requests'],
    ['usd', 'usd'],
    ['concurrent', 'concurrent'],
  ] as const)('takes its dimension from the budget that takes longest: %s is %s', (dimension, told) => {
    const other = dimension === 'requests' ? 'usd' : 'requests';
    const full = [shortage('user', other, 10), shortage('user', dimension, 20), shortage('user', other, 19)];

    expect(complaintOf(refusal(full)).dimension).toBe(told);
  });

  it('carries no key and no figure of anybody, in its body or its headers', () => {
    const figures = fc.record({
      key: fc.stringMatching(/^tenant-[a-z]{6,12}$/),
      amount: fc.integer({ min: 100_000_000, max: 999_999_999 }),
      limit: fc.integer({ min: 100_000_000, max: 999_999_999 }),
    });

    fc.assert(
      fc.property(figures, fc.constantFrom('full', 'never-fits', 'closed'), (given, reason) => {
        const full = [shortage('organization', 'tokens', 5, { ...given, refuseAt: given.limit })];
        const { headers, body } = renderRefusal(refusal(full, reason), callOf(), openaiChat, { waitMs: 5, isInner: false });
        const shown = `${JSON.stringify(headers)}${body}`;

        for (const hidden of [given.key, String(given.amount), String(given.limit)]) expect(shown).not.toContain(hidden);
      }),
    );
  });

  it('is an error as the SDKs of its dialect read it, marked as shed', () => {
    const { headers, body } = renderRefusal(refusal([shortage('user', 'tokens', 5)]), callOf(), openaiChat, {
      waitMs: 5,
      isInner: false,
    });

    expect(headers).toMatchObject({ 'content-type': 'application/json; charset=utf-8', 'spillway-outcome': 'shed' });
    expect(JSON.parse(body).error).toMatchObject({ type: 'tokens', code: 'rate_limit_exceeded', param: null });
  });
});

describe('an error of the gate', () => {
  const complaint: Complaint = { status: 401, kind: 'unidentified', message: 'Who are you?' };

  it('is not worth a retry, and marked as shed', () => {
    const { status, headers } = renderComplaint(complaint, openaiChat, undefined);

    expect(status).toBe(401);
    expect(headers).toMatchObject({ 'x-should-retry': 'false', 'spillway-outcome': 'shed' });
  });
});

describe('an answer that no model gave', () => {
  const answer: Answer = { kind: 'static', model: 'spillway-static', text: 'Later, please.' };

  it('is marked with its kind and its model', () => {
    expect(renderAnswer(answer, callOf()).headers).toMatchObject({
      'spillway-outcome': 'static',
      'spillway-model': 'spillway-static',
    });
  });

  it.each([
    [0, '0'],
    [999, '0'],
    [61_999, '61'],
  ])('of an age of %d ms tells it in whole seconds: %s', (ageMs, age) => {
    const { headers } = renderAnswer({ ...answer, kind: 'cached', ageMs }, callOf());

    expect(headers).toMatchObject({ age, 'spillway-outcome': 'cached' });
  });

  it('of no age tells none', () => {
    expect(renderAnswer(answer, callOf()).headers).not.toHaveProperty('age');
  });

  it('is a stream where one was asked for', () => {
    expect(renderAnswer(answer, callOf({ stream: true })).headers['content-type']).toBe('text/event-stream; charset=utf-8');
  });
});

describe('outcomeHeaders', () => {
  it.each(['gpt-4o', 'gpt-4o-mini-2024-07-18', 'anthropic/claude-3.5:beta', 'accounts/x/models/y@1', 'm'.repeat(128)])(
    'names the model %s',
    (model) => expect(outcomeHeaders('passed', model)).toEqual({ 'spillway-outcome': 'passed', 'spillway-model': model }),
  );

  it.each([undefined, '', 'm'.repeat(129), 'a b', 'a\r\nset-cookie: b=c', 'a\n', 'a\u0000', 'café', '<script>'])(
    'leaves out a model that is no safe header text: %j',
    (model) => expect(outcomeHeaders('passed', model)).toEqual({ 'spillway-outcome': 'passed' }),
  );

  it('is text that node:http takes, whatever a body called its model', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (model) => {
        for (const [name, value] of Object.entries(outcomeHeaders('cheaper', model))) validateHeaderValue(name, value);
      }),
    );
  });

  it('never carries text of a body: no header of a rendered answer or refusal does', () => {
    const call = callOf({ model: SECRET, requestedModel: SECRET });
    const rendered = [
      renderAnswer({ kind: 'cached', model: SECRET, text: SECRET, ageMs: 1 }, call),
      renderAnswer({ kind: 'static', model: SECRET, text: SECRET }, { ...call, stream: true }),
      renderRefusal(refusal([shortage('model', 'tokens', 5, { key: SECRET })]), call, openaiChat, { waitMs: 5, isInner: true }),
    ];

    for (const { headers } of rendered) expect(JSON.stringify(headers)).not.toContain('secret');
  });
});
