import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Loopback, listen, until } from '../support/loopback.js';
import { chat, createOutbound, type Outbound, post } from '../support/outbound.js';

let outbound: Outbound;
let raw: Loopback;
/** What the raw server does with the next call. */
let answer: (res: ServerResponse) => unknown;

beforeAll(async () => {
  outbound = await createOutbound();
  raw = await listen((req, res) => {
    req.resume().once('end', () => answer(res));
  });
});
afterAll(async () => {
  await raw.close();
  await outbound.close();
});

const url = () => `${raw.url}/v1/chat/completions`;
const asked = chat('Hello?', { stream: true });
const askedForUsage = { ...asked, stream_options: { include_usage: true } };
const chunkOf = (content: string) => JSON.stringify({ choices: [{ index: 0, delta: { content } }] });
const USAGE = '{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}}';

function begin(res: ServerResponse, type = 'text/event-stream'): void {
  res.socket?.setNoDelay(true);
  res.writeHead(200, { 'content-type': type });
  res.flushHeaders();
}

async function bytesOf(response: Response): Promise<Buffer> {
  return Buffer.from(await response.arrayBuffer());
}

describe('a stream passes byte for byte, however it is cut', () => {
  const eol = fc.constantFrom('\n', '\r\n', '\r');
  const line = fc.oneof(
    fc.string({ unit: 'grapheme' }).map((content) => `data: ${chunkOf(content)}`),
    fc.constantFrom(': keep-alive', 'event: ping', 'id: 7', 'data: [DONE]', 'data: {"choices":[]}', 'data: garbage', 'data', ':'),
  );
  /** An event and what ends it; some have several lines. */
  const event = fc.record({ lines: fc.array(line, { minLength: 1, maxLength: 3 }), eol }).map(({ lines, eol }) => ({
    text: `${lines.join(eol)}${eol}${eol}`,
    eol,
  }));
  const stream = fc.record({
    before: fc.array(event, { maxLength: 6 }),
    after: fc.array(event, { maxLength: 3 }),
    tail: fc.constantFrom('', ': end', 'data: half'),
    usageEol: eol,
    cuts: fc.array(fc.nat({ max: 400 }), { maxLength: 12 }),
  });

  async function fetched(body: object, bytes: Buffer, cuts: readonly number[]): Promise<Buffer> {
    answer = async (res) => {
      begin(res);
      const places = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b);
      for (let at = 1; at < places.length; at++) {
        res.write(bytes.subarray(places[at - 1], places[at]));
        await nextTurn();
      }
      res.end();
    };
    return bytesOf(await outbound.gate.fetch(url(), post(body)));
  }

  it('but for the usage that the caller did not ask for', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(stream, async ({ before, after, tail, usageEol, cuts }) => {
        const head = before.map(({ text }) => text).join('');
        const rest = after.map(({ text }) => text).join('') + tail;
        const usage = `data: ${USAGE}${usageEol}${usageEol}`;

        const came = await fetched(asked, Buffer.from(head + usage + rest), cuts);

        expect(came.toString()).toBe(head + rest);
      }),
      { numRuns: 150 },
    );
    await outbound.sums();
    expect(outbound.settled.filter(({ by, usage }) => by !== 'usage' || usage?.inputTokens !== 9)).toEqual([]);
    expect(outbound.settled.length).toBeGreaterThanOrEqual(150);
  });

  it('and with the usage that the caller asked for', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(stream, fc.uint8Array({ maxLength: 20 }), async ({ before, after, tail, usageEol, cuts }, noise) => {
        const text = before.map(({ text }) => text).join('');
        const usage = `data: ${USAGE}${usageEol}${usageEol}`;
        const sent = Buffer.concat([
          Buffer.from(text + usage),
          noise,
          Buffer.from(after.map(({ text }) => text).join('') + tail),
        ]);

        const came = await fetched(askedForUsage, sent, cuts);

        expect(came.equals(sent)).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});

it('a stream of a dialect that always reports usage passes byte for byte, and is charged by it', async () => {
  const events = [
    { type: 'message_start', message: { usage: { input_tokens: 9, cache_read_input_tokens: 3, output_tokens: 1 } } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Deep.' } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } },
    { type: 'message_stop' },
  ];
  const sent = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
  answer = (res) => {
    begin(res);
    res.end(sent);
  };
  const before = outbound.settled.length;

  const response = await outbound.gate.fetch(`${raw.url}/v1/messages`, post({ ...asked, max_tokens: 20 }));

  expect(await response.text()).toBe(sent);
  await outbound.sums();
  expect(outbound.settled.slice(before)).toMatchObject([{ by: 'usage', usage: { inputTokens: 12, outputTokens: 4 } }]);
});

describe('nothing is held back', () => {
  it.each<[string, object, string, string[]]>([
    ['bytes of JSON', chat('Hello?'), 'application/json', ['{', '"a"', ':', '1', '}']],
    ['bytes of a stream with usage asked for', askedForUsage, 'text/event-stream', ['d', 'ata: ', `${chunkOf('a')}\n`, '\n']],
    ['events of a stream', asked, 'text/event-stream', ['a', 'b', 'c'].map((text) => `data: ${chunkOf(text)}\n\n`)],
    ['comments of a stream', asked, 'text/event-stream', [': a\n\n', ': b\n\n']],
    ['bytes of an unknown type', asked, 'application/octet-stream', ['x', 'y', 'z']],
  ])('%s pass before the next are sent', async (_, body, type, pieces) => {
    let release: () => void = () => {};
    answer = async (res) => {
      begin(res, type);
      for (const piece of pieces) {
        res.write(piece);
        await new Promise<void>((resolve) => {
          release = resolve;
        });
      }
      res.end();
    };

    const response = await outbound.gate.fetch(url(), post(body));
    const reader = response.body?.getReader();
    const came: string[] = [];
    for (const piece of pieces) {
      let text = '';
      while (text.length < piece.length) text += Buffer.from((await reader?.read())?.value ?? []).toString();
      came.push(text);
      release();
    }

    expect(came).toEqual(pieces);
    expect((await reader?.read())?.done).toBe(true);
  });

  it('a usage chunk that is hidden does not look like the end', async () => {
    answer = (res) => {
      begin(res);
      res.end(`data: ${USAGE}\n\ndata: [DONE]\n\n`);
    };

    const response = await outbound.gate.fetch(url(), post(asked));

    expect(await response.text()).toBe('data: [DONE]\n\n');
  });

  it('and nothing is taken from the provider that the caller does not take', async () => {
    const piece = Buffer.alloc(1_048_576, 'x');
    const pieces = 64;
    let written = 0;
    answer = async (res) => {
      begin(res, 'application/json');
      for (let sent = 0; sent < pieces; sent++) {
        written += piece.length;
        if (!res.write(piece)) await once(res, 'drain');
      }
      res.end();
    };
    const response = await outbound.gate.fetch(url(), post(chat('Hello?')));
    const reader = response.body?.getReader();
    let read = (await reader?.read())?.value?.length ?? 0;

    let before = -1;
    await until(async () => {
      const isStill = written === before;
      before = written;
      await new Promise((resolve) => setTimeout(resolve, 20));
      return isStill && written > 0;
    });

    expect(written).toBeLessThan((pieces * piece.length) / 2);
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) read += next.value.length;
    expect(read).toBe(pieces * piece.length);
  });
});
