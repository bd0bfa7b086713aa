import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { chat } from '../support/chat.js';
import { dial, wire } from '../support/http-client.js';
import { until } from '../support/loopback.js';
import { gatedHandler, kinds, narrowApps } from '../support/narrow-app.js';
import { useUpstream } from '../support/streaming.js';
import { createVirtualClock } from '../support/virtual-clock.js';

const serve = narrowApps();
const upstream = useUpstream({ outputTokens: 100_000, msPerToken: 0 });

describe('a client that stops reading', () => {
  const chunk = Buffer.alloc(1_048_576, 'x');

  it('is cut off while a stream is written to it, which ends the call to the provider, and pays for what was produced', async () => {
    const app = await serve({
      options: { stallMs: 30 },
      handler: async (req, res) => {
        const response = await upstream.call(req);
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        for await (const bytes of response.body ?? []) {
          res.write(bytes);
          // A comment fills what the system buffers on the way.
          if (!res.write(`: ${'x'.repeat(50_000)}\n\n`)) await once(res, 'drain');
        }
        res.end();
      },
    });
    const socket = await dial(app.url);

    socket.pause().write(wire('/', chat({ stream: true })));
    await until(() => upstream.provider.stats().aborted === 1);
    await app.world.atRest();
    socket.destroy();

    expect(kinds(app).sort()).toEqual(['inside', 'partial']);
    const usage = app.world.settled.find(({ by }) => by === 'partial')?.usage;
    expect(usage?.outputTokens).toBeGreaterThan(100);
    expect(usage?.outputTokens).toBeLessThan(100_000);
    await app.expectFree();
  });

  it.each<[string, (res: ServerResponse) => void]>([
    ['an answer that was handed over whole', (res) => res.end(Buffer.alloc(32 * chunk.length))],
    [
      'an answer by a handler that minds no back-pressure',
      (res) => {
        const timer = setInterval(() => res.write(chunk), 1);
        res.once('close', () => clearInterval(timer));
      },
    ],
  ])('is cut off although %s is still being sent', async (_, run) => {
    const { handler, isRunning, seen } = gatedHandler(run);
    const app = await serve({ handler, options: { stallMs: 30 } });
    const socket = await dial(app.url);

    socket.pause().write(wire('/', chat({ stream: true })));
    await isRunning;
    await app.world.atRest();

    expect(kinds(app)).toEqual(['partial']);
    expect(seen[0]?.destroyed).toBe(true);
    socket.destroy();
    await app.expectFree();
  });

  it('is not taken for one that reads slowly, however long that takes', async () => {
    const clock = createVirtualClock();
    const { handler, isRunning, seen } = gatedHandler((res) => res.end(Buffer.alloc(64 * chunk.length)));
    const app = await serve({ handler, options: { stallMs: 100, leaseMs: 150, clock } });
    const socket = await dial(app.url);
    const pending = () => (seen[0]?.socket as unknown as { _handle?: { writeQueueSize: number } })?._handle?.writeQueueSize ?? 0;

    socket.pause().write(wire('/', chat(), { connection: 'close' }));
    await isRunning;
    await until(() => pending() > 0);
    for (let look = 0; look < 6; look++) {
      const before = pending();
      const onData = () => {
        if (pending() < before) socket.pause();
      };
      socket.on('data', onData).resume();
      await until(() => pending() < before);
      socket.off('data', onData).pause();
      await clock.advance(50);
    }

    expect(pending()).toBeGreaterThan(0);
    expect(app.world.settled).toEqual([]);
    socket.resume();
    await once(socket, 'close');
    await app.world.atRest();
    expect(kinds(app)).toEqual(['counted']);
  });
});
