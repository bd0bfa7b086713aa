import axios from 'axios';
import OpenAI, { APIConnectionTimeoutError, APIUserAbortError } from 'openai';
import { beforeEach, describe, expect, it } from 'vitest';
import { spillwayOf } from '../../adapters/express.js';
import { type AdmittedCall, cheaperModel } from '../../src/index.js';
import { chat, createOutbound, type Outbound, post } from '../support/outbound.js';
import { serve } from '../support/served.js';

let outbound: Outbound;
beforeEach(async () => {
  outbound = await createOutbound();
  return () => outbound.close();
});

const asked = chat('How deep is the river?', { max_tokens: 30 });
const run = (make: (call: AdmittedCall) => Promise<unknown>, body: object = asked) =>
  outbound.gate.as({ user: 'ada' }).run({ dialect: 'openai-chat', body }, make);
const usage = { prompt_tokens: 9, completion_tokens: 4 };

function oneCall(tokens: number) {
  return { 'model gpt-4o tokens': tokens, 'model gpt-4o requests': 1, 'user ada tokens': tokens, 'user ada requests': 1 };
}
function provided(): number {
  const { inputTokens = 0, outputTokens = 0 } = outbound.provider.stats().models['gpt-4o'] ?? {};
  return inputTokens + outputTokens;
}

describe('gate.run charges', () => {
  it('what axios brings', async () => {
    const outcome = await run(({ body }) => axios.post(outbound.url, body));

    expect(outcome).toMatchObject({ kind: 'passed', value: { data: { object: 'chat.completion' } } });
    expect(await outbound.sums()).toEqual(oneCall(provided()));
  });

  it('what an SDK brings', async () => {
    const openai = new OpenAI({ baseURL: outbound.provider.url, apiKey: 'key' });

    await run(({ body }) => openai.chat.completions.create(body as OpenAI.ChatCompletionCreateParamsNonStreaming));

    expect(await outbound.sums()).toEqual(oneCall(provided()));
  });

  it.each<[string, (call: AdmittedCall) => Promise<unknown>, number]>([
    ['what an answer shows', async () => ({ usage }), 13],
    ['what a value with a state of its own shows', async () => ({ status: 3, data: { usage } }), 13],
    [
      'what it is told, whatever the value shows',
      async ({ settle }) => {
        settle({ inputTokens: 1, outputTokens: 1 });
        settle({ inputTokens: 20, outputTokens: 5 });
        return { usage };
      },
      25,
    ],
    ['nothing, when the provider answered with an error', async () => ({ status: 503, data: { usage } }), 0],
  ])('%s', async (_, make, tokens) => {
    await run(make);

    expect((await outbound.sums())['model gpt-4o tokens'] ?? 0).toBe(tokens);
    expect((await outbound.sums())['model gpt-4o requests']).toBe(1);
  });

  it.each<[string, (call: AdmittedCall) => Promise<unknown>]>([
    ['a value that shows nothing', async () => 'text'],
    ['no value', async () => undefined],
    ['usage that cannot be', async ({ settle }) => settle({ inputTokens: Number.NaN, outputTokens: -3 })],
  ])('its estimate for %s', async (_, make) => {
    await run(make);

    await outbound.sums();
    const estimated = outbound.settled[0]?.estimatedInputTokens ?? Number.NaN;
    expect(await outbound.sums()).toEqual(oneCall(estimated + 30));
    expect((await outbound.gate.usage({ scope: 'user' }))[0]).toMatchObject({ inputTokens: estimated, outputTokens: 30 });
  });

  it('one call only, when a fetch of the gate makes it', async () => {
    const job = outbound.gate.as({ user: 'ada' });

    await job.run({ body: asked }, async ({ body }) => (await outbound.gate.fetch(outbound.url, post(body))).json());
    expect(await outbound.sums()).toEqual(oneCall(provided()));

    await job.run({ body: asked }, async ({ body }) => (await job.fetch(outbound.url, post(body))).json());
    expect((await outbound.sums())['model gpt-4o tokens']).toBe(provided());
    expect((await outbound.sums())['model gpt-4o requests']).toBe(2);
  });

  it('one call only, when the fetch of its request makes it', async () => {
    const served = await serve(outbound.gate, {}, async (req, res) => {
      const { run, fetch } = spillwayOf(req);
      await run({ body: asked }, async ({ body }) => (await fetch(outbound.url, post(body))).json());
      res.json({ ok: true });
    });
    await served.ask('ada', asked);
    await served.close();

    expect(await outbound.sums()).toEqual(oneCall(provided()));
  });
});

describe('gate.run hands on what its function throws,', () => {
  const abortError = new DOMException('This operation was aborted', 'AbortError');

  it.each<[string, () => Promise<never>, string, number]>([
    ['an error, and charges nothing', () => Promise.reject(new Error('mine')), 'provider-error', 0],
    [
      'at once, and charges nothing',
      () => {
        throw new Error('mine');
      },
      'provider-error',
      0,
    ],
    ['no error at all, and charges nothing', () => Promise.reject(undefined), 'provider-error', 0],
    ['an abort, and charges the estimate', () => Promise.reject(abortError), 'partial', 30],
    ['an abort of an SDK, and charges the estimate', () => Promise.reject(new APIUserAbortError()), 'partial', 30],
    ['a time-out of an SDK, and charges the estimate', () => Promise.reject(new APIConnectionTimeoutError()), 'partial', 30],
    ['an abort of axios, and charges the estimate', () => Promise.reject(new axios.CanceledError()), 'partial', 30],
  ])('%s', async (_, make, by, output) => {
    const thrown = await run(make).then(
      () => 'nothing',
      (error) => ({ error }),
    );

    expect(thrown).not.toBe('nothing');
    await outbound.sums();
    const [settled] = outbound.settled;
    expect(settled?.by).toBe(by);
    const tokens = output && (settled?.estimatedInputTokens ?? 0) + output;
    expect((await outbound.sums())['user ada tokens'] ?? 0).toBe(tokens);
  });

  it.each(['429', '500'])('the %s of the provider as axios throws it, and keeps the request on the model', async (fault) => {
    const thrown = run(({ body }) => axios.post(outbound.url, body, { headers: { 'x-fault': fault } }));

    await expect(thrown).rejects.toMatchObject({ response: { status: Number(fault) } });
    expect(await outbound.sums()).toEqual({ 'model gpt-4o requests': 1 });
  });
});

it('a time-out of axios charges the estimate, for the provider may have begun', async () => {
  const hang = { headers: { 'x-fault': 'hang' }, timeout: 100 };

  await expect(run(({ body }) => axios.post(outbound.url, body, hang))).rejects.toMatchObject({ code: 'ECONNABORTED' });

  await outbound.sums();
  expect(outbound.settled).toMatchObject([{ by: 'partial', usage: { outputTokens: 30 } }]);
});

describe('gate.run', () => {
  it('hands over the body for the model that was admitted', async () => {
    await outbound.close();
    outbound = await createOutbound({
      models: {
        'gpt-4o': { budgets: [{ requests: 1, per: 'hour' }], cheaper: ['gpt-4o-mini'] },
        'gpt-4o-mini': { budgets: [{ requests: 1, per: 'hour' }] },
      },
      ladder: [cheaperModel()],
    });
    const seen: AdmittedCall[] = [];
    const make = async (call: AdmittedCall) => {
      seen.push(call);
      return { usage };
    };

    const kinds = [(await run(make)).kind, (await run(make)).kind, (await run(make)).kind];

    expect(kinds).toEqual(['passed', 'cheaper', 'shed']);
    expect(seen.map(({ body, model, requestedModel }) => ({ body, model, requestedModel }))).toEqual([
      { body: asked, model: 'gpt-4o', requestedModel: 'gpt-4o' },
      { body: { ...asked, model: 'gpt-4o-mini' }, model: 'gpt-4o-mini', requestedModel: 'gpt-4o' },
    ]);
    await outbound.sums();
  });

  it.each<[string, object]>([
    ['a dialect that there is not', { dialect: 'morse', body: asked }],
    ['a body that its dialect does not read', { dialect: 'openai-chat', body: { text: 'hello' } }],
    ['a body that no dialect reads', { body: 'hello' }],
    ['no body', {}],
  ])('refuses %s, holding nothing', async (_, request) => {
    const made = outbound.gate.run(request as never, async () => expect.unreachable());

    await expect(made).rejects.toMatchObject({ code: 'SPILLWAY_BAD_CALL' });
    expect(await outbound.sums()).toEqual({});
  });
});
