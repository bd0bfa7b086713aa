import Anthropic, { APIError as AnthropicError } from '@anthropic-ai/sdk';
import OpenAI, { APIError as OpenaiError } from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import { createSpillway } from '../../src/index.js';
import { closeLimitedApps, createLimitedApp as createApp } from '../support/limited-app.js';
import { serve } from '../support/served.js';

describe('refuseWith', () => {
  afterEach(closeLimitedApps);

  const one = [{ requests: 1, per: 'minute' }] as const;

  it('gives full budgets its status, in the shape that the dialect has for it, with the wait', async () => {
    const { gate, post } = createApp({ budgets: one, gate: { refuseWith: 402 } });
    const told: number[] = [];
    gate.on('call-shed', ({ status }) => told.push(status));
    await post('ada');

    const { status, body, headers } = await post('ada');

    expect({ status, told }).toEqual({ status: 402, told: [402] });
    expect(body.error).toMatchObject({ type: 'insufficient_quota', code: 'insufficient_quota' });
    expect(headers).toMatchObject({ 'retry-after': '61', 'x-should-retry': 'false', 'spillway-outcome': 'shed' });
  });

  it.each([
    [402, 'insufficient_quota'],
    [403, 'rate_limit_exceeded'],
    [503, 'server_is_overloaded'],
  ])('makes %d of OpenAI a %s', async (refuseWith, code) => {
    const { post } = createApp({ budgets: one, mount: { refuseWith } });
    await post('ada');

    const { status, body, headers } = await post('ada');

    expect({ status, code: body.error.code, retryAfter: headers['retry-after'] }).toEqual({
      status: refuseWith,
      code,
      retryAfter: '61',
    });
  });

  it.each([
    [402, 'billing_error'],
    [429, 'rate_limit_error'],
    [529, 'overloaded_error'],
  ])('makes %d of Anthropic a %s', async (refuseWith, type) => {
    const { post } = createApp({ budgets: one, mount: { dialect: 'anthropic-messages', refuseWith } });
    await post('ada');

    const { status, body } = await post('ada');

    expect({ status, type: body.error.type }).toEqual({ status: refuseWith, type });
  });

  it('as a number leaves what never fits at its own status', async () => {
    const { post } = createApp({ budgets: [{ inputTokens: 2, per: 'minute' }], gate: { refuseWith: 402 } });

    expect((await post('ada')).status).toBe(413);
  });

  it('as a function decides about each refusal, and that of the mount wins', async () => {
    const seen: string[] = [];
    const { post } = createApp({
      budgets: [{ inputTokens: 2, per: 'minute' }],
      gate: { refuseWith: 402 },
      mount: {
        refuseWith: ({ reason, full }) => {
          seen.push(`${reason} ${full[0]?.charge.scope}`);
          return 422;
        },
      },
    });

    expect((await post('ada')).status).toBe(422);
    expect(new Set(seen)).toEqual(new Set(['never-fits user']));
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['a status of success', 200],
    ['no whole number', 402.5],
    ['a text', '402'],
    ['not a number', Number.NaN],
    ['a status that is none', 600],
    ['a promise that fails', 'reject'],
    ['an exception', 'throw'],
  ])('as a function that gives %s leaves the usual status', async (_, given) => {
    const refuseWith = () => {
      if (given === 'throw') throw new Error('not today');
      return (given === 'reject' ? Promise.reject(new Error('not today')) : given) as number;
    };
    const { post } = createApp({ budgets: one, gate: { refuseWith } });
    await post('ada');

    const { status, headers } = await post('ada');

    expect({ status, retryAfter: headers['retry-after'] }).toEqual({ status: 429, retryAfter: '61' });
  });
});

describe('refuseWith 402, to the official SDK of', () => {
  const messages = [{ role: 'user' as const, content: 'How deep is the river?' }];

  it.each([
    [
      'OpenAI',
      OpenaiError,
      (options: object) => new OpenAI({ apiKey: 'key', ...options }).chat.completions.create({ model: 'gpt-4o', messages }),
    ],
    [
      'Anthropic',
      AnthropicError,
      (options: object) =>
        new Anthropic({ apiKey: 'key', ...options }).messages.create({ model: 'claude-sonnet', max_tokens: 9, messages }),
    ],
  ])('%s, is an error that it does not retry', async (_, kind, ask) => {
    const budgets = [{ requests: 1, per: 30_000 }];
    const gate = createSpillway({ scopes: { user: { budgets } }, ladder: [], refuseWith: 402 });
    const served = await serve(gate, {}, (_req, res) => res.json({ choices: [], content: [] }));
    const statuses: number[] = [];
    const defaultHeaders = { 'x-user': 'ada' };
    const toApp = async (_url: unknown, init?: RequestInit) => {
      const response = await fetch(`${served.url}/api/chat`, init ?? {});
      statuses.push(response.status);
      return response;
    };
    await ask({ fetch: toApp, defaultHeaders });

    const error = await ask({ fetch: toApp, defaultHeaders }).catch((thrown: unknown) => thrown);
    await served.close();
    await gate.close();

    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ status: 402 });
    expect(statuses).toEqual([200, 402]);
  });
});
