import { beforeEach, describe, expect, it, vi } from 'vitest';
import { queue } from '../../src/index.js';
import { until } from '../support/loopback.js';
import { chat, createOutbound, type Outbound, post } from '../support/outbound.js';

let outbound: Outbound;
beforeEach(async () => {
  outbound = await createOutbound({ ladder: [queue({ waitMs: 60_000 })] }, { outputTokens: 400, msPerToken: 5 });
  return () => outbound.close();
});

const ada = () => outbound.gate.as({ user: 'ada' }).fetch;
const hang = { headers: { 'content-type': 'application/json', 'x-fault': 'hang' } };
const streamed = chat('How deep is the river?', { stream: true });

/** A signal as libraries older than AbortController in Node bring it along. */
function foreignSignal() {
  const target = new EventTarget();
  const signal = { aborted: false, reason: undefined as unknown };
  return {
    signal: Object.assign(target, signal) as unknown as AbortSignal,
    abort() {
      Object.assign(target, { aborted: true });
      target.dispatchEvent(new Event('abort'));
    },
  };
}

describe('an abort', () => {
  it('before the call rejects with its reason and reaches nobody', async () => {
    const reason = new Error('changed my mind');

    const call = ada()(outbound.url, post(streamed, { signal: AbortSignal.abort(reason) }));

    await expect(call).rejects.toBe(reason);
    expect(await outbound.sums()).toEqual({});
    expect(outbound.provider.stats().calls).toBe(0);
  });

  it('while the call waits in the queue rejects at once, costs nothing and is never sent', async () => {
    await outbound.close();
    outbound = await createOutbound(
      { models: { 'gpt-4o': { budgets: [{ concurrent: 1 }] } }, ladder: [queue({ waitMs: 60_000 })] },
      { outputTokens: 400, msPerToken: 5 },
    );
    const first = await ada()(outbound.url, post(streamed));
    const controller = new AbortController();
    const reason = new Error('changed my mind');

    const second = ada()(outbound.url, post(streamed, { signal: controller.signal }));
    await until(async () => (await outbound.gate.snapshot()).queueDepth === 1);
    controller.abort(reason);

    await expect(second).rejects.toBe(reason);
    expect((await outbound.gate.snapshot()).queueDepth).toBe(0);
    await first.body?.cancel();
    await outbound.sums();
    expect(outbound.provider.stats().calls).toBe(1);
    expect(outbound.books.settlements).toEqual([1]);
  });

  it.each<[string, () => { signal: AbortSignal; abort(): void }, object]>([
    ['by the caller', controlled, { name: 'AbortError' }],
    ['with a reason that is no error', () => controlled('bye'), { told: 'bye' }],
    ['by a signal of another library', foreignSignal, { name: 'AbortError' }],
    ['by time', () => ({ signal: AbortSignal.timeout(800), abort: () => {} }), { name: 'TimeoutError' }],
  ])('%s before a stream begins ends the call upstream, and charges the prompt', async (_, make, expected) => {
    const { signal, abort } = make();

    const call = ada()(outbound.url, post(streamed, { ...hang, signal })).catch((error) =>
      typeof error === 'string' ? { told: error } : error,
    );
    await until(() => outbound.provider.stats().accepted === 1);
    abort();

    expect(await call).toMatchObject(expected);
    const sums = await outbound.sums();
    const [settled] = outbound.settled;
    expect(settled).toMatchObject({ by: 'partial', usage: { inputTokens: settled?.estimatedInputTokens, outputTokens: 0 } });
    expect(sums['user ada tokens']).toBe(settled?.estimatedInputTokens);
    await until(() => outbound.provider.stats().aborted === 1);
  });

  it('before an answer in one piece charges the estimate: it may be made already', async () => {
    const controller = new AbortController();
    const body = chat('How deep is the river?', { max_tokens: 20 });

    const call = ada()(outbound.url, post(body, { ...hang, signal: controller.signal }));
    await until(() => outbound.provider.stats().accepted === 1);
    controller.abort();

    await expect(call).rejects.toMatchObject({ name: 'AbortError' });
    await outbound.sums();
    const [settled] = outbound.settled;
    expect(settled).toMatchObject({ by: 'partial', usage: { inputTokens: settled?.estimatedInputTokens, outputTokens: 20 } });
  });

  it('in the middle of a stream rejects the read with its reason, and charges the prompt and what came', async () => {
    const controller = new AbortController();
    const reason = new Error('heard enough');
    const response = await ada()(outbound.url, post(streamed, { signal: controller.signal }));
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.read();

    controller.abort(reason);

    await expect(reader?.read()).rejects.toBe(reason);
    await outbound.sums();
    const [settled] = outbound.settled;
    expect(settled?.by).toBe('partial');
    expect(settled?.usage?.inputTokens).toBe(settled?.estimatedInputTokens);
    expect(settled?.usage?.outputTokens).toBeGreaterThan(0);
    expect(settled?.usage?.outputTokens).toBeLessThan(400);
    await until(() => outbound.provider.stats().aborted === 1);
  });

  it('in the middle of JSON rejects the read as a bare fetch does', async () => {
    const told = async (fetched: (signal: AbortSignal) => Promise<Response>) => {
      const controller = new AbortController();
      const response = await fetched(controller.signal);
      const text = response.text();
      controller.abort();
      return text.catch(({ name, message }) => ({ name, message }));
    };
    const bare = await told((signal) => fetch(outbound.url, post(streamed, { signal })));

    expect(await told((signal) => ada()(outbound.url, post(streamed, { signal })))).toEqual(bare);
    await outbound.sums();
  });

  it('just when the head has come settles the call at once, though nobody reads on', async () => {
    const controller = new AbortController();
    const bare = globalThis.fetch;
    vi.spyOn(globalThis, 'fetch').mockImplementationOnce(async (...given) => {
      const response = await bare(...given);
      controller.abort();
      return response;
    });

    await ada()(outbound.url, post(streamed, { signal: controller.signal }));

    await outbound.sums();
    expect(outbound.settled).toMatchObject([{ by: 'partial', usage: { outputTokens: 0 } }]);
  });

  it('after the answer has come changes nothing', async () => {
    const controller = new AbortController();
    const response = await ada()(outbound.url, post(chat('Hello?', { max_tokens: 2 }), { signal: controller.signal }));
    await response.text();
    const sums = await outbound.sums();

    controller.abort();

    expect(outbound.settled.map(({ by }) => by)).toEqual(['usage']);
    expect(await outbound.sums()).toEqual(sums);
  });

  it('of a Request is followed as one of init is', async () => {
    const controller = new AbortController();
    const request = new Request(outbound.url, post(streamed, { signal: controller.signal }));
    const response = await ada()(request);

    controller.abort();

    await expect(response.text()).rejects.toMatchObject({ name: 'AbortError' });
    await until(() => outbound.provider.stats().aborted === 1);
    await outbound.sums();
  });
});

describe('a signal that outlives its calls', () => {
  it.each<[string, object, string?]>([
    ['answered', { max_tokens: 1 }],
    ['answered by a stream', { max_tokens: 1, stream: true }],
    ['refused by the provider', { max_tokens: 0 }],
    ['refused by the gate', { model: 'full' }],
    ['heard by nobody', {}, 'http://127.0.0.1:1/v1/chat/completions'],
  ])('is let go of when they are %s', async (_, more, url = outbound.url) => {
    await outbound.close();
    outbound = await createOutbound({ models: { 'gpt-4o': {}, full: { budgets: [{ requests: 0, per: 'hour' }] } } });
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');

    const ask = () => ada()(url, post(chat('Hello?', more), { signal })).then((response) => response.text());
    for (let call = 0; call < 5; call++) await ask().catch(() => {});
    await outbound.sums();

    expect(added.mock.calls.length).toBeGreaterThan(0);
    expect(removed.mock.calls.length).toBe(added.mock.calls.length);
    const dependants = Object.getOwnPropertySymbols(signal).map((symbol) => Reflect.get(signal, symbol));
    expect(dependants.filter((value) => value instanceof Set && value.size > 0)).toEqual([]);
  });
});

it('warns of no leak when one signal is given to many calls at a time', async () => {
  const warnings: string[] = [];
  const listener = ({ name }: Error) => warnings.push(name);
  process.on('warning', listener);
  const { signal } = new AbortController();

  const calls = Array.from({ length: 30 }, () => ada()(outbound.url, post(chat('Hello?', { max_tokens: 2 }), { signal })));
  await Promise.all((await Promise.all(calls)).map((response) => response.text()));
  await outbound.sums();

  process.off('warning', listener);
  expect(warnings).not.toContain('MaxListenersExceededWarning');
});

function controlled(reason?: unknown) {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort(reason) };
}
