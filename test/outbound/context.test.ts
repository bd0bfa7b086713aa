import { AsyncResource } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Request } from 'express';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { spillwayOf } from '../../adapters/express.js';
import type { FetchLike } from '../../src/index.js';
import { until } from '../support/loopback.js';
import { chat, createOutbound, type Outbound, post } from '../support/outbound.js';
import { type Served, serve } from '../support/served.js';

/** Stands for a pool of connections or a batcher: made at start-up, it runs everybody's callbacks in its own context. */
const pool = new AsyncResource('pool');

let outbound: Outbound;
let served: Served | undefined;
let missing: (string | undefined)[];
let warnings: string[];

beforeEach(async () => {
  warnings = [];
  outbound = await createOutbound({ logger: { info: () => {}, warn: (_, message) => void warnings.push(message) } });
  missing = [];
  outbound.gate.on('context-missing', ({ model }) => missing.push(model));
});
afterEach(async () => {
  await served?.close();
  served = undefined;
  await outbound.close();
});

const asked = chat('How deep is the river?');
const call = async (fetchLike: FetchLike = outbound.gate.fetch) => (await fetchLike(outbound.url, post(asked))).json();

/** Serves one request whose handler makes calls in this way, and gives what everything came to. */
async function sumsAfter(handler: (req: Request) => Promise<unknown>): Promise<Readonly<Record<string, number>>> {
  served = await serve(outbound.gate, {}, async (req, res) => {
    await handler(req);
    res.json({ ok: true });
  });
  const response = await served.ask('ada', asked);
  expect(response.status).toBe(200);
  return outbound.sums();
}

/** What so many calls inside one request of ada's come to. */
function chargedFor(calls: number): Readonly<Record<string, number>> {
  const { inputTokens = 0, outputTokens = 0 } = outbound.provider.stats().models['gpt-4o'] ?? {};
  const tokens = inputTokens + outputTokens;
  expect(outbound.provider.stats().calls).toBe(calls);
  return {
    'model gpt-4o tokens': tokens,
    'model gpt-4o requests': calls,
    'user ada tokens': tokens,
    'user ada requests': 1,
  };
}

describe('calls of a handler join its request', () => {
  it.each<[string, number, (req: Request) => Promise<unknown>]>([
    ['one after the other', 2, async () => [await call(), await call()]],
    ['in parallel', 3, () => Promise.all([call(), call(), call()])],
    ['after a timer', 1, () => delay(1).then(() => call())],
    [
      'in a listener',
      1,
      async () => {
        const emitter = new EventEmitter();
        const done = new Promise((resolve) => emitter.once('go', () => resolve(call())));
        emitter.emit('go');
        await done;
      },
    ],
    ['in another tick', 1, () => new Promise((resolve) => process.nextTick(() => resolve(call())))],
    [
      'by the fetch of the request, where the context is there',
      2,
      async (req) => [await call(spillwayOf(req).fetch), await call()],
    ],
    [
      'by the fetch of the request, where the context is lost',
      1,
      (req) => pool.runInAsyncScope(() => call(spillwayOf(req).fetch)),
    ],
    [
      'by the run of the request, where the context is lost',
      1,
      (req) => pool.runInAsyncScope(() => spillwayOf(req).run({ body: asked }, () => call(fetch))),
    ],
  ])('%s', async (_, calls, handler) => {
    const sums = await sumsAfter(handler);

    expect(sums).toEqual(chargedFor(calls));
    expect(missing).toEqual([]);
  });
});

describe('a call that lost its context', () => {
  it('counts for the model alone, and is told of while a request is open: each time as an event, once as a warning', async () => {
    const sums = await sumsAfter(() => pool.runInAsyncScope(() => Promise.all([call(), call()])));

    expect(missing).toEqual(['gpt-4o', 'gpt-4o']);
    expect(warnings.filter((message) => message.includes('context'))).toHaveLength(1);
    // The request saw no call of its own, so its response is taken for one.
    expect(sums['model gpt-4o requests']).toBe(3);
    expect(sums['user ada requests']).toBe(1);
  });

  it('is not told of when no request is open', async () => {
    await call();
    await outbound.gate.run({ body: asked }, () => call(fetch));
    await outbound.sums();

    expect(missing).toEqual([]);
  });

  it('is not told of when its identity is given', async () => {
    const sums = await sumsAfter(() => pool.runInAsyncScope(() => call(outbound.gate.as({ user: 'bob' }).fetch)));

    expect(missing).toEqual([]);
    expect(sums['user bob requests']).toBe(1);
  });
});

describe('calls that go on after the response', () => {
  it('stay under the identity of their request, and its request is not counted again', async () => {
    let late: Promise<unknown> | undefined;
    let respond: () => void = () => {};
    const responded = new Promise<void>((resolve) => {
      respond = resolve;
    });
    served = await serve(outbound.gate, {}, async (_req, res) => {
      await call();
      late = responded.then(() => call());
      res.json({ ok: true });
    });

    await (await served.ask('ada', asked)).json();
    await until(async () => (await outbound.gate.snapshot()).openRequests === 0);
    respond();
    await late;

    const sums = await outbound.sums();
    expect(sums).toEqual(chargedFor(2));
    expect(missing).toEqual([]);
  });

  it('and began before it are charged in full', async () => {
    let late: Promise<unknown> | undefined;
    served = await serve(outbound.gate, {}, async (_req, res) => {
      late = call();
      await until(() => outbound.provider.stats().calls === 1);
      res.json({ ok: true });
    });

    await (await served.ask('ada', asked)).json();
    await late;

    const sums = await outbound.sums();
    expect(sums).toEqual(chargedFor(1));
  });
});

describe('a client that leaves', () => {
  it('ends the calls of its request upstream, each charged for what came', async () => {
    await outbound.close();
    outbound = await createOutbound({}, { outputTokens: 400, msPerToken: 5 });
    const failures: string[] = [];
    let heads = 0;
    served = await serve(outbound.gate, {}, async (_req, res) => {
      const ask = async () => {
        const response = await outbound.gate.fetch(outbound.url, post({ ...asked, stream: true }));
        heads++;
        await response.text().catch(({ name }) => failures.push(name));
      };
      await Promise.all([ask(), ask()]);
      res.end();
    });
    const controller = new AbortController();
    const left = served.ask('ada', asked, { signal: controller.signal }).catch(({ name }) => name);
    await until(() => heads === 2);

    controller.abort();

    expect(await left).toBe('AbortError');
    await until(() => outbound.provider.stats().aborted === 2);
    const sums = await outbound.sums();
    const [first, second] = outbound.settled.filter(({ by }) => by === 'partial');
    expect(failures).toEqual(['AbortError', 'AbortError']);
    const tokensOf = (settled: typeof first) => (settled?.usage?.inputTokens ?? 0) + (settled?.usage?.outputTokens ?? 0);
    expect(sums['user ada tokens']).toBe(tokensOf(first) + tokensOf(second));
    expect(sums['user ada requests']).toBe(1);
  });
});
