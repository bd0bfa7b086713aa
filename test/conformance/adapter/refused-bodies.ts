import { gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { chat } from '../../support/chat.js';
import { send } from '../../support/http-client.js';
import { handler, mount } from './app.js';
import type { Bench, Case } from './bench.js';

/** JSON whose lists nest so many levels deep, the object around them included. */
const nested = (levels: number) => `{"model":"gpt-4o","messages":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

/** Serves spillway without a parser, and expects that a body is refused with this status, once, before anything is held. */
async function refuses(bench: Bench, sending: Parameters<typeof send>[1], status: number, bodyBytes = 100_000): Promise<void> {
  const world = bench.world({ bodyBytes });
  let handled = 0;
  const url = await bench.serve(
    mount(world.gate),
    handler(() => void handled++),
  );

  const reply = await send(url, sending);

  expect(reply.status).toBe(status);
  expect(bench.failures).toHaveLength(1);
  expect(handled).toBe(0);
  expect(world.admitted).toEqual([]);
  expect((await world.gate.snapshot()).openRequests).toBe(0);
}

export const refusedBodies: readonly Case[] = [
  {
    name: 'answers malformed JSON with 400 through the error path, once, and shows nothing of it in the error',
    async run(bench) {
      await refuses(bench, { body: '{"messages":[{"content":"my secret prompt' }, 400);

      const [error] = bench.failures;
      expect(error).toMatchObject({ type: 'entity.parse.failed', expose: true });
      expect(`${error?.message} ${error?.stack} ${JSON.stringify(error)}`).not.toContain('secret');
    },
  },
  {
    name: 'answers a body that is too large with 413 through the error path, once',
    run: (bench) => refuses(bench, { body: chat({ filler: 'x'.repeat(2_000) }) }, 413, 1_000),
  },
  {
    name: 'answers a body that is too large when it is inflated with 413',
    run: (bench) => {
      const bomb = gzipSync(JSON.stringify(chat({ filler: 'x'.repeat(1_000_000) })));
      return refuses(bench, { body: bomb, headers: { 'content-encoding': 'gzip' } }, 413);
    },
  },
  {
    name: 'answers bytes that do not inflate with 400',
    run: (bench) => refuses(bench, { body: Buffer.from('no gzip at all'), headers: { 'content-encoding': 'gzip' } }, 400),
  },
  {
    name: 'answers JSON that nests 65 levels deep with 400, and shows nothing of it in the error',
    async run(bench) {
      await refuses(bench, { body: nested(65) }, 400);

      expect(bench.failures[0]).toMatchObject({ code: 'SPILLWAY_BODY_TOO_DEEP', expose: true });
      expect(bench.failures[0]).not.toHaveProperty('body');
    },
  },
  {
    name: 'answers JSON that nests 100 levels deep with 400',
    run: (bench) => refuses(bench, { body: nested(100) }, 400),
  },
  {
    name: 'answers JSON that nests 10,000 levels deep with 400',
    run: (bench) => refuses(bench, { body: nested(10_000) }, 400),
  },
  {
    name: 'answers compressed JSON that nests too deep with 400',
    run: (bench) => refuses(bench, { body: gzipSync(nested(10_000)), headers: { 'content-encoding': 'gzip' } }, 400),
  },
  {
    name: 'answers JSON in UTF-16 with 415, since its bytes would hide how deep it nests',
    run: (bench) => {
      // Bytes of U+2222 look like two quotes: whoever looks at bytes takes the brackets after it for text.
      const hiding = `{"model":"\u2222x","messages":${'['.repeat(200)}${']'.repeat(200)}}`;
      const headers = { 'content-type': 'application/json; charset=utf-16' };
      return refuses(bench, { body: Buffer.from(`\ufeff${hiding}`, 'utf16le'), headers }, 415);
    },
  },
  {
    name: 'answers JSON in UTF-7 with 415',
    run: (bench) =>
      refuses(
        bench,
        { body: nested(100).replaceAll('[', '+AFs-'), headers: { 'content-type': 'application/json; charset=utf-7' } },
        415,
      ),
  },
  {
    name: 'answers JSON in an encoding that is no Unicode with 415',
    run: (bench) => refuses(bench, { body: chat(), headers: { 'content-type': 'application/json; charset=latin1' } }, 415),
  },
];
