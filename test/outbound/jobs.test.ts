import { beforeEach, describe, expect, it } from 'vitest';
import { spillwayOf } from '../../adapters/express.js';
import { createSpillway, type Gate, type Identity, queue, type SpillwayError } from '../../src/index.js';
import { createBooks } from '../support/books.js';
import { chat, createOutbound, type Outbound, post } from '../support/outbound.js';
import { serve } from '../support/served.js';

let outbound: Outbound;
beforeEach(async () => {
  outbound = await createOutbound();
  return () => outbound.close();
});

const asked = chat('How deep is the river?');
const ask = async (jobs: Pick<Gate, 'fetch'>) => (await jobs.fetch(outbound.url, post(asked))).json();

describe('gate.as(identity)', () => {
  it('takes a job up under the identity of the request that queued it, after a round trip as JSON', async () => {
    const jobs: string[] = [];
    const served = await serve(outbound.gate, {}, (req, res) => {
      jobs.push(JSON.stringify({ identity: spillwayOf(req).identity }));
      res.status(202).json({ queued: true });
    });
    await served.ask('ada', { text: 'later' });
    await served.close();

    const { identity } = JSON.parse(jobs[0] ?? '') as { identity: Identity };
    const job = outbound.gate.as(identity);
    await ask(job);

    const sums = await outbound.sums();
    expect(identity).toEqual({ user: 'ada' });
    expect(job.identity).toEqual({ user: 'ada' });
    // One request that queued, and one job.
    expect(sums['user ada requests']).toBe(2);
    expect(sums['model gpt-4o requests']).toBe(1);
  });

  it('counts a job as one request, whatever it calls, one after the other or in parallel', async () => {
    const job = outbound.gate.as({ user: 'ada' });
    await ask(job);
    await Promise.all([ask(job), ask(job), job.run({ body: asked }, async () => ({}))]);
    await ask(outbound.gate.as({ user: 'ada' }));

    const sums = await outbound.sums();
    expect(sums['user ada requests']).toBe(2);
    expect(sums['model gpt-4o requests']).toBe(5);
  });

  it('counts a job whose first call fails once, and whose calls all fail not at all', async () => {
    const job = outbound.gate.as({ user: 'ada' });
    const fails = () => job.fetch('http://127.0.0.1:1/v1/chat/completions', post(asked)).catch(() => {});
    await fails();
    await fails();
    expect((await outbound.sums())['user ada requests']).toBe(undefined);

    await ask(job);

    expect((await outbound.sums())['user ada requests']).toBe(1);
  });

  it('takes keys as identify does: 7 and "7" are one', async () => {
    await ask(outbound.gate.as({ user: 7 }));
    await ask(outbound.gate.as({ user: '7' }));

    expect((await outbound.sums())['user 7 requests']).toBe(2);
  });

  it.each([{ usr: 'ada' }, { user: '' }, { user: {} }, { global: 'x' }])('refuses %j, which names nobody', (identity) => {
    expect(() => outbound.gate.as(identity as never)).toThrow(
      expect.objectContaining({ code: 'SPILLWAY_BAD_IDENTITY' } satisfies Partial<SpillwayError>),
    );
  });

  it('never charges another identity, when its worker was woken inside a request', async () => {
    const served = await serve(outbound.gate, {}, async (_req, res) => {
      await ask(outbound.gate.as({ user: 'bob' }));
      res.json({ ok: true });
    });
    await served.ask('ada', { text: 'anything' });
    await served.close();

    const sums = await outbound.sums();
    const { inputTokens = 0, outputTokens = 0 } = outbound.provider.stats().models['gpt-4o'] ?? {};
    expect(sums['user bob tokens']).toBe(inputTokens + outputTokens);
    expect(sums['user bob requests']).toBe(1);
    expect(sums['user ada requests']).toBe(1);
  });

  it('begins a visit of its own, when the request in whose context it runs is over', async () => {
    let job: Promise<unknown> = Promise.resolve();
    let go: () => void = () => {};
    const over = new Promise<void>((resolve) => {
      go = resolve;
    });
    const served = await serve(outbound.gate, {}, (_req, res) => {
      job = over.then(() => ask(outbound.gate.as({ user: 'ada' })));
      res.json({ ok: true });
    });
    await (await served.ask('ada', { text: 'anything' })).json();
    await served.close();
    go();
    await job;

    expect((await outbound.sums())['user ada requests']).toBe(2);
  });
});

describe('an identity that is known late', () => {
  async function world() {
    const books = createBooks();
    const budgets = [
      { tokens: 1_000_000, per: 'hour' },
      { requests: 1_000, per: 'hour' },
    ] as const;
    const gate = createSpillway({
      models: { 'gpt-4o': { budgets } },
      scopes: { global: { budgets }, organization: { budgets, optional: true }, user: { budgets, optional: true } },
      ladder: [queue({ waitMs: 100 })],
      store: books.store,
    });
    await gate.ready();
    return { gate, books };
  }

  it('is charged for the calls of its request, which still count once and draw on what is held', async () => {
    const { gate, books } = await world();
    const identify = () => ({ organization: 'acme' });
    const served = await serve(gate, { identify }, async (req, res) => {
      const known = spillwayOf(req).as({ user: 'ada', organization: 'other' });
      await Promise.all([ask(known), ask(known)]);
      await ask(gate);
      res.json(known.identity);
    });

    const response = await served.ask('nobody', asked);
    await served.close();
    await gate.close();

    expect(await response.json()).toEqual({ user: 'ada', organization: 'acme' });
    await expect.poll(() => books.open).toBe(0);
    const { inputTokens = 0, outputTokens = 0 } = outbound.provider.stats().models['gpt-4o'] ?? {};
    const tokens = inputTokens + outputTokens;
    expect(await books.sums()).toEqual({
      'model gpt-4o tokens': tokens,
      'model gpt-4o requests': 3,
      'global global tokens': tokens,
      'global global requests': 1,
      'organization acme tokens': tokens,
      'organization acme requests': 1,
      'user ada tokens': (tokens * 2) / 3,
      'user ada requests': 1,
    });
  });

  it('can be given by gate.as inside the request too, for it contradicts nobody', async () => {
    const { gate, books } = await world();
    const served = await serve(gate, { identify: () => ({ organization: 'acme' }) }, async (_req, res) => {
      await ask(gate.as({ user: 'ada' }));
      res.json({ ok: true });
    });

    await served.ask('nobody', asked);
    await served.close();
    await gate.close();

    await expect.poll(() => books.open).toBe(0);
    expect(await books.sums()).toMatchObject({
      'model gpt-4o requests': 1,
      'organization acme requests': 1,
      'user ada requests': 1,
    });
  });
});
