import type { StreamEvent } from './dialect.js';

/** Reads events from the bytes of a stream, however they are cut into chunks. */
export interface SseReader {
  /** A string may follow another or bytes; a surrogate pair may be cut between two strings. */
  push(chunk: Uint8Array | string): void;
  /** The stream has ended: tells of a last event that has no blank line after it. */
  flush(): void;
  /** Events that were longer than the bound, and not told. */
  readonly dropped: number;
}

/** Takes events out of a stream and passes everything else on, byte for byte. */
export interface EventFilter {
  /** What may be passed on now: everything but an event that is not complete yet. */
  push(chunk: Uint8Array): Uint8Array[];
  /** The stream has ended: what was held back. */
  flush(): Uint8Array[];
}

export interface SseOptions {
  /** Longest event that is kept to be looked at, in bytes. @defaultValue 1_048_576 */
  readonly maxEventBytes?: number;
}

const MAX_EVENT_BYTES = 1_048_576;

/**
 * Reads server-sent events (HTML standard, section 9.2): lines end with LF, CRLF or CR, comments are skipped, several `data`
 * lines are joined. Time is linear in the bytes and memory bounded by one event.
 */
export function createSseReader(onEvent: (event: StreamEvent) => void, options: SseOptions = {}): SseReader {
  const encoder = new TextEncoder();
  let dropped = 0;
  /** First half of a surrogate pair whose second half may come with the next string. */
  let half = '';
  const stretches = createStretches(options.maxEventBytes ?? MAX_EVENT_BYTES, {
    event(bytes, isFirst) {
      const event = parseEvent(bytes, isFirst);
      if (event) onEvent(event);
    },
    between() {},
    tooLong(_, isStart) {
      if (isStart) dropped++;
    },
  });

  function pushText(text: string): void {
    const whole = half + text;
    const last = whole.charCodeAt(whole.length - 1);
    const cut = last >= 0xd800 && last < 0xdc00 ? whole.length - 1 : whole.length;
    half = whole.slice(cut);
    stretches.push(encoder.encode(whole.slice(0, cut)));
  }
  function pushHalf(): void {
    if (half !== '') stretches.push(encoder.encode(half));
    half = '';
  }

  return {
    push(chunk) {
      if (typeof chunk === 'string') return pushText(chunk);
      pushHalf();
      stretches.push(chunk);
    },
    flush() {
      pushHalf();
      stretches.flush();
    },
    get dropped() {
      return dropped;
    },
  };
}

/**
 * Hides events from whoever reads a stream: a hidden event goes with its blank line. An event that is longer than the bound is passed
 * on unseen.
 */
export function createEventFilter(isHidden: (event: StreamEvent) => boolean, options: SseOptions = {}): EventFilter {
  let passed: Uint8Array[] = [];
  let wasHidden = false;
  const pass = (bytes: Uint8Array): void => {
    wasHidden = false;
    join(passed, bytes);
  };
  const stretches = createStretches(options.maxEventBytes ?? MAX_EVENT_BYTES, {
    event(bytes, isFirst) {
      const event = parseEvent(bytes, isFirst);
      if (event && isHidden(event)) wasHidden = true;
      else pass(bytes);
    },
    between(bytes, belongsToEvent) {
      if (!(belongsToEvent && wasHidden)) pass(bytes);
    },
    tooLong: pass,
  });
  function take(): Uint8Array[] {
    const taken = passed;
    passed = [];
    return taken;
  }

  return {
    push(chunk) {
      stretches.push(chunk);
      return take();
    },
    flush() {
      stretches.flush();
      return take();
    },
  };
}

/** Adds bytes to a list, to its last member when they go on where that one ends. */
function join(list: Uint8Array[], bytes: Uint8Array): void {
  const last = list[list.length - 1];
  if (last && last.buffer === bytes.buffer && last.byteOffset + last.length === bytes.byteOffset)
    list[list.length - 1] = new Uint8Array(last.buffer as ArrayBuffer, last.byteOffset, last.length + bytes.length);
  else if (bytes.length > 0) list.push(bytes);
}

/** What the bytes of a stream are cut into; every byte is handed to exactly one of these, in order. */
interface StretchSink {
  /** A whole event with its blank line; at the end of the stream without it. `isFirst`: the stream begins with it. */
  event(bytes: Uint8Array, isFirst: boolean): void;
  /** Comments and blank lines between events, or, `belongsToEvent`, the LF of an event whose blank line came as CRLF. */
  between(bytes: Uint8Array, belongsToEvent: boolean): void;
  /** A stretch of an event that is longer than the bound. `isStart`: the event's first one. */
  tooLong(bytes: Uint8Array, isStart: boolean): void;
}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;

/** Cuts bytes where events begin and end: the one place that knows how lines end. Events that span chunks are copied together. */
function createStretches(maxEventBytes: number, sink: StretchSink) {
  const held = createHeld();
  /** Bytes of the line so far, and whether it is a comment. */
  let lineLength = 0;
  let isComment = false;
  /** Of the event so far: whether it has a line that is no comment, is longer than the bound, is the first of the stream. */
  let hasField = false;
  let isLong = false;
  let isFirst = true;
  /** The last byte was a CR, which an LF may still belong to: of a line in the event, or of what was handed over with it. */
  let afterCr: 'no' | 'line' | 'event' | 'between' = 'no';

  function hand(bytes: Uint8Array): void {
    if (isLong) sink.tooLong(bytes, false);
    else if (!hasField) sink.between(bytes, false);
    else if (held.length + bytes.length > maxEventBytes) sink.tooLong(held.with(bytes), true);
    else sink.event(held.with(bytes), isFirst);
    isFirst = false;
    hasField = false;
    isLong = false;
  }

  /** @returns where the next stretch begins: after the line's end when it ends one, else where this one does */
  function endLine(chunk: Uint8Array, start: number, at: number, isCr: boolean): number {
    const isBlank = lineLength === 0;
    const endsStretch = hasField ? isBlank : isBlank || isComment;
    if (!isBlank && !isComment) hasField = true;
    lineLength = 0;
    isComment = false;
    afterCr = isCr ? (endsStretch ? (hasField ? 'event' : 'between') : 'line') : 'no';
    if (!endsStretch) return start;
    hand(chunk.subarray(start, at + 1));
    return at + 1;
  }

  function push(chunk: Uint8Array): void {
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (byte === LF && afterCr !== 'no') {
        if (afterCr !== 'line') {
          sink.between(chunk.subarray(at, at + 1), afterCr === 'event');
          start = at + 1;
        }
        afterCr = 'no';
      } else if (byte === LF || byte === CR) {
        start = endLine(chunk, start, at, byte === CR);
      } else {
        if (lineLength++ === 0) isComment = byte === COLON;
        afterCr = 'no';
      }
    }
    keep(chunk.subarray(start));
  }

  function keep(rest: Uint8Array): void {
    if (rest.length === 0) return;
    // A comment is no part of an event: nothing of it need wait.
    if (isComment && !hasField) sink.between(rest, false);
    else if (isLong) sink.tooLong(rest, false);
    else if (held.length + rest.length <= maxEventBytes) held.add(rest);
    else {
      isLong = true;
      sink.tooLong(held.with(rest), true);
    }
  }

  function flush(): void {
    if (lineLength > 0 && !isComment) hasField = true;
    if (held.length > 0) hand(new Uint8Array(0));
    lineLength = 0;
    isComment = false;
    hasField = false;
    isLong = false;
    isFirst = true;
    afterCr = 'no';
  }

  return { push, flush };
}

/** Bytes that wait for the rest of their event, in a buffer that doubles: each byte is copied a bounded number of times. */
function createHeld() {
  let buffer = new Uint8Array(0);
  let length = 0;

  return {
    get length() {
      return length;
    },
    add(bytes: Uint8Array): void {
      if (length + bytes.length > buffer.length) {
        const grown = new Uint8Array(Math.max(1_024, (length + bytes.length) * 2));
        grown.set(buffer.subarray(0, length));
        buffer = grown;
      }
      buffer.set(bytes, length);
      length += bytes.length;
    },
    /** Everything held and these bytes after it; then nothing is held. */
    with(bytes: Uint8Array): Uint8Array {
      if (length === 0) return bytes;
      const whole = new Uint8Array(length + bytes.length);
      whole.set(buffer.subarray(0, length));
      whole.set(bytes, length);
      buffer = new Uint8Array(0);
      length = 0;
      return whole;
    },
  };
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const BYTE_ORDER_MARK = '\ufeff';

/** The event that lines tell; `undefined` when they have no data, for such an event is not dispatched. */
function parseEvent(bytes: Uint8Array, isFirst: boolean): StreamEvent | undefined {
  const whole = decoder.decode(bytes);
  const text = isFirst && whole.startsWith(BYTE_ORDER_MARK) ? whole.slice(1) : whole;
  const data: string[] = [];
  let event: string | undefined;
  for (const line of text.split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') data.push(value);
    else if (field === 'event') event = value || undefined;
  }
  if (data.length === 0) return undefined;
  const joined = data.join('\n');
  return { event, data: parseJson(joined), text: joined };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
