import { once } from 'node:events';
import { expect } from 'vitest';
import { chat } from '../../support/chat.js';
import { dial, send, wire } from '../../support/http-client.js';
import { handler, mount, type SuiteOptions, type Turn } from './app.js';
import type { Bench, Case } from './bench.js';

import { body, JSON_TYPE, stream, text, WAYS } from './ways.js';

async function answers(bench: Bench, run: (turn: Turn) => void | Promise<void>, options: SuiteOptions = {}) {
  const world = bench.world();
  const url = await bench.serve(mount(world.gate, options), handler(run));
  return { world, reply: await send(url, { body: chat() }) };
}

const each = (options: SuiteOptions, how: string): readonly Case[] =>
  Object.entries(WAYS).map(([way, run]) => ({
    name: `passes bytes untouched and reads the exact usage of an answer by ${way}${how}`,
    async run(bench) {
      const { world, reply } = await answers(bench, run, options);
      await world.atRest();

      expect(reply.status).toBe(200);
      expect(reply.text).toBe(way.startsWith('events') ? stream.join('') : text);
      expect(reply.headers['spillway-outcome']).toBe(options.headers === false ? undefined : 'passed');
      expect(world.settled.map(({ by }) => by)).toEqual(['usage']);
      expect(await world.sums()).toMatchObject({ 'user ada tokens': 27, 'model gpt-4o tokens': 27 });
      expect(bench.failures).toEqual([]);
    },
  }));

export const writing: readonly Case[] = [
  ...each({}, ''),
  ...each({ headers: false }, ', with no headers of its own'),
  {
    name: 'keeps the message and every header that writeHead was given',
    async run(bench) {
      const { reply } = await answers(bench, ({ res }) => {
        res.writeHead(201, 'Very fine', ['X-Own', 'a', 'X-Own', 'b', 'Set-Cookie', 'c=1', 'Set-Cookie', 'd=2']).end('ok');
      });

      expect({ status: reply.status, message: reply.message }).toEqual({ status: 201, message: 'Very fine' });
      expect(reply.headers).toMatchObject({ 'x-own': 'a, b', 'set-cookie': ['c=1', 'd=2'], 'spillway-outcome': 'passed' });
    },
  },
  {
    name: 'charges the input of an answer without a body, 204',
    async run(bench) {
      const { world, reply } = await answers(bench, ({ res }) => {
        res.writeHead(204).end();
      });
      await world.atRest();

      expect({ status: reply.status, text: reply.text }).toEqual({ status: 204, text: '' });
      expect(reply.headers['spillway-outcome']).toBe('passed');
      const { by, estimatedInputTokens } = world.settled[0] ?? {};
      expect(by).toBe('counted');
      expect(await world.sums()).toMatchObject({ 'user ada tokens': estimatedInputTokens });
    },
  },
  {
    name: 'answers HEAD without a body when HEAD is not skipped',
    async run(bench) {
      const world = bench.world();
      const url = await bench.serve(
        mount(world.gate, { skip: () => false }),
        handler((turn) => turn.json(body)),
      );

      const reply = await send(url, { method: 'HEAD' });
      await world.atRest();

      expect({ status: reply.status, text: reply.text }).toEqual({ status: 200, text: '' });
      expect(reply.headers['spillway-outcome']).toBe('passed');
      expect(await world.sums()).toEqual({ 'user ada requests': 1 });
    },
  },
  {
    name: 'gives everything back for an answer with an error status that the handler writes',
    async run(bench) {
      const { world, reply } = await answers(bench, (turn) => turn.json({ error: 'not today' }, 422));
      await world.atRest();

      expect(JSON.parse(reply.text)).toEqual({ error: 'not today' });
      expect(reply.headers['spillway-outcome']).toBe('passed');
      expect(await world.sums()).toEqual({});
    },
  },
  {
    name: 'keeps the return values and callbacks of write and end',
    async run(bench) {
      const seen: unknown[] = [];
      const { reply } = await answers(bench, async ({ res }) => {
        seen.push(res.write('a'));
        await new Promise<void>((written) => seen.push(res.write('b', () => written())));
        await new Promise<void>((written) => seen.push(res.write('63', 'hex', () => written())));
        await new Promise<void>((ended) => seen.push(res.end('d', 'utf8', () => ended()) === res));
        seen.push('ended');
      });

      expect(reply.text).toBe('abcd');
      expect(seen).toEqual([true, true, true, true, 'ended']);
    },
  },
  {
    name: 'calls the callback of an end without a body',
    async run(bench) {
      let hasEnded = false;
      const { reply } = await answers(bench, async ({ res }) => {
        await new Promise<void>((ended) => res.end(() => ended()));
        hasEnded = true;
      });

      expect({ status: reply.status, hasEnded }).toEqual({ status: 200, hasEnded: true });
    },
  },
  {
    name: 'keeps exceptions of write, and lets the handler answer after one',
    async run(bench) {
      const thrown: unknown[] = [];
      const { world, reply } = await answers(bench, (turn) => {
        for (const wrong of [() => turn.res.write(7 as never), () => turn.res.writeHead(200, { 'x-bad': 'a\r\nb' })]) {
          try {
            wrong();
          } catch (error) {
            thrown.push((error as { code?: string }).code);
          }
        }
        turn.res.setHeader('content-type', JSON_TYPE);
        turn.res.end(text);
      });
      await world.atRest();

      expect(thrown).toEqual(['ERR_INVALID_ARG_TYPE', 'ERR_INVALID_CHAR']);
      expect({ status: reply.status, text: reply.text }).toEqual({ status: 200, text });
      expect(await world.sums()).toMatchObject({ 'user ada tokens': 27 });
    },
  },
  {
    name: 'keeps back-pressure: a reader that pauses makes write return false, and drain comes when it goes on',
    async run(bench) {
      const world = bench.world();
      const chunk = Buffer.alloc(262_144, 'x');
      const chunks = 64;
      let waits = 0;
      const url = await bench.serve(
        mount(world.gate),
        handler(async ({ res }) => {
          res.writeHead(200, { 'content-length': chunk.length * chunks });
          for (let sent = 0; sent < chunks; sent++) {
            if (res.write(chunk)) continue;
            if (waits++ === 0) socket.resume();
            await once(res, 'drain');
          }
          res.end();
        }),
      );
      const socket = await dial(url);
      let bytes = 0;
      socket.pause().on('data', (data) => {
        bytes += data.length;
      });
      socket.pause().write(wire('/', chat(), { connection: 'close' }));

      await once(socket, 'end');
      await world.atRest();

      expect(waits).toBeGreaterThan(0);
      expect(bytes).toBeGreaterThan(chunk.length * chunks);
      expect(world.settled.map(({ by }) => by)).toEqual(['counted']);
    },
  },
];
