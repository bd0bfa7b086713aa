/** What the bytes of a stream are cut into; every byte is handed to exactly one of these, in order. */
export interface StretchSink {
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
export function createStretches(maxEventBytes: number, sink: StretchSink) {
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
