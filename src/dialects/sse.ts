import type { StreamEvent } from './dialect.js';
import { createStretches } from './sse-stretches.js';

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
 * Hides events from whoever reads a stream: a hidden event goes with its blank line. An event that is longer than the bound
 * is passed on unseen.
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
