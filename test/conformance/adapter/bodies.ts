import { text } from 'node:stream/consumers';
import { deflateSync, gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { type Dialect, openaiChat, staticAnswer } from '../../../src/index.js';
import { chat, completion } from '../../support/chat.js';
import { send } from '../../support/http-client.js';
import { handler, mount, type Part, parser, step, type Turn } from './app.js';
import type { Bench, Case } from './bench.js';

const answer = (turn: Turn) => turn.json(completion());

/** What one call of {@link completion} leaves behind, and nothing else. */
const ONE_CALL = {
  'model gpt-4o tokens': 27,
  'model gpt-4o requests': 1,
  'user ada tokens': 27,
  'user ada requests': 1,
};

/** JSON whose lists nest so many levels deep, the object around them included. */
const nested = (levels: number) => `{"model":"gpt-4o","messages":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

/** Expects that the handler gets this body, and that its call is charged. */
async function governs(bench: Bench, sending: Parameters<typeof send>[1], body: unknown, before: Part[] = []) {
  const world = bench.world();
  let seen: unknown;
  const url = await bench.serve(
    ...before,
    mount(world.gate),
    handler((turn) => {
      seen = turn.body;
      answer(turn);
    }),
  );

  const reply = await send(url, sending);
  await world.atRest();

  expect(bench.failures).toEqual([]);
  expect(reply.status).toBe(200);
  expect(reply.headers).toMatchObject({ 'spillway-outcome': 'passed', 'spillway-model': 'gpt-4o' });
  expect(seen).toEqual(body);
  expect(await world.sums()).toEqual(ONE_CALL);
}

export const bodies: readonly Case[] = [
  {
    name: 'reads the call from a body that the parser of the framework has read',
    run: (bench) => governs(bench, { body: chat() }, chat(), [parser('json')]),
  },
  {
    name: 'reads a body itself when no parser was there',
    run: (bench) => governs(bench, { body: chat() }, chat()),
  },
  {
    name: 'reads a body that comes in chunks, without a length',
    run: (bench) => {
      const whole = JSON.stringify(chat());
      return governs(bench, { body: [whole.slice(0, 10), whole.slice(10)] }, chat());
    },
  },
  {
    name: 'leaves nothing behind that a parser mounted after it would fail on',
    async run(bench) {
      const world = bench.world();
      let seen: unknown;
      const url = await bench.serve(
        mount(world.gate),
        parser('json'),
        parser('form'),
        handler((turn) => {
          seen = turn.body;
          answer(turn);
        }),
      );

      const reply = await send(url, { body: chat() });
      await world.atRest();

      expect({ status: reply.status, failures: bench.failures, seen }).toEqual({ status: 200, failures: [], seen: chat() });
      expect(await world.sums()).toEqual(ONE_CALL);
    },
  },
  {
    name: 'reads a body that another parser has read and put there',
    run: (bench) =>
      governs(bench, { body: JSON.stringify(chat()), headers: { 'content-type': 'text/plain' } }, chat(), [
        step(({ req }, next) => {
          void text(req).then((body) => {
            req.body = JSON.parse(body);
            next();
          });
        }),
      ]),
  },
  {
    name: 'reads a body although an earlier parser left an empty object without having read it',
    run: (bench) =>
      governs(bench, { body: chat() }, chat(), [
        step(({ req }, next) => {
          req.body = {};
          next();
        }),
      ]),
  },
  {
    name: 'reads JSON of any media type that ends in +json',
    run: (bench) =>
      governs(bench, { body: chat(), headers: { 'content-type': 'application/vnd.api+json; charset=utf-8' } }, chat()),
  },
  {
    name: 'keeps every character of a body in UTF-8, with or without the name of its encoding',
    run: (bench) => {
      const body = chat({ messages: [{ role: 'user', content: 'Où? どこ? 🌊' }] });
      return governs(bench, { body, headers: { 'content-type': 'application/json; charset=UTF-8' } }, body);
    },
  },
  {
    name: 'reads a body that is compressed with gzip',
    run: (bench) => governs(bench, { body: gzipSync(JSON.stringify(chat())), headers: { 'content-encoding': 'gzip' } }, chat()),
  },
  {
    name: 'reads a body that is compressed with deflate',
    run: (bench) =>
      governs(bench, { body: deflateSync(JSON.stringify(chat())), headers: { 'content-encoding': 'deflate' } }, chat()),
  },
  {
    name: 'lets a request pass whose JSON body is empty, and counts it without a call',
    async run(bench) {
      const world = bench.world();
      const url = await bench.serve(
        mount(world.gate),
        handler((turn) => turn.send('hello')),
      );

      const reply = await send(url, { body: '' });
      await world.atRest();

      expect({ status: reply.status, text: reply.text }).toEqual({ status: 200, text: 'hello' });
      expect(await world.sums()).toMatchObject({ 'user ada requests': 1 });
      expect(await world.sums()).not.toHaveProperty('model gpt-4o requests');
    },
  },
  {
    name: 'lets JSON pass that nests 64 levels deep',
    run: (bench) => {
      const body = nested(64);
      return governsShape(bench, body);
    },
  },
  {
    name: 'survives a body of 10,000 levels that the parser of the framework let through',
    async run(bench) {
      const world = bench.world();
      const url = await bench.serve(parser('json'), mount(world.gate), handler(answer));
      const deep = `{"model":"gpt-4o","messages":[],"metadata":${'['.repeat(10_000)}${']'.repeat(10_000)}}`;

      const reply = await send(url, { body: [deep] });
      await world.atRest();

      expect({ status: reply.status, failures: bench.failures }).toEqual({ status: 200, failures: [] });
    },
  },
  {
    name: 'charges a request whose call nobody can read by its size, however deep it nests',
    async run(bench) {
      const world = bench.world();
      const unseen: number[] = [];
      world.gate.on('call-unseen', ({ tokens }) => unseen.push(tokens));
      const url = await bench.serve(
        parser('json'),
        mount(world.gate),
        handler((turn) => turn.send('x'.repeat(400))),
      );

      const reply = await send(url, { body: [`{"question":${'['.repeat(10_000)}${']'.repeat(10_000)}}`] });
      await world.atRest();

      expect(reply.status).toBe(200);
      expect(unseen).toEqual([Math.ceil(20_013 / 4) + 100]);
    },
  },
  {
    name: 'charges a compressed request whose call nobody can read by its real size',
    async run(bench) {
      const world = bench.world();
      const unseen: number[] = [];
      world.gate.on('call-unseen', ({ tokens }) => unseen.push(tokens));
      const url = await bench.serve(
        mount(world.gate),
        handler((turn) => turn.send('x'.repeat(400))),
      );
      const question = JSON.stringify({ question: 'a'.repeat(40_000) });

      await send(url, { body: gzipSync(question), headers: { 'content-encoding': 'gzip' } });
      await world.atRest();

      expect(unseen).toEqual([Math.ceil(question.length / 4) + 100]);
    },
  },
  {
    name: 'charges nothing for a static answer to a request whose call nobody can read',
    async run(bench) {
      const world = bench.world();
      const unseen: number[] = [];
      world.gate.on('call-unseen', ({ tokens }) => unseen.push(tokens));
      const dialect: Dialect = { ...openaiChat, name: 'blind', read: () => undefined };
      const budgets = { route: [{ requests: 1, per: 'hour' }] } as const;
      const url = await bench.serve(
        mount(world.gate, { route: 'chat', dialect, budgets, ladder: [staticAnswer(() => 'Later, please.')] }),
        handler((turn) => {
          turn.passage().settle({ inputTokens: 1, outputTokens: 1 });
          turn.send('ok');
        }),
      );

      await send(url, { body: { question: 'Where?' } });
      const reply = await send(url, { body: { question: 'Where?' } });
      await world.atRest();

      expect(reply.headers['spillway-outcome']).toBe('static');
      expect(unseen).toEqual([]);
      expect(await world.sums()).toEqual({ 'route chat requests': 1, 'user ada requests': 1, 'user ada tokens': 2 });
    },
  },
];

/** Like {@link governs}, for a body that is only looked at: its messages are none. */
async function governsShape(bench: Bench, body: string): Promise<void> {
  const world = bench.world();
  let seen: unknown;
  const url = await bench.serve(
    mount(world.gate),
    handler((turn) => {
      seen = turn.body;
      answer(turn);
    }),
  );

  const reply = await send(url, { body });
  await world.atRest();

  expect({ status: reply.status, failures: bench.failures }).toEqual({ status: 200, failures: [] });
  expect(seen).toEqual(JSON.parse(body));
}
