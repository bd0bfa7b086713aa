import { AsyncResource } from 'node:async_hooks';
import { expect } from 'vitest';
import { type Dialect, openaiChat, staticAnswer } from '../../../src/index.js';
import { chat, completion } from '../../support/chat.js';
import { send } from '../../support/http-client.js';
import { handler, mount, router, step, type Turn } from './app.js';
import type { Case } from './bench.js';

const answer = (turn: Turn) => turn.json(completion());

/** What one call leaves behind, however many mounts it passed. */
const ONE_CALL = {
  'model gpt-4o tokens': 27,
  'model gpt-4o requests': 1,
  'user ada tokens': 27,
  'user ada requests': 1,
};

/** Room for one call of what is held for it, not for two; one request at a time. */
const NARROW = [{ tokens: 800, per: 'hour' }, { requests: 2, per: 'hour' }, { concurrent: 1 }] as const;
const narrow = { models: { 'gpt-4o': { budgets: NARROW } }, scopes: { user: { budgets: NARROW } }, ladder: [] };

/** An API of one's own: `{ question }`. */
const asked: Dialect = {
  ...openaiChat,
  name: 'asked',
  read: (body) => {
    const { question } = (body ?? {}) as { question?: unknown };
    return openaiChat.read({ model: 'gpt-4o', messages: [{ role: 'user', content: question }] });
  },
};

export const nesting: readonly Case[] = [
  {
    name: 'counts a request once and draws its tokens when it passes a mount on the application and one on the route',
    async run(bench) {
      const world = bench.world(narrow);
      const url = await bench.serve(mount(world.gate, { route: 'all' }), mount(world.gate, { route: 'chat' }), handler(answer));

      const reply = await send(url, { body: chat() });
      await world.atRest();

      expect({ status: reply.status, failures: bench.failures }).toEqual({ status: 200, failures: [] });
      expect(reply.headers['spillway-outcome']).toBe('passed');
      expect(await world.sums()).toEqual(ONE_CALL);
      expect(world.settled.map(({ by }) => by).sort()).toEqual(['inside', 'usage']);
    },
  },
  {
    name: 'counts a request once that passes three mounts, and its call inside',
    async run(bench) {
      const world = bench.world(narrow);
      const url = await bench.serve(
        mount(world.gate),
        router('/', mount(world.gate), router('/', mount(world.gate))),
        handler(async (turn) => {
          const made = await world.gate.run({ body: turn.body }, async () => completion());
          turn.json('value' in made ? made.value : made.kind);
        }),
      );

      const reply = await send(url, { body: chat() });
      await world.atRest();

      expect(JSON.parse(reply.text)).toEqual(completion());
      expect(await world.sums()).toEqual(ONE_CALL);
    },
  },
  {
    name: 'counts a request once that passes the same mount twice, and goes on to charge the ones after it',
    async run(bench) {
      const world = bench.world();
      const same = mount(world.gate, { route: 'chat' });
      const url = await bench.serve(same, router('/', same), handler(answer));

      for (let asked = 1; asked <= 3; asked++) {
        await send(url, { body: chat() });
        await world.atRest();

        expect(await world.sums()).toEqual({
          'model gpt-4o tokens': 27 * asked,
          'model gpt-4o requests': asked,
          'user ada tokens': 27 * asked,
          'user ada requests': asked,
        });
      }
    },
  },
  {
    name: 'counts a request once although the asynchronous context was lost between two mounts',
    async run(bench) {
      const world = bench.world(narrow);
      const elsewhere = new AsyncResource('elsewhere');
      const url = await bench.serve(
        mount(world.gate),
        step((_turn, next) => elsewhere.runInAsyncScope(next)),
        mount(world.gate),
        handler(answer),
      );

      const reply = await send(url, { body: chat() });
      await world.atRest();

      expect(reply.status).toBe(200);
      expect(await world.sums()).toEqual(ONE_CALL);
    },
  },
  {
    name: 'says that a request was shed when the mount that reads its call refuses, inside one that reads none',
    async run(bench) {
      const world = bench.world();
      const budgets = { route: [{ requests: 1, per: 'hour' }] } as const;
      const inner = mount(world.gate, { route: 'inner', budgets, ladder: [], dialect: asked });
      const url = await bench.serve(mount(world.gate), inner, handler(answer));

      expect((await send(url, { body: { question: 'Where?' } })).headers['spillway-outcome']).toBe('passed');
      const reply = await send(url, { body: { question: 'Where?' } });
      await world.atRest();

      expect({ status: reply.status, outcome: reply.headers['spillway-outcome'] }).toEqual({ status: 429, outcome: 'shed' });
      expect(world.answered.map(({ outcome, status }) => `${outcome} ${status}`)).toEqual([
        'passed 200',
        'passed 200',
        'shed 429',
        'shed 429',
      ]);
    },
  },
  {
    name: 'answers from the ladder of the outer mount when the inner one has no step left, with nothing of its refusal',
    async run(bench) {
      const world = bench.world();
      const budgets = { route: [{ requests: 1, per: 'hour' }] } as const;
      const url = await bench.serve(
        mount(world.gate, { ladder: [staticAnswer(() => 'Later, please.')] }),
        mount(world.gate, { route: 'inner', budgets, ladder: [] }),
        handler(answer),
      );

      await send(url, { body: chat() });
      const reply = await send(url, { body: chat() });
      await world.atRest();

      expect(reply.status).toBe(200);
      expect(JSON.parse(reply.text).choices[0].message.content).toBe('Later, please.');
      expect(reply.headers['spillway-outcome']).toBe('static');
      expect(Object.keys(reply.headers)).not.toEqual(expect.arrayContaining(['retry-after']));
      expect(Object.keys(reply.headers)).not.toEqual(expect.arrayContaining(['x-should-retry']));
      expect(await world.sums()).toMatchObject({ 'user ada tokens': 27, 'user ada requests': 1, 'route inner requests': 1 });
    },
  },
  {
    name: 'says that a request was shed that an inner mount refuses for want of an identity',
    async run(bench) {
      const world = bench.world();
      const url = await bench.serve(mount(world.gate), mount(world.gate, { identify: () => undefined }), handler(answer));

      const reply = await send(url, { body: chat() });
      await world.atRest();

      expect({ status: reply.status, outcome: reply.headers['spillway-outcome'] }).toEqual({ status: 401, outcome: 'shed' });
      expect(await world.sums()).toEqual({});
    },
  },
  {
    name: 'lets Node warn of nothing when a request passes six mounts and makes thirty calls at once',
    async run(bench) {
      const world = bench.world();
      const warnings: string[] = [];
      const onWarning = ({ message }: Error) => warnings.push(message);
      const calls = Array.from({ length: 30 }, () => ({ body: chat() }));
      const url = await bench.serve(
        ...Array.from({ length: 6 }, () => mount(world.gate)),
        handler(async (turn) => {
          const { run, signal } = turn.passage();
          const listening = async () => {
            signal.addEventListener('abort', () => {});
            return completion();
          };
          await Promise.all(calls.map((call) => run(call, listening)));
          turn.json(completion());
        }),
      );

      process.on('warning', onWarning);
      const reply = await send(url, { body: chat() });
      await world.atRest();
      await new Promise((resolve) => setImmediate(resolve));
      process.off('warning', onWarning);

      expect({ status: reply.status, warnings }).toEqual({ status: 200, warnings: [] });
      expect(await world.sums()).toMatchObject({
        'user ada tokens': 30 * 27,
        'user ada requests': 1,
        'model gpt-4o requests': 30,
      });
    },
  },
  {
    name: 'keeps two gates on one request apart',
    async run(bench) {
      const [first, second] = [bench.world(), bench.world()];
      const url = await bench.serve(mount(first.gate), mount(second.gate), handler(answer));

      await send(url, { body: chat() });
      await first.atRest();
      await second.atRest();

      expect(await first.sums()).toEqual(ONE_CALL);
      expect(await second.sums()).toEqual(ONE_CALL);
    },
  },
];
