import { brotliCompressSync, brotliDecompressSync, deflateSync, gunzipSync, gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { staticAnswer } from '../../../src/index.js';
import { chat, completion, events, spokenIn } from '../../support/chat.js';
import { type Reply, send } from '../../support/http-client.js';
import { handler, mount, parser, type Turn } from './app.js';
import type { Bench, Case } from './bench.js';

const LONG = 'All of the water goes over the wall, a little at a time. '.repeat(60);

const asJson = (turn: Turn) => turn.json(completion({ text: LONG }));
const asStream = (turn: Turn) => turn.events(events({ text: LONG }));

function inflated(reply: Reply): string {
  const encoding = reply.headers['content-encoding'];
  expect(['gzip', 'br']).toContain(encoding);
  return (encoding === 'br' ? brotliDecompressSync(reply.body) : gunzipSync(reply.body)).toString('utf8');
}

const FULL = { scopes: { user: { budgets: [{ inputTokens: 1, per: 'hour' }] } }, ladder: [staticAnswer(() => LONG)] } as const;
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

const ENCODERS: Readonly<Record<string, (text: string) => Buffer>> = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
};

type WorldOptions = Parameters<Bench['world']>[0];
interface Unreadable {
  readonly encoding: string;
  readonly bytes: Buffer;
  readonly options?: WorldOptions;
}

const answerBytes = gzipSync(JSON.stringify(completion()));
/** Text that hardly compresses. */
const NOISE = Array.from({ length: 400 }, (_, index) => Math.imul(index + 1, 0x9e3779b1).toString(36)).join(' ');
const UNREADABLE: Readonly<Record<string, Unreadable>> = {
  'comes in an encoding nobody knows': { encoding: 'rot13', bytes: answerBytes },
  'was compressed twice': { encoding: 'gzip, gzip', bytes: gzipSync(answerBytes) },
  'says gzip and is none': { encoding: 'gzip', bytes: Buffer.from('no gzip at all') },
  'is longer than what is kept of one': {
    encoding: 'gzip',
    bytes: gzipSync(JSON.stringify(completion({ text: NOISE }))),
    options: { tapBytes: 1_000 },
  },
  'inflates to far more than what is kept of one': {
    encoding: 'gzip',
    bytes: gzipSync(JSON.stringify(completion({ text: ' '.repeat(1_000_000) }))),
    options: { tapBytes: 10_000 },
  },
};

/** Serves bytes that the handler writes itself, in this encoding. */
async function written(bench: Bench, encoding: string, bytes: Buffer, options?: WorldOptions) {
  const world = bench.world(options);
  const url = await bench.serve(
    mount(world.gate),
    handler(({ res }) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': encoding });
      res.write(bytes.subarray(0, 20));
      res.end(bytes.subarray(20));
    }),
  );
  const reply = await send(url, { body: chat() });
  await world.atRest();
  return { reply, world };
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
    name: 'reads the exact usage of a JSON answer that is compressed inside of it',
    async run(bench) {
      const { reply, text, world } = await passing(bench, 'after', asJson);

      expect(JSON.parse(text)).toEqual(completion({ text: LONG }));
      expect(reply.headers['spillway-outcome']).toBe('passed');
      expect(world.settled.map(({ by, usage }) => ({ by, output: usage?.outputTokens }))).toEqual([{ by: 'usage', output: 7 }]);
      expect(await world.sums()).toMatchObject({ 'user ada tokens': 27 });
    },
  },
  {
    name: 'reads the exact usage of a stream that is compressed inside of it',
    async run(bench) {
      const { text, world } = await passing(bench, 'after', asStream, true);

      expect(text).toBe(events({ text: LONG }).join(''));
      expect(world.settled.map(({ by, usage }) => ({ by, output: usage?.outputTokens }))).toEqual([{ by: 'usage', output: 7 }]);
      expect(await world.sums()).toMatchObject({ 'user ada tokens': 27 });
    },
  },
  ...['gzip', 'x-gzip', 'deflate', 'br'].map((encoding) => ({
    name: `reads the exact usage of an answer that the handler wrote in ${encoding}`,
    run: async (bench: Bench) => {
      const { world } = await written(bench, encoding, ENCODERS[encoding]?.(JSON.stringify(completion())) as Buffer);

      expect(world.settled.map(({ by, usage }) => ({ by, output: usage?.outputTokens }))).toEqual([{ by: 'usage', output: 7 }]);
    },
  })),
  ...Object.entries(UNREADABLE).map(([what, { encoding, bytes, options }]) => ({
    name: `lets an answer pass byte for byte that ${what}, and charges the estimate`,
    run: async (bench: Bench) => {
      const { reply, world } = await written(bench, encoding, bytes, options);

      expect(reply.body).toEqual(bytes);
      expect(world.settled.map(({ by, usage }) => ({ by, output: usage?.outputTokens }))).toEqual([
        { by: 'counted', output: 512 },
      ]);
    },
  })),
];
