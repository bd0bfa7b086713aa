import type { Usage } from '../call.js';
import type { CompleteAnswer, Dialect, StreamEvent } from './dialect.js';
import { carefulReading, mergeUsage } from './reading.js';
import { createSseReader } from './sse.js';

/** What the bytes of an answer told. */
export interface AnswerFindings {
  readonly usage: Usage | undefined;
  /** Output so far, counted from text where the dialect knows it, else bytes / 4. */
  readonly outputTokens: number;
  /** Whether the output was reported or read, and not only guessed from the number of bytes. */
  readonly isRead: boolean;
  /** The whole answer, when it is complete and was to be learned. */
  readonly answer: CompleteAnswer | undefined;
}

/** Reads an answer beside its way to the caller: holds nothing back, and keeps no more than its bounds. */
export interface AnswerReader {
  push(bytes: Uint8Array): void;
  /** Findings so far; whole answers only when `isComplete`. */
  findings(isComplete: boolean): AnswerFindings;
}

export interface AnswerReaderFacts {
  readonly dialect: Dialect;
  readonly contentType: string;
  /** Most bytes that are kept to be looked at. */
  readonly tapBytes: number;
  /** Longest answer worth collecting whole, in bytes; 0: none. */
  readonly learnBytes: number;
  countText(text: string): number;
}

/** Text kept for counting when no usage comes; beyond, its length is extrapolated. */
const MOST_TEXT = 262_144;

export function createAnswerReader(facts: AnswerReaderFacts): AnswerReader {
  if (/^text\/event-stream\b/i.test(facts.contentType)) return readEvents(facts);
  if (/^application\/([\w.+-]+\+)?json\b/i.test(facts.contentType)) return readJson(facts);
  return readBytes();
}

function readEvents({ dialect: given, tapBytes, learnBytes, countText }: AnswerReaderFacts): AnswerReader {
  const dialect = carefulReading(given);
  let bytes = 0;
  let usage: Usage | undefined;
  let text = '';
  let textLength = 0;
  /** Length of the text when output was last reported: more of it since, and the report was one of what came till then. */
  let textBeforeUsage = 0;
  let eventBytes = 0;
  let events: StreamEvent[] | undefined = learnBytes > 0 ? [] : undefined;
  const reader = createSseReader(
    (event) => {
      eventBytes += event.text.length;
      if (events && eventBytes <= learnBytes * 4) events.push(event);
      else events = undefined;
      if (event.data === undefined) return;
      const said = dialect.text(event.data);
      textLength += said.length;
      if (text.length < MOST_TEXT) text += said;
      const reported = dialect.usage(event.data);
      if (reported?.outputTokens !== undefined) textBeforeUsage = textLength;
      usage = mergeUsage(usage, reported);
    },
    { maxEventBytes: tapBytes },
  );
  return {
    push(chunk) {
      bytes += chunk.length;
      reader.push(chunk);
    },
    findings(isComplete) {
      if (isComplete) reader.flush();
      const answer = isComplete && events ? dialect.collect({ events }) : undefined;
      // What was too long to be looked at counts by its length.
      const unseen = reader.dropped > 0 ? Math.ceil(Math.max(0, bytes - eventBytes) / 4) : 0;
      const reported = usage?.outputTokens;
      if (reported !== undefined && textLength === textBeforeUsage)
        return { usage, outputTokens: reported, isRead: true, answer };
      const outputTokens = Math.max(reported ?? 0, unseen + counted(text, textLength, eventBytes, countText));
      return {
        usage: usage && reported !== undefined ? { ...usage, outputTokens } : usage,
        outputTokens,
        isRead: text !== '',
        answer,
      };
    },
  };
}

function readJson({ dialect: given, tapBytes, learnBytes, countText }: AnswerReaderFacts): AnswerReader {
  const dialect = carefulReading(given);
  let length = 0;
  let chunks: Uint8Array[] | undefined = [];
  return {
    push(bytes) {
      length += bytes.length;
      if (length > tapBytes) chunks = undefined;
      else chunks?.push(bytes);
    },
    findings(isComplete) {
      const body = isComplete && chunks ? parseJson(chunks) : undefined;
      if (body === undefined) return { usage: undefined, outputTokens: Math.ceil(length / 4), isRead: false, answer: undefined };
      const usage = dialect.usage(body);
      const text = dialect.text(body);
      const answer = length <= learnBytes ? dialect.collect({ body }) : undefined;
      return {
        usage,
        outputTokens: usage?.outputTokens ?? counted(text, text.length, length, countText),
        isRead: usage?.outputTokens !== undefined || text !== '',
        answer,
      };
    },
  };
}

function readBytes(): AnswerReader {
  let length = 0;
  return {
    push(bytes) {
      length += bytes.length;
    },
    findings: () => ({ usage: undefined, outputTokens: Math.ceil(length / 4), isRead: false, answer: undefined }),
  };
}

function counted(text: string, textLength: number, byteLength: number, countText: (text: string) => number): number {
  if (text === '') return Math.ceil(byteLength / 4);
  return Math.ceil((countText(text) * textLength) / text.length);
}

function parseJson(chunks: readonly Uint8Array[]): unknown {
  try {
    const [first] = chunks;
    const bytes = chunks.length === 1 && Buffer.isBuffer(first) ? first : Buffer.concat(chunks);
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
