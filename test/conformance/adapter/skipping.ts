import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { chat, completion } from '../../support/chat.js';
import { send } from '../../support/http-client.js';
import { handler, mount, parser, type SuiteOptions, type Turn } from './app.js';
import type { Bench, Case } from './bench.js';

/** Says what it finds: the raw stream when nobody has read it. */
async function echo(turn: Turn): Promise<void> {
  const raw = turn.req.readableDidRead ? '(read before)' : await text(turn.req);
  turn.json({ raw, exposed: turn.exposed !== undefined });
}

/** Expects that a request passes ungoverned, with its stream untouched. */
async function leavesAlone(
  bench: Bench,
  sending: Parameters<typeof send>[1],
  options: SuiteOptions = {},
  raw = '',
): Promise<void> {
  const world = bench.world();
  let seen: unknown;
  const url = await bench.serve(
    mount(world.gate, options),
    handler(async (turn) => {
      seen = { raw: await text(turn.req), exposed: turn.exposed };
      turn.send('ok');
    }),
  );

  const reply = await send(url, sending);

  expect(reply.status).toBe(200);
  expect(seen).toEqual({ raw, exposed: undefined });
  expect(Object.keys(reply.headers).filter((name) => name.startsWith('spillway-'))).toEqual([]);
  expect(world.admitted).toEqual([]);
  expect(await world.sums()).toEqual({});
}

const FORM = 'model=gpt-4o&messages=hello';
const MULTIPART = '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\ngpt-4o\r\n--b--\r\n';

export const skipping: readonly Case[] = [
  ...['GET', 'HEAD', 'OPTIONS', 'DELETE'].map((method) => ({
    name: `lets ${method} pass ungoverned`,
    run: (bench: Bench) => leavesAlone(bench, { method }),
  })),
  {
    name: 'lets GET pass ungoverned although it says that it brings JSON',
    run: (bench) =>
      leavesAlone(
        bench,
        { method: 'GET', body: chat(), headers: { 'content-length': String(JSON.stringify(chat()).length) } },
        {},
        JSON.stringify(chat()),
      ),
  },
  ...['PUT', 'PATCH', 'POST'].map((method) => ({
    name: `governs ${method} with a JSON body`,
    run: async (bench: Bench) => {
      const world = bench.world();
      const url = await bench.serve(
        mount(world.gate),
        handler((turn) => turn.json(completion())),
      );

      await send(url, { method, body: chat() });
      await world.atRest();

      expect(await world.sums()).toMatchObject({ 'user ada requests': 1, 'model gpt-4o tokens': 27 });
    },
  })),
  {
    name: 'lets forms pass ungoverned, with their stream untouched',
    run: (bench) =>
      leavesAlone(bench, { body: FORM, headers: { 'content-type': 'application/x-www-form-urlencoded' } }, {}, FORM),
  },
  {
    name: 'lets forms pass ungoverned that a parser has read',
    async run(bench) {
      const world = bench.world();
      let seen: unknown;
      const url = await bench.serve(
        parser('form'),
        mount(world.gate),
        handler((turn) => {
          seen = { ...(turn.body as object) };
          turn.send('ok');
        }),
      );

      await send(url, { body: FORM, headers: { 'content-type': 'application/x-www-form-urlencoded' } });

      expect(seen).toEqual({ model: 'gpt-4o', messages: 'hello' });
      expect(world.admitted).toEqual([]);
    },
  },
  {
    name: 'lets multipart pass ungoverned, with its stream untouched',
    run: (bench) =>
      leavesAlone(bench, { body: MULTIPART, headers: { 'content-type': 'multipart/form-data; boundary=b' } }, {}, MULTIPART),
  },
  {
    name: 'lets text pass ungoverned, with its stream untouched',
    run: (bench) => leavesAlone(bench, { body: 'hello', headers: { 'content-type': 'text/plain' } }, {}, 'hello'),
  },
  {
    name: 'lets bytes pass ungoverned that a parser put on the request',
    async run(bench) {
      const world = bench.world();
      const url = await bench.serve(
        {
          kind: 'step',
          run: ({ req }, next) => {
            void text(req).then((body) => {
              req.body = Buffer.from(body);
              next();
            });
          },
        },
        mount(world.gate),
        handler((turn) => turn.send('ok')),
      );

      await send(url, { body: 'x'.repeat(10_000), headers: { 'content-type': 'audio/mpeg' } });

      expect(world.admitted).toEqual([]);
      expect(await world.sums()).toEqual({});
    },
  },
  {
    name: 'asks the own skip of a mount, and then leaves a JSON body unread',
    run: (bench) =>
      leavesAlone(
        bench,
        { body: chat(), headers: { 'x-user': 'admin' } },
        { skip: (req) => req.headers['x-user'] === 'admin' },
        JSON.stringify(chat()),
      ),
  },
  {
    name: 'waits for a skip that takes a while, and loses nothing of the stream meanwhile',
    run: (bench) =>
      leavesAlone(
        bench,
        { body: [JSON.stringify(chat()), ' '.repeat(100_000)] },
        { skip: () => new Promise((resolve) => setTimeout(resolve, 5, true)) },
        JSON.stringify(chat()) + ' '.repeat(100_000),
      ),
  },
  {
    name: 'governs what the own skip does not skip, whatever the method',
    async run(bench) {
      const world = bench.world();
      const url = await bench.serve(mount(world.gate, { skip: async () => false }), handler(echo));

      const reply = await send(url, { method: 'GET' });
      await world.atRest();

      expect(JSON.parse(reply.text)).toEqual({ raw: '', exposed: true });
      expect(reply.headers['spillway-outcome']).toBe('passed');
      expect(await world.sums()).toEqual({ 'user ada requests': 1 });
    },
  },
  ...[
    {
      how: 'throws',
      skip: () => {
        throw new Error('no idea');
      },
    },
    { how: 'rejects', skip: () => Promise.reject(new Error('no idea')) },
  ].map(({ how, skip }) => ({
    name: `takes the error path once when skip ${how}`,
    run: async (bench: Bench) => {
      const world = bench.world();
      let handled = 0;
      const url = await bench.serve(
        mount(world.gate, { skip }),
        handler(() => void handled++),
      );

      const reply = await send(url, { body: chat() });

      expect(reply.status).toBe(500);
      expect(bench.failures.map(({ message }) => message)).toEqual(['no idea']);
      expect({ handled, admitted: world.admitted }).toEqual({ handled: 0, admitted: [] });
    },
  })),
];
