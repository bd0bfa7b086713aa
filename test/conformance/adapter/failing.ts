import { once } from 'node:events';
import { expect } from 'vitest';
import { chat, completion } from '../../support/chat.js';
import { begin, send } from '../../support/http-client.js';
import { until } from '../../support/loopback.js';
import { handler, mount, type Turn } from './app.js';
import type { Bench, Case } from './bench.js';

/** Handlers that fail, and how. */
const FAILING: Readonly<Record<string, (turn: Turn) => void | Promise<void>>> = {
  throws: () => {
    throw new Error('handler failed');
  },
  'rejects at once': () => Promise.reject(new Error('handler failed')),
  'rejects after a while': async () => {
    await new Promise((resolve) => setTimeout(resolve, 2));
    throw new Error('handler failed');
  },
};

export const failing: readonly Case[] = [
  ...Object.entries(FAILING).map(([how, run]) => ({
    name: `hands the error on once when the handler ${how}, and gives everything back`,
    run: async (bench: Bench) => {
      const world = bench.world();
      const url = await bench.serve(mount(world.gate), handler(run));

      const reply = await send(url, { body: chat() });
      await world.atRest();

      expect(JSON.parse(reply.text)).toEqual({ failed: 'handler failed' });
      expect(reply.status).toBe(500);
      expect(bench.failures.map(({ message }) => message)).toEqual(['handler failed']);
      expect(world.settled.map(({ by }) => by)).toEqual(['cancelled']);
      expect(await world.sums()).toEqual({});
    },
  })),
  {
    name: 'hands the error on once when the handler throws after its call, and keeps what the call used',
    async run(bench) {
      const world = bench.world();
      const url = await bench.serve(
        mount(world.gate),
        handler(async (turn) => {
          await turn.passage().run({ body: turn.body }, async () => completion());
          throw new Error('handler failed');
        }),
      );

      const reply = await send(url, { body: chat() });
      await world.atRest();

      expect({ status: reply.status, failures: bench.failures.length }).toEqual({ status: 500, failures: 1 });
      expect(await world.sums()).toEqual({
        'model gpt-4o tokens': 27,
        'model gpt-4o requests': 1,
        'user ada tokens': 27,
        'user ada requests': 1,
      });
    },
  },
  {
    name: 'hands the error on once when the handler throws after it has begun to answer, and charges what was sent',
    async run(bench) {
      const world = bench.world();
      const url = await bench.serve(
        mount(world.gate),
        handler(async (turn) => {
          turn.res.writeHead(200, { 'content-type': 'text/plain' });
          await new Promise<void>((written) => turn.res.write('x'.repeat(400), () => written()));
          throw new Error('handler failed');
        }),
      );

      await once(
        begin(url, { body: chat({ stream: true }) }).on('response', (response) => response.on('error', () => {})),
        'close',
      );
      await world.atRest();

      expect(bench.failures.map(({ message }) => message)).toEqual(['handler failed']);
      expect(world.settled.map(({ by }) => by)).toEqual(['partial']);
      const { estimatedInputTokens = 0 } = world.settled[0] ?? {};
      expect(await world.sums()).toMatchObject({ 'user ada tokens': estimatedInputTokens + 100, 'user ada requests': 1 });
    },
  },
  {
    name: 'hands the error on once when budgets that the application looks up fail, and holds nothing',
    async run(bench) {
      const world = bench.world({ scopes: { user: { budgets: async () => Promise.reject(new Error('no database')) } } });
      let handled = 0;
      const url = await bench.serve(
        mount(world.gate),
        handler(() => void handled++),
      );

      const reply = await send(url, { body: chat() });
      await world.atRest();

      expect(reply.status).toBe(500);
      expect(bench.failures.map(({ message }) => message)).toEqual(['no database']);
      expect({ handled, admitted: world.admitted }).toEqual({ handled: 0, admitted: [] });
    },
  },
  {
    name: 'keeps serving when budgets that the application looks up fail after the response',
    async run(bench) {
      let isDown = false;
      const failed: string[] = [];
      const world = bench.world({
        budgetsTtlMs: 0,
        scopes: {
          user: {
            budgets: async () => {
              if (isDown) throw new Error('no database');
              return [{ tokens: 1_000, per: 'hour' }];
            },
          },
        },
      });
      world.gate.on('store-failed', ({ operation, error }) => failed.push(`${operation} ${(error as Error).message}`));
      const url = await bench.serve(
        mount(world.gate),
        handler((turn) => {
          isDown = true;
          turn.send('an answer whose call nobody saw');
        }),
      );

      const reply = await send(url, { body: { question: 'Where?' } });
      await until(() => failed.length > 0);

      expect(reply.status).toBe(200);
      expect(failed).toEqual(['settle no database']);
    },
  },
];
