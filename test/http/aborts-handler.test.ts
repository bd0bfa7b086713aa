import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/index.js';
import { chat, completion } from '../support/chat.js';
import { begin, send } from '../support/http-client.js';
import { until } from '../support/loopback.js';
import { gatedHandler, input, kinds, leave, narrowApps } from '../support/narrow-app.js';
import { useUpstream } from '../support/streaming.js';
import { createVirtualClock } from '../support/virtual-clock.js';

const serve = narrowApps();
const upstream = useUpstream();

describe('a handler', () => {
  it('that never answers keeps its room for as long as the client stays, by renewal, and no longer', async () => {
    const clock = createVirtualClock();
    const { handler, isRunning } = gatedHandler();
    const app = await serve({ handler, options: { clock, leaseMs: 1_000 }, store: memoryStore({ clock }) });
    const outgoing = begin(app.url, { body: chat() });
    await isRunning;

    await clock.advance(10_000);

    expect(await app.world.sums()).toMatchObject({ 'user ada concurrent': 1, 'model gpt-4o concurrent': 1 });
    expect(await app.world.gate.snapshot()).toMatchObject({ liveReservations: 1, openRequests: 1 });
    outgoing.destroy();
    await app.expectFree();
  });

  it('that destroys its response ends the request as a client that leaves does', async () => {
    const { handler } = gatedHandler((res) => {
      res.write('x'.repeat(400));
      res.destroy();
    });
    const app = await serve({ handler });

    await expect(send(app.url, { body: chat({ stream: true }) })).rejects.toThrow();
    await app.world.atRest();

    expect(kinds(app)).toEqual(['partial']);
    expect(await app.world.sums()).toMatchObject({ 'user ada tokens': input(app) + 100 });
    await app.expectFree();
  });

  it('that destroys the connection ends the request as a client that leaves does', async () => {
    const app = await serve({ handler: (req) => void req.socket.destroy() });

    await expect(send(app.url, { body: chat({ stream: true }) })).rejects.toThrow();
    await app.world.atRest();

    expect(kinds(app)).toEqual(['partial']);
    await app.expectFree();
  });

  it('that throws before its call gets everything back', async () => {
    const app = await serve({
      handler: () => {
        throw new Error('no model today');
      },
    });

    expect((await send(app.url, { body: chat() })).status).toBe(500);
    await app.world.atRest();

    expect(kinds(app)).toEqual(['cancelled']);
    expect(await app.world.sums()).toEqual({});
    await app.expectFree();
  });

  it('that throws after its call keeps what the call used', async () => {
    const app = await serve({
      handler: async (req) => {
        await (await upstream.call(req)).json();
        throw new Error('cannot use that');
      },
    });

    expect((await send(app.url, { body: chat({ max_tokens: 40 }) })).status).toBe(500);
    await app.world.atRest();

    const { inputTokens = 0, outputTokens = 0 } = upstream.provider.stats().models['gpt-4o'] ?? {};
    expect(outputTokens).toBe(40);
    expect(kinds(app).sort()).toEqual(['inside', 'usage']);
    expect(await app.world.sums()).toEqual({
      'user ada tokens': inputTokens + outputTokens,
      'user ada requests': 1,
      'model gpt-4o tokens': inputTokens + outputTokens,
      'model gpt-4o requests': 1,
    });
    await app.expectFree();
  });

  it('that throws while it streams ends the call to the provider', async () => {
    const app = await serve({
      handler: async (req, res) => {
        const response = await upstream.call(req);
        for await (const chunk of response.body ?? []) {
          res.write(chunk);
          throw new Error('cannot go on');
        }
      },
    });

    await expect(send(app.url, { body: chat({ stream: true }) })).rejects.toThrow();
    await until(() => upstream.provider.stats().aborted === 1);
    await app.world.atRest();

    expect(app.failures.map(({ message }) => message)).toEqual(['cannot go on']);
    expect(kinds(app).sort()).toEqual(['inside', 'partial']);
    await app.expectFree();
  });

  it('that never reads what it asked the provider for lets go of it when the client leaves', async () => {
    const { handler, isRunning } = gatedHandler();
    const app = await serve({
      after: [
        (req, _res, next) => {
          upstream.call(req).then(() => next(), next);
        },
      ],
      handler,
    });

    await leave(app.url, () => isRunning, chat({ stream: true }));
    await until(() => upstream.provider.stats().aborted === 1);

    await app.expectFree();
  });

  it('whose response has events without listeners is settled by looking', async () => {
    const app = await serve({
      handler: (_req, res) => {
        res.removeAllListeners();
        res.json(completion());
      },
    });

    expect((await send(app.url, { body: chat() })).status).toBe(200);
    await app.world.atRest();

    expect(kinds(app)).toEqual(['usage']);
    expect(await app.world.sums()).toMatchObject({ 'user ada tokens': 27 });
    await app.expectFree();
  });
});
