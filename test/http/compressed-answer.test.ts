import type { Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createAnswerReader } from '../../src/dialects/answer-reader.js';
import { openaiChat } from '../../src/dialects/openai-chat.js';
import { createCompressedReader } from '../../src/http/compressed-answer.js';
import { completion, events } from '../support/chat.js';

const { constants } = zlib;
const { createZstdCompress } = zlib as { createZstdCompress?: (options: object) => Transform };
const { ZSTD_e_flush: flushZstd } = constants as { ZSTD_e_flush?: number };

/** Compressors that send each write on its way at once. */
const FLUSHING: Readonly<Record<string, () => Transform>> = {
  gzip: () => zlib.createGzip({ flush: constants.Z_SYNC_FLUSH }),
  deflate: () => zlib.createDeflate({ flush: constants.Z_SYNC_FLUSH }),
  br: () => zlib.createBrotliCompress({ flush: constants.BROTLI_OPERATION_FLUSH }),
  ...(createZstdCompress && { zstd: () => createZstdCompress({ flush: flushZstd }) }),
};

function read(
  encoding: string,
  bytes: readonly Uint8Array[],
  { tapBytes = 10_000, isComplete = true, type = 'text/event-stream' } = {},
) {
  const countText = (text: string) => text.split(' ').length;
  const plain = createAnswerReader({ dialect: openaiChat, contentType: type, tapBytes: 10_000, learnBytes: 0, countText });
  const reader = createCompressedReader(plain, encoding, tapBytes);
  for (const chunk of bytes) reader?.push(chunk);
  return reader?.findings(isComplete);
}

/** What a compressor gives for these texts; without an `end` it is cut off. */
async function compressed(compressor: Transform, texts: readonly string[], ends: boolean): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  compressor.on('data', (chunk: Buffer) => chunks.push(chunk));
  for (const text of texts) await new Promise((written) => compressor.write(text, written));
  if (ends) await new Promise((ended) => compressor.end().once('end', () => ended(undefined)));
  else await new Promise((resolve) => setImmediate(resolve));
  return chunks;
}

describe.each(Object.entries(FLUSHING))('an answer in %s', (encoding, create) => {
  const words = events({ text: 'one two three four five' });

  it('tells its usage when it is whole', async () => {
    expect(read(encoding, await compressed(create(), words, true))?.usage).toMatchObject({ inputTokens: 20, outputTokens: 7 });
  });

  it('tells its usage whatever the case and the blanks around the name of its encoding', async () => {
    const whole = await compressed(create(), words, true);

    expect(read(` ${encoding.toUpperCase()} `, whole)?.usage).toMatchObject({ outputTokens: 7 });
  });

  it('tells what was said so far when it is cut off between two events', async () => {
    const cut = await compressed(create(), words.slice(0, 3), false);

    expect(read(encoding, cut, { isComplete: false })).toMatchObject({ usage: undefined, outputTokens: 4 });
  });

  it('tells nothing when it is cut off before anything could be read', () => {
    expect(read(encoding, [], { isComplete: false })).toBeUndefined();
  });

  it('tells nothing when its bytes are garbage', () => {
    expect(read(encoding, [Buffer.alloc(64, 0x5a)])).toBeUndefined();
  });
});

describe('a compressed answer', () => {
  const whole = zlib.gzipSync(JSON.stringify(completion()));
  const json = { type: 'application/json' };

  it('is read although its writer uses the memory again', () => {
    const reader = createCompressedReader(
      createAnswerReader({ dialect: openaiChat, contentType: json.type, tapBytes: 10_000, learnBytes: 0, countText: () => 1 }),
      'gzip',
      10_000,
    );
    const memory = Buffer.from(whole);
    reader?.push(memory);
    memory.fill(0);

    expect(reader?.findings(true)?.usage).toMatchObject({ outputTokens: 7 });
  });

  it('is read up to the bytes that are kept, and not beyond', () => {
    expect(read('gzip', [whole], { ...json, tapBytes: whole.length })?.usage).toMatchObject({ outputTokens: 7 });
    expect(read('gzip', [whole], { ...json, tapBytes: whole.length - 1 })).toBeUndefined();
  });

  it('is read when it inflates to four times the bytes that are kept, and not when to more', () => {
    const tapBytes = 1_000;
    const spoken = (length: number) => [zlib.gzipSync(`data: ${' '.repeat(length - 8)}\n\n`)];

    expect(read('gzip', spoken(4_000), { tapBytes })).toBeDefined();
    expect(read('gzip', spoken(4_001), { tapBytes })).toBeUndefined();
  });

  it.each(['', 'identity', 'compress', 'gzip, br', '__proto__'])('has no reader when its encoding is "%s"', (encoding) => {
    expect(read(encoding, [whole])).toBeUndefined();
  });
});
