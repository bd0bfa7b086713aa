import { APIConnectionTimeoutError, APIUserAbortError, InternalServerError, RateLimitError } from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import { queue } from '../src/index.js';
import { until } from './support/loopback.js';
import { createSdkWorld, type Mode, type SdkWorld } from './support/sdk.js';

let world: SdkWorld;
afterEach(() => world.close());

const MODES: readonly Mode[] = ['create', 'stream'];
const messages = [{ role: 'user', content: 'How deep is the river?' }] as const;
const asked = { model: 'gpt-4o', messages: [...messages] };
const stats = () => world.outbound.provider.stats();

async function expectNothingHeld(): Promise<void> {
  await until(async () => {
    const { openRequests, liveReservations, queueDepth } = await world.outbound.gate.snapshot();
    return openRequests + liveReservations + queueDepth === 0;
  });
  expect(Object.keys(await world.outbound.sums()).filter((name) => name.endsWith('concurrent'))).toEqual([]);
}

describe('a provider that fails is asked as often as the client itself tries, not more:', () => {
  it.each(MODES)('once more, when the second attempt of %s succeeds', async (mode) => {
    world = await createSdkWorld();
    world.outbound.provider.script(['500']);

    expect(await world.ask(mode, 'How deep is the river?')).toMatchObject({ finish: 'stop', outcome: 'passed' });
    expect(stats().calls).toBe(2);
    const sums = await world.outbound.sums();
    const { inputTokens = 0, outputTokens = 0 } = stats().models['gpt-4o'] ?? {};
    expect(sums).toEqual({ 'model gpt-4o tokens': inputTokens + outputTokens, 'model gpt-4o requests': 2 });
  });

  it.each<[Mode, '429' | '500', unknown]>([
    ['create', '429', RateLimitError],
    ['stream', '429', RateLimitError],
    ['create', '500', InternalServerError],
  ])('three times by %s, when every attempt is a %s', async (mode, fault, kind) => {
    world = await createSdkWorld();
    world.outbound.provider.script([fault, fault, fault, fault]);

    const error = await world.ask(mode, 'How deep is the river?').catch((error: unknown) => error);

    expect(error).toBeInstanceOf(kind);
    expect(stats().calls).toBe(3);
    await expectNothingHeld();
    expect(await world.outbound.sums()).toEqual({ 'model gpt-4o requests': 3 });
  });

  it('and a stream that breaks off is not asked for again', async () => {
    world = await createSdkWorld({}, { outputTokens: 200 });
    world.outbound.provider.script(['reset']);

    await expect(world.ask('stream', 'How deep is the river?')).rejects.toThrow();
    expect(stats().calls).toBe(1);
    await expectNothingHeld();
    expect(world.outbound.settled.filter(({ usage }) => usage)).toHaveLength(1);
  });
});

describe('a client that leaves leaves nothing behind', () => {
  it('when it aborts a stream, which ends upstream', async () => {
    world = await createSdkWorld({}, { outputTokens: 400, msPerToken: 5 });
    const stream = await world.client().chat.completions.create({ ...asked, stream: true });
    const chunks: unknown[] = [];
    for await (const chunk of stream) if (chunks.push(chunk) === 3) break;

    await until(() => stats().aborted === 1);
    await expectNothingHeld();
    expect(stats().calls).toBe(1);
    const [settled] = world.outbound.settled.filter(({ usage }) => usage);
    expect(settled).toMatchObject({ by: 'partial', usage: { inputTokens: settled?.estimatedInputTokens } });
    expect(settled?.usage?.outputTokens).toBeGreaterThan(0);
    expect(settled?.usage?.outputTokens).toBeLessThan(400);
  });

  it('when it aborts before the answer begins, which ends upstream', async () => {
    world = await createSdkWorld();
    world.outbound.provider.script(['hang']);
    const controller = new AbortController();
    const asking = world.client().chat.completions.create(asked, { signal: controller.signal });
    const thrown = asking.catch((error: unknown) => error);
    await until(() => stats().accepted === 1);

    controller.abort();

    expect(await thrown).toBeInstanceOf(APIUserAbortError);
    await until(() => stats().aborted === 1);
    await expectNothingHeld();
    expect(stats().calls).toBe(1);
  });

  it('when it aborts while it waits in the queue, and then costs nothing', async () => {
    world = await createSdkWorld(
      { models: { 'gpt-4o': { budgets: [{ concurrent: 1 }] } }, ladder: [queue({ waitMs: 60_000 })] },
      { outputTokens: 400, msPerToken: 5 },
    );
    const client = world.client();
    const first = await client.chat.completions.create({ ...asked, stream: true });
    const controller = new AbortController();
    const second = client.chat.completions.create(asked, { signal: controller.signal }).catch((error: unknown) => error);
    await until(async () => (await world.outbound.gate.snapshot()).queueDepth === 1);

    controller.abort();

    expect(await second).toBeInstanceOf(APIUserAbortError);
    await until(async () => (await world.outbound.gate.snapshot()).queueDepth === 0);
    first.controller.abort();
    await expectNothingHeld();
    expect(stats().calls).toBe(1);
  });

  it('when it runs out of time in each of its attempts, which all end upstream', async () => {
    world = await createSdkWorld();
    world.outbound.provider.script(['hang', 'hang']);
    const client = world.client({ timeout: 600, maxRetries: 1 });

    const error = await client.chat.completions.create(asked).catch((error: unknown) => error);

    expect(error).toBeInstanceOf(APIConnectionTimeoutError);
    await until(() => stats().aborted === 2);
    await expectNothingHeld();
    expect(stats().calls).toBe(2);
    expect(world.outbound.settled.filter(({ usage }) => usage).map(({ by }) => by)).toEqual(['partial', 'partial']);
  });

  it('when fifty of them leave and fifty stay, of whom each gets its whole answer', async () => {
    world = await createSdkWorld({}, { outputTokens: 40, msPerToken: 2 });
    const client = world.client();
    const heard = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const stream = await client.chat.completions.create({ ...asked, stream: true });
        let finish: string | null | undefined;
        for await (const { choices } of stream) {
          finish = choices[0]?.finish_reason ?? finish;
          if (index % 2 === 0) break;
        }
        return finish ?? 'left';
      }),
    );

    expect(heard.filter((finish) => finish === 'stop')).toHaveLength(50);
    await until(() => stats().aborted === 50);
    await expectNothingHeld();
    expect(stats().calls).toBe(100);
  });
});
