import { beforeEach, describe, expect, it } from 'vitest';
import { cachedAnswer, type Dialect, type Options, openaiChat } from '../../src/index.js';
import { memoryStore } from '../../src/stores/memory.js';
import { listen, until } from '../support/loopback.js';
import { chat, createOutbound, type Outbound, post } from '../support/outbound.js';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.js';

let outbound: Outbound;
let clock: VirtualClock;

async function begin(options: Partial<Options<'user'>> = {}): Promise<void> {
  clock = createVirtualClock();
  outbound = await createOutbound({ clock, store: memoryStore({ clock }), ...options }, { outputTokens: 200, msPerToken: 1 });
}
beforeEach(async () => {
  await begin();
  return () => outbound.close();
});

const asked = chat('How deep is the river?', { stream: true });
const ask = (body: object = asked, init: RequestInit = {}) =>
  outbound.gate.as({ user: 'ada' }).fetch(outbound.url, post(body, init));
const fault = (name: string) => ({ headers: { 'content-type': 'application/json', 'x-fault': name } });

/** How the only call came to its end: charged for the prompt, and for more or less of the answer. */
async function expectPartial(): Promise<number> {
  const sums = await outbound.sums();
  const [settled] = outbound.settled;
  const output = settled?.usage?.outputTokens ?? Number.NaN;
  expect(settled).toMatchObject({ by: 'partial', usage: { inputTokens: settled?.estimatedInputTokens } });
  expect(sums['user ada tokens']).toBe((settled?.estimatedInputTokens ?? 0) + output);
  expect(sums['user ada concurrent']).toBe(undefined);
  await until(() => outbound.provider.stats().aborted === 1);
  return output;
}

describe('a stream that is left is settled once, charged for what came, and ended upstream,', () => {
  it('when its body is never read, after the stall time', async () => {
    const response = await ask();
    expect(outbound.books.open).toBe(1);

    await clock.advance(71_000);

    expect(await expectPartial()).toBe(0);
    await expect(response.text()).rejects.toMatchObject({ code: 'SPILLWAY_STALLED' });
  });

  it('when its reader takes a part and stops, after the stall time', async () => {
    const reader = (await ask()).body?.getReader();
    await reader?.read();
    await clock.advance(40_000);
    await reader?.read();
    await clock.advance(40_000);
    expect(outbound.books.open).toBe(1);

    await clock.advance(40_000);

    expect(await expectPartial()).toBeGreaterThan(0);
  });

  it('when its body is cancelled', async () => {
    await (await ask()).body?.cancel();

    expect(await expectPartial()).toBe(0);
  });

  it('when its reader is cancelled in the middle of a read', async () => {
    const reader = (await ask()).body?.getReader();
    await reader?.read();
    const pending = reader?.read();
    await reader?.cancel('enough');

    expect(await pending).toEqual({ done: true, value: undefined });
    expect(await expectPartial()).toBeLessThan(200);
  });

  it('when a loop over it is broken off', async () => {
    for await (const _ of (await ask()).body ?? []) break;

    expect(await expectPartial()).toBeLessThan(200);
  });

  it('when both branches of a clone are cancelled', async () => {
    const response = await ask();
    const clone = response.clone();
    await Promise.all([response.body?.cancel(), clone.body?.cancel()]);

    expect(await expectPartial()).toBe(0);
  });
});

describe('a stream goes on', () => {
  it('when its reader lets go of it and another one takes over', async () => {
    const { body } = await ask();
    const first = body?.getReader();
    await first?.read();
    first?.releaseLock();

    let text = '';
    for await (const chunk of body ?? []) text += Buffer.from(chunk).toString();

    await outbound.sums();
    expect(text).toMatch(/data: \[DONE\]\n\n$/);
    expect(outbound.settled).toMatchObject([{ by: 'usage', usage: { outputTokens: 200 } }]);
  });

  it('while one branch of a clone is read, and is settled once', async () => {
    const response = await ask();
    const clone = response.clone();
    // Its promise waits for the other branch.
    void response.body?.cancel();

    expect(await clone.text()).toMatch(/data: \[DONE\]\n\n$/);
    await outbound.sums();
    expect(outbound.settled).toMatchObject([{ by: 'usage', usage: { outputTokens: 200 } }]);
  });

  it('while the provider is slow, however long: its caller has not stalled', async () => {
    let goOn: () => void = () => {};
    const slow = await listen((_, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {"choices":[]}\n\n');
      goOn = () => res.end('data: [DONE]\n\n');
    });
    const response = await outbound.gate.fetch(`${slow.url}/v1/chat/completions`, post(asked));
    const reader = response.body?.getReader();
    await reader?.read();
    const pending = reader?.read();
    await clock.advance(300_000);
    goOn();

    expect(Buffer.from((await pending)?.value ?? []).toString()).toBe('data: [DONE]\n\n');
    expect((await reader?.read())?.done).toBe(true);
    await slow.close();
    await outbound.sums();
    expect(outbound.settled).toMatchObject([{ by: 'counted' }]);
  });
});

it('a stream that breaks off fails as the bare one does, and is charged for what came', async () => {
  const told = ({ name, message }: Error) => ({ name, message });
  const bare = await (await fetch(outbound.url, post(asked, fault('reset')))).text().catch(told);

  expect(await (await ask(asked, fault('reset'))).text().catch(told)).toEqual(bare);
  await outbound.sums();
  expect(outbound.settled).toMatchObject([{ by: 'counted' }]);
  expect(outbound.settled[0]?.usage?.outputTokens).toBeGreaterThan(50);
  expect(outbound.settled[0]?.usage?.outputTokens).toBeLessThan(150);
});

describe('an application whose own part throws harms neither the stream nor its settlement:', () => {
  const throws = () => {
    throw new Error('mine');
  };

  it.each<[string, Partial<Dialect>]>([
    ['usage', { usage: throws }],
    ['text', { text: throws, usage: () => undefined }],
    ['isUsageOnly', { isUsageOnly: throws }],
    ['collect', { collect: throws }],
  ])('%s of its dialect', async (_, member) => {
    await outbound.close();
    await begin({ dialects: [{ ...openaiChat, name: 'own', ...member }], ladder: [cachedAnswer()] });

    expect(await (await ask()).text()).toMatch(/data: \[DONE\]\n\n$/);
    await outbound.sums();
    expect(outbound.settled).toMatchObject([{ usage: { outputTokens: expect.any(Number) } }]);
  });

  it('usage of its dialect that is no usage', async () => {
    await outbound.close();
    await begin({ dialects: [{ ...openaiChat, name: 'own', usage: () => ({ inputTokens: Number.NaN, outputTokens: -1 }) }] });

    await (await ask()).text();
    await outbound.sums();
    expect(outbound.settled).toMatchObject([{ by: 'counted' }]);
    expect((await outbound.gate.usage({ scope: 'user' }))[0]?.inputTokens).toBe(outbound.settled[0]?.estimatedInputTokens);
  });

  it('learn of its step', async () => {
    await outbound.close();
    const step = { ...cachedAnswer(), name: 'own', learn: throws };
    await begin({ ladder: [step] });
    const failed: string[] = [];
    outbound.gate.on('step-skipped', ({ step, why }) => failed.push(`${step} ${why}`));

    expect(await (await ask()).text()).toMatch(/data: \[DONE\]\n\n$/);
    await outbound.sums();
    expect(failed).toEqual(['own failed']);
  });
});

it('a thousand streams at a time leave nothing held, whatever becomes of them', { timeout: 60_000 }, async () => {
  const ways: ((response: Response) => unknown)[] = [
    (response) => response.text(),
    (response) => response.body?.cancel(),
    async (response) => {
      for await (const _ of response.body ?? []) break;
    },
    (response) => response.text().catch(() => {}),
    () => {},
  ];
  const job = outbound.gate.as({ user: 'ada' });
  const calls = Array.from({ length: 1_000 }, async (_, index) => {
    const controller = new AbortController();
    const init = { ...(index % 5 === 3 ? fault('reset') : {}), signal: controller.signal };
    const call = job.fetch(outbound.url, post(chat('x', { stream: true, max_tokens: 8 }), init));
    if (index % 50 === 0) controller.abort();
    const response = await call.catch(() => undefined);
    if (response) await ways[index % 5]?.(response);
  });
  await Promise.all(calls);
  expect(outbound.books.open).toBe(200);

  await clock.advance(120_000);

  const sums = await outbound.sums();
  expect(outbound.books.settlements.length).toBe(980);
  expect((await outbound.gate.snapshot()).liveReservations).toBe(0);
  expect(sums['user ada concurrent']).toBe(undefined);
  expect(sums['user ada requests']).toBe(1);
});
