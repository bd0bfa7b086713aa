import OpenAI, { InternalServerError, NotFoundError, RateLimitError } from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import { createBucket } from './provider/bucket.js';
import { goDuration } from './provider/openai.js';
import { createProvider, type Provider, type ProviderOptions } from './provider.js';

const MODELS = { 'gpt-4o': { tokensPerMinute: 100_000, requestsPerMinute: 500 } };
/** 20 characters in one message: charged 20 / 4 + 1 + 1 = 7. */
const CALL = { model: 'gpt-4o', messages: [{ role: 'user' as const, content: 'How do I deploy this' }] };

let provider: Provider;

async function start(options: Partial<ProviderOptions> = {}): Promise<OpenAI> {
  provider = await createProvider({ models: MODELS, firstTokenMs: 0, msPerToken: 0, outputTokens: 30, ...options });
  return new OpenAI({ baseURL: provider.url, apiKey: 'none', maxRetries: 0 });
}

function post(body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(`${provider.url}/chat/completions`, { method: 'POST', body: text, headers });
}

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

async function until(condition: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 5_000; !condition() && Date.now() < deadline; )
    await new Promise((resolve) => setTimeout(resolve, 5));
}

afterEach(() => provider.close());

describe('an answer', () => {
  it('names the model, echoes the question and reports the tokens it emitted', async () => {
    const openai = await start();

    const answer = await openai.chat.completions.create(CALL);

    expect(answer.choices).toHaveLength(1);
    expect(answer.choices[0]?.message.content).toMatch(/^This is gpt-4o on "How do I deploy this"\. A full river/);
    expect(answer.choices[0]?.finish_reason).toBe('stop');
    expect(answer.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 30, total_tokens: 37 });
  });

  it('is the same for the same call', async () => {
    const openai = await start();

    const first = await openai.chat.completions.create(CALL);
    const second = await openai.chat.completions.create(CALL);

    expect(second.choices).toEqual(first.choices);
    expect(second.id).not.toBe(first.id);
  });

  it.each(['max_tokens', 'max_completion_tokens'])('ends with finish_reason length at %s', async (field) => {
    const openai = await start();

    const answer = await openai.chat.completions.create({ ...CALL, [field]: 12 });

    expect(answer.choices[0]?.finish_reason).toBe('length');
    expect(answer.usage?.completion_tokens).toBe(12);
  });

  it('counts all choices when n asks for several', async () => {
    const openai = await start();

    const answer = await openai.chat.completions.create({ ...CALL, n: 3 });

    expect(answer.choices.map((choice) => choice.index)).toEqual([0, 1, 2]);
    expect(new Set(answer.choices.map((choice) => choice.message.content)).size).toBe(3);
    expect(answer.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 90 });
  });

  it('has the length that a function of the body gives, and the input that an injected counter gives', async () => {
    const openai = await start({ outputTokens: (body) => body.messages.length * 10, countInput: () => 1_234 });

    const answer = await openai.chat.completions.create(CALL);

    expect(answer.usage).toMatchObject({ prompt_tokens: 1_234, completion_tokens: 10 });
  });

  it('calls a tool when the last user message asks for one that is offered', async () => {
    const openai = await start();
    const tools = [{ type: 'function' as const, function: { name: 'look_up', parameters: {} } }];
    const asking = { ...CALL, messages: [{ role: 'user' as const, content: 'please call tool look_up' }], tools };

    const whole = await openai.chat.completions.create(asking);
    const streamed = await openai.chat.completions.stream(asking).finalChatCompletion();
    const unasked = await openai.chat.completions.create({ ...CALL, tools });

    const call = whole.choices[0]?.message.tool_calls?.[0];
    expect(whole.choices[0]?.finish_reason).toBe('tool_calls');
    expect(call?.type === 'function' && [call.function.name, JSON.parse(call.function.arguments)]).toEqual([
      'look_up',
      { input: 'please call tool look_up' },
    ]);
    expect(streamed.choices[0]?.message.tool_calls).toMatchObject([{ function: { name: 'look_up' } }]);
    expect(unasked.choices[0]?.finish_reason).toBe('stop');
  });

  it('waits for the first token and for every further one, streamed or not', async () => {
    const openai = await start({ firstTokenMs: 60, msPerToken: 3, outputTokens: 20 });

    const beganMs = performance.now();
    await openai.chat.completions.create(CALL);
    const wholeMs = performance.now() - beganMs;
    const stream = await openai.chat.completions.create({ ...CALL, stream: true });
    await all(stream);
    const streamedMs = performance.now() - beganMs - wholeMs;

    // Timers may fire a little early, never by more than a millisecond or two.
    expect(wholeMs).toBeGreaterThan(115);
    expect(streamedMs).toBeGreaterThan(115);
  });
});

describe('a stream', () => {
  it('begins with the role, carries a few tokens a chunk and ends with the finish reason, without usage', async () => {
    const openai = await start();
    const whole = await openai.chat.completions.create(CALL);

    const chunks = await all(await openai.chat.completions.create({ ...CALL, stream: true }));

    expect(chunks[0]?.choices[0]?.delta).toMatchObject({ role: 'assistant', content: '' });
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe(whole.choices[0]?.message.content);
    expect(chunks).toHaveLength(1 + Math.ceil(30 / 4) + 1);
    expect(chunks.map((chunk) => chunk.choices[0]?.finish_reason)).toEqual([...Array(9).fill(null), 'stop']);
    expect(chunks.filter((chunk) => 'usage' in chunk)).toEqual([]);
  });

  it('carries usage null in each chunk and the figures in one last chunk without choices when include_usage asks', async () => {
    const openai = await start();

    const stream = await openai.chat.completions.create({ ...CALL, stream: true, stream_options: { include_usage: true } });
    const chunks = await all(stream);

    expect(chunks.slice(0, -1).map((chunk) => chunk.usage)).toEqual(Array(10).fill(null));
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 30 } });
  });

  it('ends with [DONE] as event-stream', async () => {
    await start();

    const response = await post({ ...CALL, stream: true });
    const text = await response.text();

    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('stops producing and is counted when the caller leaves', async () => {
    const openai = await start({ msPerToken: 5, outputTokens: 2_000 });
    const stream = await openai.chat.completions.create({ ...CALL, stream: true });

    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    await until(() => provider.stats().aborted === 1);
    const produced = provider.stats().models['gpt-4o']?.outputTokens ?? 0;
    await new Promise((resolve) => setTimeout(resolve, 60));

    expect(provider.stats()).toMatchObject({ aborted: 1, accepted: 1 });
    expect(produced).toBeGreaterThan(0);
    expect(produced).toBeLessThan(2_000);
    expect(provider.stats().models['gpt-4o']?.outputTokens).toBe(produced);
  });
});

describe('limits', () => {
  const at = (nowMs: { value: number }, tokensPerMinute: number, requestsPerMinute: number) =>
    start({ now: () => nowMs.value, outputTokens: 10, models: { 'gpt-4o': { tokensPerMinute, requestsPerMinute } } });

  it('charge input on arrival and output as produced, and say so in headers', async () => {
    await at({ value: 0 }, 6_000, 60);

    const first = await post(CALL);
    const second = await post(CALL);

    expect(Object.fromEntries([...first.headers].filter(([name]) => name.startsWith('x-ratelimit')))).toEqual({
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-limit-tokens': '6000',
      'x-ratelimit-remaining-requests': '59',
      'x-ratelimit-remaining-tokens': '5993',
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-reset-tokens': '70ms',
    });
    expect(second.headers.get('x-ratelimit-remaining-tokens')).toBe('5976');
    expect(provider.stats().models['gpt-4o']).toEqual({
      requests: 2,
      tokensCharged: 34,
      inputTokens: 14,
      outputTokens: 20,
      refused429: 0,
    });
  });

  it('refuse with 429 while tokens are missing, and accept after exactly the wait that was told', async () => {
    const nowMs = { value: 0 };
    const openai = await at(nowMs, 60, 1_000);
    for (let call = 0; call < 3; call++) await post(CALL);
    // 3 calls of 17 left 9: the fourth takes 7 and its output makes a debt of 8; 15 tokens are missing, one a second.
    await post(CALL);

    const error = await openai.chat.completions.create(CALL).catch((caught: unknown) => caught);
    nowMs.value = 14_999;
    const early = await post(CALL);
    nowMs.value = 15_000;
    const late = await post(CALL);

    expect(error).toBeInstanceOf(RateLimitError);
    const { code, type, headers } = error as RateLimitError;
    expect([code, type]).toEqual(['rate_limit_exceeded', 'tokens']);
    expect([headers.get('retry-after'), headers.get('retry-after-ms')]).toEqual(['15', '15000']);
    expect(headers.get('x-ratelimit-remaining-tokens')).toBe('0');
    expect([early.status, late.status]).toEqual([429, 200]);
    expect(provider.stats()).toMatchObject({ calls: 7, accepted: 5, refused429: 2 });
  });

  it('refuse with the type requests while requests are missing', async () => {
    const nowMs = { value: 0 };
    await at(nowMs, 100_000, 2);
    await post(CALL);
    await post(CALL);

    const refused = await post(CALL);
    nowMs.value = 30_000;
    const accepted = await post(CALL);

    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ error: { type: 'requests', code: 'rate_limit_exceeded', param: null } });
    expect(refused.headers.get('retry-after')).toBe('30');
    expect(accepted.status).toBe(200);
  });

  it.each([
    [false, 200],
    [true, 429],
  ])('with countRefused %s, a refused call makes one in the next second answer %i', async (countRefused, status) => {
    const nowMs = { value: 0 };
    await start({
      now: () => nowMs.value,
      countRefused,
      models: { 'gpt-4o': { tokensPerMinute: 100_000, requestsPerMinute: 60 } },
    });
    for (let call = 0; call < 60; call++) await post(CALL);

    nowMs.value = 500;
    const refused = await post(CALL);
    nowMs.value = 1_000;
    const next = await post(CALL);

    expect(refused.status).toBe(429);
    expect(next.status).toBe(status);
  });

  it('give no wait to a call that is larger than the limit', async () => {
    await at({ value: 0 }, 6, 10);

    const refused = await post(CALL);

    expect(refused.status).toBe(429);
    expect(refused.headers.has('retry-after')).toBe(false);
    expect((await refused.json()).error.message).toContain('too large');
  });

  it('are full again, with all counts forgotten, after a reset', async () => {
    await at({ value: 0 }, 100_000, 1);
    await post(CALL);

    provider.reset();
    const statsAfterReset = provider.stats();
    const next = await post(CALL);

    expect(statsAfterReset).toMatchObject({ calls: 0, accepted: 0, models: { 'gpt-4o': { requests: 0, tokensCharged: 0 } } });
    expect(next.status).toBe(200);
  });

  it('refill a bucket continuously up to its capacity, and not at all when time jumps back', () => {
    let nowMs = 0;
    const bucket = createBucket(600, () => nowMs);
    bucket.take(600);

    nowMs = 1_000;
    const afterASecond = bucket.remaining();
    nowMs = 0;
    const afterTheJump = bucket.remaining();
    nowMs = 600_000;

    expect([afterASecond, afterTheJump, bucket.remaining()]).toEqual([10, 10, 600]);
  });

  it.each([
    [0, '0s'],
    [9, '9ms'],
    [1_000, '1s'],
    [1_500, '1.5s'],
    [59_050, '59.05s'],
    [360_000, '6m0s'],
    [3_602_250, '1h0m2.25s'],
  ])('write %i ms as %s', (ms, text) => {
    expect(goDuration(ms)).toBe(text);
  });
});

describe('a call that is wrong', () => {
  it('gets 404 as the SDK knows it when the model is unknown', async () => {
    const openai = await start();

    const error = await openai.chat.completions.create({ ...CALL, model: 'gpt-9' }).catch((caught: unknown) => caught);

    expect(error).toBeInstanceOf(NotFoundError);
    expect((error as NotFoundError).code).toBe('model_not_found');
    expect(provider.stats()).toMatchObject({ calls: 1, accepted: 0 });
  });

  it.each([
    ['no JSON', '{"model":'],
    ['no object', '[]'],
    ['no model', { messages: CALL.messages }],
    ['no messages', { model: 'gpt-4o', messages: [] }],
    ['a negative maximum', { ...CALL, max_tokens: -1 }],
    ['too many choices', { ...CALL, n: 129 }],
  ])('gets 400 when it has %s', async (_, body) => {
    await start();

    const response = await post(body);

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
  });
});

describe('faults', () => {
  it.each([
    ['429', RateLimitError],
    ['500', InternalServerError],
    ['reset', TypeError],
  ])('by header: %s reaches the caller of the SDK as an error of its kind', async (fault, expected) => {
    const openai = await start();

    const error = await openai.chat.completions
      .create(CALL, { headers: { 'x-fault': fault } })
      .catch((caught: unknown) => caught);

    expect(error).toBeInstanceOf(expected);
    expect(provider.stats().faults[fault as '429']).toBe(1);
    expect(provider.stats().refused429).toBe(0);
  });

  it('by header: an unknown name answers 400, so that a misspelt test fails', async () => {
    await start();

    expect((await post(CALL, { 'x-fault': 'explode' })).status).toBe(400);
  });

  it('cut a stream after half of its tokens on reset', async () => {
    await start({ outputTokens: 40 });

    const response = await post({ ...CALL, stream: true }, { 'x-fault': 'reset' });
    const reading = response.text();

    expect(response.status).toBe(200);
    await expect(reading).rejects.toThrow('terminated');
    expect(provider.stats()).toMatchObject({ aborted: 0, models: { 'gpt-4o': { outputTokens: 20 } } });
  });

  it('leave a hanging call unanswered until its caller gives up', async () => {
    await start();
    const giveUp = new AbortController();

    const hanging = fetch(`${provider.url}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify(CALL),
      headers: { 'x-fault': 'hang' },
      signal: giveUp.signal,
    });
    await until(() => provider.stats().accepted === 1);
    giveUp.abort();

    await expect(hanging).rejects.toThrow();
    await until(() => provider.stats().aborted === 1);
    expect(provider.stats()).toMatchObject({ aborted: 1, models: { 'gpt-4o': { outputTokens: 0 } } });
  });

  it('spoil or omit usage on demand, in JSON and in streams', async () => {
    await start();
    const streaming = { ...CALL, stream: true, stream_options: { include_usage: true } };

    const garbage = await (await post(CALL, { 'x-fault': 'garbage-usage' })).json();
    const missing = await (await post(CALL, { 'x-fault': 'no-usage' })).json();
    const garbageStream = await (await post(streaming, { 'x-fault': 'garbage-usage' })).text();
    const missingStream = await (await post(streaming, { 'x-fault': 'no-usage' })).text();

    expect(garbage.usage).toEqual({ prompt_tokens: -5, completion_tokens: 'many', total_tokens: null });
    expect('usage' in missing).toBe(false);
    expect(garbageStream).toContain('"completion_tokens":"many"');
    expect(missingStream).not.toContain('usage');
  });

  it('delay the first token by slowMs', async () => {
    await start({ slowMs: 120 });

    const beganMs = performance.now();
    await post(CALL, { 'x-fault': 'slow' });

    expect(performance.now() - beganMs).toBeGreaterThan(115);
  });

  it('follow the script entry by entry, answers of its own included, and then stop', async () => {
    await start();
    provider.script(['429', 'none', { status: 503, headers: { 'retry-after': 'soon' }, body: { error: 'busy' } }, '500']);

    const answers: Response[] = [];
    for (let call = 0; call < 5; call++) answers.push(await post(CALL));

    expect(answers.map((answer) => answer.status)).toEqual([429, 200, 503, 500, 200]);
    expect(answers[2]?.headers.get('retry-after')).toBe('soon');
    expect(await answers[2]?.json()).toEqual({ error: 'busy' });
  });

  it('befall the share of calls that their ratio says', async () => {
    const draws = [0.05, 0.15, 0.25, 0.35];
    await start({ faults: { spurious429: 0.1, error500: 0.1, resetMidBody: 0.1 }, random: () => draws.shift() as number });

    const outcomes: unknown[] = [];
    for (let call = 0; call < 4; call++) {
      const response = await post(CALL);
      outcomes.push(
        await response.text().then(
          () => response.status,
          () => 'cut',
        ),
      );
    }

    expect(outcomes).toEqual([429, 500, 'cut', 200]);
  });
});

describe('the server', () => {
  it('keeps the last requests only, with body and headers', async () => {
    await start({ keepRequests: 2 });

    for (const user of ['a', 'b', 'c']) await post({ ...CALL, user }, { 'x-test': user });

    expect(provider.requests.map(({ body, headers }) => [(body as { user: string }).user, headers['x-test']])).toEqual([
      ['b', 'b'],
      ['c', 'c'],
    ]);
  });

  it('ends open calls and refuses new ones after close, which may be called twice', async () => {
    await start();
    const hanging = post(CALL, { 'x-fault': 'hang' }).catch(() => 'ended');
    await until(() => provider.stats().accepted === 1);

    await provider.close();
    await provider.close();

    expect(await hanging).toBe('ended');
    await expect(post(CALL)).rejects.toThrow();
    expect(provider.stats().aborted).toBe(0);
  });

  it('lists its models and answers 404 elsewhere', async () => {
    const openai = await start();

    const models = await openai.models.list();
    const elsewhere = await fetch(`${provider.url}/embeddings`, { method: 'POST', body: '{}' });

    expect(models.data.map((model) => model.id)).toEqual(['gpt-4o']);
    expect(elsewhere.status).toBe(404);
  });
});
