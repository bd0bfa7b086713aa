import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../src/dialects/dialect.js';
import { createEventFilter, createSseReader, type SseOptions } from '../../src/dialects/sse.js';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const concat = (parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));

function readAll(chunks: readonly (Uint8Array | string)[], options?: SseOptions): { events: StreamEvent[]; dropped: number } {
  const events: StreamEvent[] = [];
  const reader = createSseReader((event) => events.push(event), options);
  for (const chunk of chunks) reader.push(chunk);
  reader.flush();
  return { events, dropped: reader.dropped };
}

function filterAll(chunks: readonly Uint8Array[], isHidden: (event: StreamEvent) => boolean, options?: SseOptions): Uint8Array {
  const filter = createEventFilter(isHidden, options);
  return concat([...chunks.flatMap((chunk) => filter.push(chunk)), ...filter.flush()]);
}

/** Cuts bytes at the given places, wherever they lie. */
function cutAt(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const cuts = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...cuts].map((cut, index) => bytes.slice(cut, [...cuts, bytes.length][index]));
}

const texts = (events: readonly StreamEvent[]): string[] => events.map(({ text }) => text);

/** Streams made of everything that the format knows, in any order, hidden events among them. */
const pieceOfStream = fc.oneof(
  fc.constantFrom('\n', '\r\n', '\r', '\n\n', '\r\n\r\n', '\r\r', ': comment', ':', 'event: ping', 'id: 7', 'retry: 10', 'data'),
  fc.constantFrom(
    'data: {"a":1}',
    'data:{"b":2}',
    'data: [DONE]',
    'data:  two spaces',
    'data: hidden',
    '\ufeff',
    'data: 你好 😀',
  ),
  fc.string({ unit: 'grapheme', maxLength: 6 }),
);
const pieces = fc.array(pieceOfStream, { maxLength: 40 });
const stream = pieces.map((parts) => bytesOf(parts.join('')));
/** A mark of byte order means something else once what came before it is hidden. */
const unmarkedStream = pieces.map((parts) => bytesOf(parts.join('').replaceAll('\ufeff', '')));
const places = fc.array(fc.nat(2_000), { maxLength: 30 });
const hides = ({ text }: StreamEvent): boolean => text.includes('hidden');

describe('createSseReader', () => {
  it.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('reads events whose lines end with %s', (_, end) => {
    const { events } = readAll([['data: {"a":1}', '', 'event: done', 'data: [DONE]', '', ''].join(end)]);

    expect(events).toEqual([
      { event: undefined, data: { a: 1 }, text: '{"a":1}' },
      { event: 'done', data: undefined, text: '[DONE]' },
    ]);
  });

  it('joins several data lines, takes one space off each, and skips comments and other fields', () => {
    const { events } = readAll(['id: 1\ndata: [1,\n: a comment\ndata:2,\ndata:  3]\nretry: 5\n\n']);

    expect(events).toEqual([{ event: undefined, data: [1, 2, 3], text: '[1,\n2,\n 3]' }]);
  });

  it('tells no event without data, and one with an empty data line', () => {
    const { events } = readAll(['event: ping\n\n\n\n: hello\n\ndata\n\n']);

    expect(events).toEqual([{ event: undefined, data: undefined, text: '' }]);
  });

  it('does not let the type of one event reach the next', () => {
    const { events } = readAll(['event: a\ndata: 1\n\ndata: 2\n\nevent\ndata: 3\n\n']);

    expect(events.map(({ event }) => event)).toEqual(['a', undefined, undefined]);
  });

  it('tells an event at its blank line and not before', () => {
    const events: StreamEvent[] = [];
    const reader = createSseReader((event) => events.push(event));

    reader.push('data: 1\n');
    const before = events.length;
    reader.push('\n');

    expect([before, events.length]).toEqual([0, 1]);
  });

  it('tells an event at the CR of its blank line, and takes the LF of the next chunk as part of it', () => {
    const events: StreamEvent[] = [];
    const reader = createSseReader((event) => events.push(event));

    reader.push('data: 1\r\n\r');
    const before = events.length;
    reader.push('\ndata: 2\r\n\r\n');

    expect([before, ...texts(events)]).toEqual([1, '1', '2']);
  });

  it.each([
    ['without a blank line', 'data: 1\n\ndata: 2\n'],
    ['in the middle of its line', 'data: 1\n\ndata: 2'],
  ])('tells a last event that ends %s when the stream is flushed', (_, text) => {
    expect(texts(readAll([text]).events)).toEqual(['1', '2']);
  });

  it('takes a byte order mark off the beginning of the stream and nowhere else', () => {
    expect(texts(readAll(['\ufeffdata: 1\n\ndata: 2\n\n\ufeffdata: 3\n\n']).events)).toEqual(['1', '2']);
  });

  it('reads characters that are cut between chunks of bytes, and between strings', () => {
    const bytes = bytesOf('data: 你😀\n\n');
    const text = 'data: 你😀\n\n';

    expect(texts(readAll([...bytes].map((byte) => Uint8Array.of(byte))).events)).toEqual(['你😀']);
    expect(texts(readAll(text.split('')).events)).toEqual(['你😀']);
  });

  it('begins anew after a flush', () => {
    const events: StreamEvent[] = [];
    const reader = createSseReader((event) => events.push(event));

    reader.push('event: a\ndata: 1');
    reader.flush();
    reader.push('data: 2\n\n');
    reader.flush();

    expect(events.map(({ event, text }) => [event, text])).toEqual([
      ['a', '1'],
      [undefined, '2'],
    ]);
  });

  it('drops and counts events longer than the bound, whatever the chunks, and goes on with the next', () => {
    const long = `data: ${'x'.repeat(93)}\n\n`;
    const fits = `data: ${'y'.repeat(92)}\n\n`;
    const bytes = bytesOf(`${fits}${long}data: z\n\n${long}: ${'c'.repeat(500)}\n\n${fits}`);

    for (const size of [1, 7, 50, 100, 101, 10_000]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.slice(i * size, (i + 1) * size));
      const { events, dropped } = readAll(chunks, { maxEventBytes: 100 });

      expect([dropped, ...events.map(({ text }) => text[0])]).toEqual([2, 'y', 'z', 'y']);
    }
  });

  it('gives the same events for any chunks, of bytes or of strings', () => {
    fc.assert(
      fc.property(stream, places, fc.integer({ min: 10, max: 200 }), (bytes, cuts, maxEventBytes) => {
        const options = { maxEventBytes };
        const whole = readAll([bytes], options);
        const text = Buffer.from(bytes).toString('utf8');

        expect(readAll(cutAt(bytes, cuts), options)).toEqual(whole);
        expect(readAll(cutText(text, cuts), options)).toEqual(whole);
      }),
    );
  });

  it('takes time in proportion to the bytes, in however many chunks they come', () => {
    const line = bytesOf('data: {"choices":[{"delta":{"content":"word"}}]}\n\n');
    const oneEvent = bytesOf(`data: "${'x'.repeat(400_000)}"\n\n`);

    const many = timed(() => readAll(Array.from({ length: 20_000 }, () => line)));
    const single = timed(() => readAll([...oneEvent].map((byte) => Uint8Array.of(byte))));

    expect(many.result.events).toHaveLength(20_000);
    expect(single.result.events).toHaveLength(1);
    // Copying the beginning again for each chunk would take minutes.
    expect(Math.max(many.ms, single.ms)).toBeLessThan(2_000);
  });
});

describe('createEventFilter', () => {
  it('takes hidden events out with their blank lines and passes every other byte', () => {
    const kept = ['\ufeff: hello\r\n\r\n', 'id: 1\ndata:  a\n\n\n', 'event: x\r\n\r\n', 'data: [DONE]\r\r'];
    const hidden = ['data: hidden\n\n', 'event: y\r\ndata: hidden\r\n\r\n', 'data: hidden\r\r'];
    const bytes = bytesOf(`${kept[0]}${hidden[0]}${kept[1]}${hidden[1]}${hidden[2]}${kept[2]}${kept[3]}`);

    expect(Buffer.from(filterAll([bytes], hides)).toString('utf8')).toBe(kept.join(''));
  });

  it('holds back an event that is not complete yet, and nothing else', () => {
    const filter = createEventFilter(hides);
    const passed = (text: string): string => Buffer.concat(filter.push(bytesOf(text))).toString();

    expect(passed('data: 1\n\ndata: 2')).toBe('data: 1\n\n');
    expect(passed('\n')).toBe('');
    expect(passed('\n: keep-al')).toBe('data: 2\n\n: keep-al');
    expect(passed('ive\n')).toBe('ive\n');
    expect(passed('\n')).toBe('\n');
    expect(passed('data: hid')).toBe('');
    expect(passed('den\n\r\n\n')).toBe('\n');
  });

  it('passes what is left when the stream ends, and hides a hidden event that lacks its blank line', () => {
    const left = (text: string): string => Buffer.from(filterAll([bytesOf(text)], hides)).toString();

    expect(left('data: 1\n\ndata: {"cut')).toBe('data: 1\n\ndata: {"cut');
    expect(left('data: 1\n\ndata: hidden')).toBe('data: 1\n\n');
  });

  it('passes an event longer than the bound at once, without looking at it', () => {
    const filter = createEventFilter(() => true, { maxEventBytes: 20 });
    const long = `data: ${'x'.repeat(60)}`;

    const first = Buffer.concat(filter.push(bytesOf(long))).toString();
    const second = Buffer.concat(filter.push(bytesOf('more\n\ndata: 1\n\n'))).toString();

    expect([first, second]).toEqual([long, 'more\n\n']);
  });

  it('does not change bytes that it held when their chunk is reused', () => {
    const filter = createEventFilter(hides);
    const chunk = bytesOf('data: abc');

    filter.push(chunk);
    chunk.fill(0);

    expect(Buffer.concat(filter.push(bytesOf('\n\n'))).toString()).toBe('data: abc\n\n');
  });

  it('passes all bytes in order for any chunks when nothing is hidden', () => {
    fc.assert(
      fc.property(stream, places, fc.integer({ min: 10, max: 200 }), (bytes, cuts, maxEventBytes) => {
        expect(hex(filterAll(cutAt(bytes, cuts), () => false, { maxEventBytes }))).toBe(hex(bytes));
      }),
    );
  });

  it('passes the same bytes for any chunks when events are hidden, and none of those events', () => {
    fc.assert(
      fc.property(unmarkedStream, places, (bytes, cuts) => {
        const whole = filterAll([bytes], hides);

        expect(hex(filterAll(cutAt(bytes, cuts), hides))).toBe(hex(whole));
        expect(texts(readAll([whole]).events)).toEqual(texts(readAll([bytes]).events.filter((event) => !hides(event))));
      }),
    );
  });
});

function cutText(text: string, cuts: readonly number[]): string[] {
  const at = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((cut, index) => text.slice(cut, [...at, text.length][index]));
}

function timed<T>(run: () => T): { result: T; ms: number } {
  const startMs = performance.now();
  const result = run();
  return { result, ms: performance.now() - startMs };
}
