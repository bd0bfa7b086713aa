import { afterEach, describe, expect, it } from 'vitest';
import { queue } from '../../src/index.js';
import { MAXIMUM, SDKS } from '../support/clients/sdks.js';
import { type ClientWorld, createClientWorld, MODES, PLACES } from '../support/clients/world.js';
import { until } from '../support/loopback.js';

let world: ClientWorld;
afterEach(() => world.close());

const QUESTION = 'How deep is the river?';
const stats = () => world.outbound.provider.stats();
/** How the calls of the provider were settled. */
const endings = () => world.outbound.settled.filter(({ usage }) => usage).map(({ by }) => by);
const thrown = (asking: Promise<unknown>) => asking.catch((error: unknown) => error);

describe.each(PLACES)('on %s, a client with the SDK of %s', (...place) => {
  const { model, cheaper, finished, errors } = SDKS[place[1]];

  it.each(MODES)('that aborts %s before the answer begins ends it upstream', async (mode) => {
    world = await createClientWorld(...place);
    world.outbound.provider.script(['hang']);
    const controller = new AbortController();
    const asking = thrown(world.client()[mode](QUESTION, { signal: controller.signal }));
    await until(() => stats().accepted === 1);

    controller.abort();

    expect(await asking).toBeInstanceOf(errors.APIUserAbortError);
    await until(() => stats().aborted === 1);
    await world.expectNothingHeld();
    expect(endings()).toEqual(['partial']);
    expect(world.providerCalls()).toBe(1);
  });

  it('that aborts a stream in the middle ends it upstream, and pays for what was produced', async () => {
    world = await createClientWorld(...place, { provider: { msPerToken: 50 } });
    const controller = new AbortController();
    const hearing = await world.client().stream(QUESTION, { signal: controller.signal });

    let finish: string | null | undefined;
    for await (const said of hearing) {
      finish = said.finish ?? finish;
      if (said.text) controller.abort();
    }

    expect(finish).toBeUndefined();
    await until(() => stats().aborted === 1);
    await world.expectNothingHeld();
    expect(endings()).toEqual(['partial']);
    const [settled] = world.outbound.settled.filter(({ usage }) => usage);
    expect(settled?.usage?.outputTokens).toBeGreaterThan(0);
    expect(settled?.usage?.outputTokens).toBeLessThan(MAXIMUM);
    expect(stats().models[model]?.outputTokens).toBeLessThan(MAXIMUM);
    expect(world.providerCalls()).toBe(1);
  });

  it('that aborts while it waits in the queue costs nothing, by create and stream', async () => {
    const models = { [model]: { budgets: [{ concurrent: 1 }] }, [cheaper]: {} };
    world = await createClientWorld(...place, { options: { models, ladder: [queue({ waitMs: 60_000 })] } });
    world.outbound.provider.script(['hang']);
    const first = new AbortController();
    const running = thrown(world.client().create(QUESTION, { signal: first.signal }));
    await until(() => stats().accepted === 1);
    const controller = new AbortController();
    const waiting = MODES.map((mode) => thrown(world.client()[mode](QUESTION, { signal: controller.signal })));
    await until(async () => (await world.outbound.gate.snapshot()).queueDepth === 2);

    controller.abort();

    for (const error of await Promise.all(waiting)) expect(error).toBeInstanceOf(errors.APIUserAbortError);
    await until(async () => (await world.outbound.gate.snapshot()).queueDepth === 0);
    first.abort();
    await running;
    await world.expectNothingHeld();
    expect(world.providerCalls()).toBe(1);
  });

  it('that runs out of time in the queue costs nothing, by create and stream', async () => {
    const models = { [model]: { budgets: [{ concurrent: 1 }] }, [cheaper]: {} };
    world = await createClientWorld(...place, { options: { models, ladder: [queue({ waitMs: 60_000 })] } });
    world.outbound.provider.script(['hang']);
    const first = new AbortController();
    const running = thrown(world.client().create(QUESTION, { signal: first.signal }));
    await until(() => stats().accepted === 1);
    const client = world.client({ timeout: 400, maxRetries: 0 });

    const results = await Promise.all(MODES.map((mode) => thrown(client[mode](QUESTION))));

    for (const error of results) expect(error).toBeInstanceOf(errors.APIConnectionTimeoutError);
    await until(async () => (await world.outbound.gate.snapshot()).queueDepth === 0);
    first.abort();
    await running;
    await world.expectNothingHeld();
    expect(world.providerCalls()).toBe(1);
  });

  it.each(['429', '500'] as const)('comes back once after a %s of the provider, by create and stream', async (fault) => {
    world = await createClientWorld(...place);
    world.outbound.provider.script([fault, fault]);

    const heard = await Promise.all(MODES.map((mode) => world.ask(mode, QUESTION)));

    expect(heard).toMatchObject(Array(2).fill({ finish: finished, outcome: 'passed' }));
    await world.expectNothingHeld();
    expect(world.providerCalls()).toBe(4);
  });
});
