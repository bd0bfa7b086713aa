import { AsyncResource } from 'node:async_hooks';
import { expect } from 'vitest';
import { SpillwayError, staticAnswer } from '../../../src/index.js';
import { chat, completion } from '../../support/chat.js';
import { send } from '../../support/http-client.js';
import { handler, mount, type Part, router, type SuiteOptions, step, type Turn } from './app.js';
import type { Bench, Case } from './bench.js';

const answer = (turn: Turn) => turn.json(completion());

/** What one call leaves behind, however many mounts it passed. */
const ONE_CALL = {
  'model gpt-4o tokens': 27,
  'model gpt-4o requests': 1,
  'user ada tokens': 27,
  'user ada requests': 1,
};

const FULL = { route: [{ inputTokens: 1, per: 'hour' }] } as const;
const WITHOUT_HEADERS: Readonly<Record<string, { status: number; options: SuiteOptions }>> = {
  'a response that passes': { status: 200, options: {} },
  'a refusal': { status: 413, options: { budgets: FULL, ladder: [] } },
  'a static answer': { status: 200, options: { budgets: FULL, ladder: [staticAnswer(() => 'Later, please.')] } },
  'a refusal for want of an identity': { status: 401, options: { identify: () => undefined } },
};

/** Which model spillway read from a chat body, mounted in this way, when it is posted to `path`. */
async function readAt(bench: Bench, path: string, place: (...parts: Part[]) => Part[]) {
  const world = bench.world();
  let seen: unknown = 'nothing';
  const parts = [
    mount(world.gate),
    handler((turn) => {
      seen = turn.passage().requestedModel;
      answer(turn);
    }),
  ];
  const url = await bench.serve(...place(...parts));

  const reply = await send(url + path, { body: chat() });

  expect(reply.status).toBe(200);
  return seen;
}

export const mounting: readonly Case[] = [
  {
    name: 'reads a call below any path of its format, mounted on the application',
    run: async (bench) => expect(await readAt(bench, '/v1/chat/completions?x=/embeddings', (...parts) => parts)).toBe('gpt-4o'),
  },
  {
    name: 'reads no call of this format where the whole path is of another one, mounted on a router',
    run: async (bench) =>
      expect(await readAt(bench, '/v1/embeddings', (...parts) => [router('/v1/embeddings', ...parts)])).toBeUndefined(),
  },
  {
    name: 'reads no call of this format where the whole path is of another one, mounted on a router in a router',
    run: async (bench) =>
      expect(
        await readAt(bench, '/v1/moderations', (...parts) => [router('/v1', router('/moderations', ...parts))]),
      ).toBeUndefined(),
  },
  {
    name: 'reads a call below a router in a router',
    run: async (bench) =>
      expect(await readAt(bench, '/embeddings/chat', (...parts) => [router('/embeddings', router('/chat', ...parts))])).toBe(
        'gpt-4o',
      ),
  },
  {
    name: 'governs only what is below its path',
    async run(bench) {
      const world = bench.world();
      const url = await bench.serve(mount(world.gate, {}, '/api'), handler(answer));

      await send(`${url}/api/chat`, { body: chat() });
      await send(`${url}/other`, { body: chat() });
      await world.atRest();

      expect(await world.sums()).toEqual(ONE_CALL);
    },
  },
  {
    name: 'is not there before it has run, and is there after',
    async run(bench) {
      const world = bench.world();
      const seen: unknown[] = [];
      const url = await bench.serve(
        step((turn, next) => {
          try {
            turn.passage();
          } catch (error) {
            seen.push(SpillwayError.is(error) && error.code, turn.exposed);
          }
          next();
        }),
        mount(world.gate),
        handler((turn) => {
          const { outcome, requestedModel, model, estimate, remaining, identity } = turn.passage();
          seen.push(turn.exposed === turn.passage(), { outcome, requestedModel, model, identity, remaining });
          expect(estimate.inputTokens).toBeGreaterThan(5);
          expect(estimate.heldInputTokens).toBeGreaterThan(estimate.inputTokens);
          answer(turn);
        }),
      );

      const reply = await send(url, { body: chat() });

      expect(reply.status).toBe(200);
      expect(seen).toEqual([
        'SPILLWAY_NO_PASSAGE',
        undefined,
        true,
        {
          outcome: 'passed',
          requestedModel: 'gpt-4o',
          model: 'gpt-4o',
          identity: { user: 'ada' },
          remaining: [
            { scope: 'user', dimension: 'tokens', limit: 1_000_000, remaining: expect.any(Number) },
            { scope: 'user', dimension: 'requests', limit: 10_000, remaining: 9_999 },
            { scope: 'user', dimension: 'concurrent', limit: 1_000, remaining: 999 },
          ],
        },
      ]);
    },
  },
  {
    name: 'makes calls through the passage count for the request, wherever they are made',
    async run(bench) {
      const world = bench.world();
      const elsewhere = new AsyncResource('elsewhere');
      const url = await bench.serve(
        mount(world.gate),
        handler(async (turn) => {
          const { run } = turn.passage();
          const made = await elsewhere.runInAsyncScope(() => run({ body: turn.body }, async () => completion()));
          turn.json('value' in made ? made.value : made.kind);
        }),
      );

      await send(url, { body: chat() });
      await world.atRest();

      expect(await world.sums()).toEqual(ONE_CALL);
      expect(world.settled.map(({ by }) => by).sort()).toEqual(['inside', 'usage']);
    },
  },
  ...Object.entries(WITHOUT_HEADERS).map(([what, { status, options }]) => ({
    name: `writes none of its headers on ${what} when it was told so`,
    run: async (bench: Bench) => {
      const world = bench.world();
      const url = await bench.serve(mount(world.gate, { route: 'chat', headers: false, ...options }), handler(answer));

      const reply = await send(url, { body: chat() });

      expect(reply.status).toBe(status);
      expect(Object.keys(reply.headers).filter((name) => name.startsWith('spillway-'))).toEqual([]);
    },
  })),
];
