import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { staticAnswer } from '../../../src/index.js';
import { chat, completion, events, spokenIn } from '../../support/chat.js';
import { type Reply, send } from '../../support/http-client.js';
import { handler, mount, parser, type Turn } from './app.js';
import type { Bench, Case } from './bench.js';

const LONG = 'All of the water goes over the wall, a little at a time. '.repeat(60);

const asJson = (turn: Turn) => turn.json(completion({ text: LONG }));
const asStream = async ({ res }: Turn): Promise<void> => {
  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  for (const event of events({ text: LONG })) {
    res.write(event);
    await new Promise((resolve) => setImmediate(resolve));
  }
  res.end();
};

function inflated(reply: Reply): string {
  const encoding = reply.headers['content-encoding'];
  expect(['gzip', 'br']).toContain(encoding);
  return (encoding === 'br' ? brotliDecompressSync(reply.body) : gunzipSync(reply.body)).toString('utf8');
}

const FULL = { scopes: { user: { budgets: [{ inputTokens: 1, per: 'hour' }] } }, ladder: [staticAnswer(LONG)] } as const;
const ENCODING = { 'accept-encoding': 'gzip' };

/** Sends one chat past compression and spillway, mounted in this order. */
async function passing(bench: Bench, order: 'before' | 'after', run: (turn: Turn) => void | Promise<void>, stream = false) {
  const world = bench.world();
  const squeeze = parser('compression');
  const gate = mount(world.gate);
  const url = await bench.serve(...(order === 'before' ? [squeeze, gate] : [gate, squeeze]), handler(run));
  const reply = await send(url, { body: chat({ stream }), headers: ENCODING });
  await world.atRest();
  return { reply, text: inflated(reply), world };
}

export const compressing: readonly Case[] = [
  {
    name: 'reads the exact usage of a JSON answer that is compressed outside of it',
    async run(bench) {
      const { reply, text, world } = await passing(bench, 'before', asJson);

      expect(JSON.parse(text)).toEqual(completion({ text: LONG }));
      expect(reply.headers['spillway-outcome']).toBe('passed');
      expect(world.settled.map(({ by, usage }) => ({ by, output: usage?.outputTokens }))).toEqual([{ by: 'usage', output: 7 }]);
      expect(await world.sums()).toMatchObject({ 'user ada tokens': 27 });
    },
  },
  {
    name: 'reads the exact usage of a stream that is compressed outside of it',
    async run(bench) {
      const { reply, text, world } = await passing(bench, 'before', asStream, true);

      expect(text).toBe(events({ text: LONG }).join(''));
      expect(reply.headers['spillway-outcome']).toBe('passed');
      expect(await world.sums()).toMatchObject({ 'user ada tokens': 27 });
    },
  },
  {
    name: 'writes a static answer that is compressed outside of it and can be read',
    async run(bench) {
      const world = bench.world(FULL);
      const url = await bench.serve(parser('compression'), mount(world.gate), handler(asJson));

      const reply = await send(url, { body: chat(), headers: ENCODING });

      expect(JSON.parse(inflated(reply)).choices[0].message.content).toBe(LONG);
      expect(reply.headers['spillway-outcome']).toBe('static');
    },
  },
  {
    name: 'writes a static answer as a stream that can be read, with compression outside of it',
    async run(bench) {
      const world = bench.world(FULL);
      const url = await bench.serve(parser('compression'), mount(world.gate), handler(asStream));

      const reply = await send(url, { body: chat({ stream: true }), headers: ENCODING });

      const text = reply.headers['content-encoding'] ? inflated(reply) : reply.text;
      expect(spokenIn(text)).toBe(LONG);
      expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    },
  },
  {
    name: 'lets a JSON answer pass that is compressed inside of it, and charges the estimate for what it cannot read',
    async run(bench) {
      const { reply, text, world } = await passing(bench, 'after', asJson);

      expect(JSON.parse(text)).toEqual(completion({ text: LONG }));
      expect(reply.headers['spillway-outcome']).toBe('passed');
      expect(world.settled.map(({ by, usage }) => ({ by, output: usage?.outputTokens }))).toEqual([
        { by: 'counted', output: 512 },
      ]);
    },
  },
  {
    name: 'lets a stream pass that is compressed inside of it, and charges the estimate for what it cannot read',
    async run(bench) {
      const { text, world } = await passing(bench, 'after', asStream, true);

      expect(text).toBe(events({ text: LONG }).join(''));
      expect(world.settled.map(({ by, usage }) => ({ by, output: usage?.outputTokens }))).toEqual([
        { by: 'counted', output: 512 },
      ]);
    },
  },
];
