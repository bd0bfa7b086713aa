import * as zlib from 'node:zlib';
import { brotliDecompressSync, constants, gunzipSync, inflateSync } from 'node:zlib';
import type { AnswerFindings, AnswerReader } from '../dialects/answer-reader.js';

/** Reads an answer that comes compressed; `undefined` findings: nobody can say what it was. */
export interface CompressedReader {
  push(bytes: Uint8Array): void;
  /** Once. */
  findings(isComplete: boolean): AnswerFindings | undefined;
}

type Decode = (bytes: Buffer, maxOutputLength: number) => Buffer;

// Flushing at the end makes the decoders take what was cut off anywhere.
const decodeGzip: Decode = (bytes, maxOutputLength) =>
  gunzipSync(bytes, { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH });
const DECODERS = new Map<string, Decode>([
  ['gzip', decodeGzip],
  ['x-gzip', decodeGzip],
  ['deflate', (bytes, maxOutputLength) => inflateSync(bytes, { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH })],
  [
    'br',
    (bytes, maxOutputLength) => brotliDecompressSync(bytes, { maxOutputLength, finishFlush: constants.BROTLI_OPERATION_FLUSH }),
  ],
]);

// From Node 22.15 on; koa-compress prefers it where a client takes it.
const { zstdDecompressSync } = zlib as { zstdDecompressSync?: (bytes: Buffer, options: object) => Buffer };
if (zstdDecompressSync) {
  const { ZSTD_e_flush: finishFlush } = constants as { ZSTD_e_flush?: number };
  DECODERS.set('zstd', (bytes, maxOutputLength) => zstdDecompressSync(bytes, { maxOutputLength, finishFlush }));
}

/** How much larger than what is kept an answer may inflate: the end of a response must not block the others. */
const MOST_INFLATION = 4;

/**
 * Keeps compressed bytes and inflates them when the response is over: frameworks that compress bodies, not writes, do so before
 * anybody at the response sees the text.
 * @param tapBytes - most compressed bytes that are kept; a longer answer is not read
 * @returns `undefined` for an encoding that is not known
 */
export function createCompressedReader(reader: AnswerReader, encoding: string, tapBytes: number): CompressedReader | undefined {
  const decode = DECODERS.get(encoding.trim().toLowerCase());
  if (!decode) return undefined;
  let length = 0;
  let chunks: Buffer[] | undefined = [];

  return {
    push(bytes) {
      length += bytes.length;
      // A writer may use its memory again once the write is over.
      if (length <= tapBytes) chunks?.push(Buffer.from(bytes));
      else chunks = undefined;
    },
    findings(isComplete) {
      if (!chunks) return undefined;
      const text = inflate(decode, Buffer.concat(chunks), tapBytes * MOST_INFLATION);
      chunks = undefined;
      // What a compressor still kept to itself when the client left is no sign that there was nothing.
      if (!text || text.length === 0) return undefined;
      reader.push(text);
      return reader.findings(isComplete);
    },
  };
}

function inflate(decode: Decode, bytes: Buffer, maxOutputLength: number): Buffer | undefined {
  try {
    return decode(bytes, maxOutputLength);
  } catch {
    return undefined;
  }
}
