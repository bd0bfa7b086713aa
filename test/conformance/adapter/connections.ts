import { Agent } from 'node:http';
import { expect } from 'vitest';
import { staticAnswer } from '../../../src/index.js';
import { chat, completion } from '../../support/chat.js';
import { dial, readAll, send, wire } from '../../support/http-client.js';
import { handler, mount, type SuiteOptions, step } from './app.js';
import type { Bench, Case } from './bench.js';

const charged = (calls: number) => ({
  'model gpt-4o tokens': 27 * calls,
  'model gpt-4o requests': calls,
  'user ada tokens': 27 * calls,
  'user ada requests': calls,
});

const FULL = { route: [{ inputTokens: 1, per: 'hour' }] } as const;
const REFUSED: Readonly<Record<string, { status: number; options: SuiteOptions }>> = {
  'a refusal': { status: 413, options: { budgets: FULL, ladder: [] } },
  'a static answer': { status: 200, options: { budgets: FULL, ladder: [staticAnswer(() => 'Later, please.')] } },
  'a refusal for want of an identity': { status: 401, options: { identify: () => undefined } },
};

export const connections: readonly Case[] = [
  {
    name: 'governs each request of a connection that is used again',
    async run(bench) {
      const world = bench.world();
      const ports = new Set<number | undefined>();
      const url = await bench.serve(
        mount(world.gate),
        handler((turn) => {
          ports.add(turn.req.socket.remotePort);
          turn.json(completion());
        }),
      );
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });

      for (let asked = 1; asked <= 5; asked++) {
        const reply = await send(url, { body: chat(), agent });
        await world.atRest();

        expect(reply.headers['spillway-outcome']).toBe('passed');
        expect(await world.sums()).toEqual(charged(asked));
      }
      agent.destroy();

      expect(ports.size).toBe(1);
    },
  },
  ...Object.entries(REFUSED).map(([what, { status, options }]) => ({
    name: `keeps a connection for the next request after ${what}`,
    run: async (bench: Bench) => {
      const world = bench.world();
      const ports = new Set<number | undefined>();
      const url = await bench.serve(
        step(({ req }, next) => {
          ports.add(req.socket.remotePort);
          next();
        }),
        mount(world.gate, { route: 'chat', ...options }),
        handler((turn) => turn.json(completion())),
      );
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });

      for (let asked = 0; asked < 3; asked++) {
        const reply = await send(url, { body: chat(), agent });

        expect(reply.status).toBe(status);
        expect(Number(reply.headers['content-length'])).toBe(reply.body.length);
      }
      agent.destroy();

      expect(ports.size).toBe(1);
    },
  })),
  {
    name: 'governs each request of a pipeline apart, and keeps their answers in order',
    async run(bench) {
      const world = bench.world();
      const url = await bench.serve(
        mount(world.gate),
        handler(async (turn) => {
          const { delayMs = 0, name = '' } = turn.body as { delayMs?: number; name?: string };
          await new Promise((resolve) => setTimeout(resolve, delayMs));
          turn.json(completion({ text: name }));
        }),
      );
      const socket = await dial(url);

      socket.write(
        wire('/', chat({ name: 'first', delayMs: 30 })) +
          wire('/', chat({ name: 'second', delayMs: 10 })) +
          wire('/', chat({ name: 'third' }), { connection: 'close' }),
      );
      const replies = await readAll(socket);
      await world.atRest();

      expect(replies.match(/HTTP\/1\.1 200/g)).toHaveLength(3);
      expect(replies.match(/"content":"(\w+)"/g)).toEqual(['"content":"first"', '"content":"second"', '"content":"third"']);
      expect(await world.sums()).toEqual(charged(3));
    },
  },
  {
    name: 'keeps many requests of many callers apart',
    async run(bench) {
      const world = bench.world();
      const url = await bench.serve(
        mount(world.gate, { identify: (req) => ({ user: req.headers['x-user'] as string }) }),
        handler(async (turn) => {
          const { user = '' } = turn.passage().identity;
          await new Promise((resolve) => setImmediate(resolve));
          const made = await world.gate.run({ body: turn.body }, async () => completion({ output: Number(user) }));
          turn.json('value' in made ? made.value : made.kind);
        }),
      );
      const users = Array.from({ length: 40 }, (_, index) => String(index + 1));

      await Promise.all(users.map((user) => send(url, { body: chat(), headers: { 'x-user': user } })));
      await world.atRest();

      const sums = await world.sums();
      for (const user of users) {
        expect(sums[`user ${user} tokens`]).toBe(20 + Number(user));
        expect(sums[`user ${user} requests`]).toBe(1);
      }
    },
  },
];
