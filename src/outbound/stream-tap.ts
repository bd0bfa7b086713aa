import type { Ending, Sent } from '../call.js';
import type { Clock } from '../clock.js';
import type { AnswerFindings, AnswerReader } from '../dialects/answer-reader.js';
import { SpillwayError } from '../errors.js';
import type { Leaving } from './leaving.js';

/** What is done with the bytes of a provider's answer on their way to the caller. */
export interface StreamTapFacts {
  readonly reader: AnswerReader;
  /** Takes events out that the caller did not ask for. */
  readonly filter: { push(bytes: Uint8Array): readonly Uint8Array[]; flush(): readonly Uint8Array[] } | undefined;
  readonly clock: Clock;
  /** A caller that takes nothing for so long is treated as gone, in ms. */
  stallMs(): number;
  /** Fires when the caller has left, and ends the upstream request; released when the body has come to its end. */
  readonly leaving: Leaving;
  watch(watcher: () => void): () => void;
  onFindings(findings: AnswerFindings): void;
}

/** The same response, watched: its bytes pass untouched and unbuffered, and `ended` tells how they came to their end. */
export function tapStream(response: Response, facts: StreamTapFacts): Sent<Response> {
  const source = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined;
  const watched = watchEnd(response, facts);
  if (!source) {
    watched.end('done');
    return { value: response, ended: watched.ended };
  }
  const { reader, filter } = facts;
  const read = () => source.read();

  /** Reads on until there is something to pass, for a hidden event must not look like the end of the stream. */
  async function pull(controller: ReadableByteStreamController): Promise<void> {
    for (;;) {
      const { done, value } = await watched.reading(read);
      if (!done) reader.push(value);
      const passed = done ? (filter?.flush() ?? []) : filter ? filter.push(value) : [value];
      // A stream takes over the memory of what it is given, and several pieces may share it.
      for (const bytes of passed) controller.enqueue(new Uint8Array(bytes));
      if (done) {
        watched.end('done');
        controller.close();
        controller.byobRequest?.respond(0);
      }
      if (done || passed.length > 0) return;
    }
  }
  /** An answer that has arrived whole and lies unread knows nothing of an abort: its reader must hear of it all the same. */
  function start(controller: ReadableByteStreamController): void {
    const { signal } = facts.leaving;
    signal.addEventListener('abort', () => controller.error(signal.reason), { once: true });
  }
  async function cancel(reason: unknown): Promise<void> {
    watched.end('left');
    await source?.cancel(reason).catch(() => {});
  }

  const headers = new Headers(response.headers);
  if (filter) headers.delete('content-length');
  return { value: withBody(response, headers, new ReadableStream({ type: 'bytes', start, pull, cancel })), ended: watched.ended };
}

/** The same response with another body. */
function withBody(response: Response, headers: Headers, body: ReadableStream): Response {
  const { status, statusText } = response;
  const isPlain = status >= 200 && status <= 599;
  const value = new Response(body, { status: isPlain ? status : 200, statusText, headers });
  return likened(value, response, isPlain ? ['url', 'redirected', 'type'] : ['url', 'redirected', 'type', 'status', 'ok']);
}

/** What a constructor cannot be told is taken over, and handed on to clones. */
function likened(value: Response, model: Response, names: readonly (keyof Response)[]): Response {
  for (const name of names) Object.defineProperty(value, name, { value: model[name] });
  Object.defineProperty(value, 'clone', { value: () => likened(Response.prototype.clone.call(value), model, names) });
  return value;
}

/** Makes sure that an answer is told of exactly once: read to its end, failed, left, or never taken. */
function watchEnd(response: Response, { reader, clock, stallMs, leaving, watch, onFindings }: StreamTapFacts) {
  const { signal } = leaving;
  let resolveEnded: (ending: Ending) => void = () => {};
  const ended = new Promise<Ending>((resolve) => {
    resolveEnded = resolve;
  });
  let isTold = false;
  let isReading = false;
  let takenMs = clock.now();
  let unwatch: () => void = () => {};

  function tell(by: Ending['by']): void {
    if (isTold) return;
    isTold = true;
    const findings = reader.findings(by === 'done');
    if (by === 'done') onFindings(findings);
    resolveEnded({ by, status: response.status, usage: findings.usage, sentOutputTokens: findings.outputTokens });
  }
  function end(by: Ending['by']): void {
    unwatch();
    signal.removeEventListener('abort', onAbort);
    leaving.release();
    tell(by);
  }
  const onAbort = () => end('left');

  // An error is told with its head: nothing was produced, and whether anybody reads its body changes nothing.
  if (!response.ok) tell('done');
  if (signal.aborted) end('left');
  else {
    signal.addEventListener('abort', onAbort, { once: true });
    unwatch = watch(() => {
      if (isReading || clock.now() - takenMs < stallMs()) return;
      end('stalled');
      const mend = 'read on sooner, or raise stallMs';
      const message = `an answer of which nothing was read for ${stallMs()} ms was given up; ${mend}`;
      leaving.abort(new SpillwayError('SPILLWAY_STALLED', message));
    });
  }

  async function reading<T>(read: () => Promise<T>): Promise<T> {
    isReading = true;
    try {
      return await read();
    } catch (error) {
      end('failed');
      throw error;
    } finally {
      isReading = false;
      takenMs = clock.now();
    }
  }
  return { ended, end, reading };
}
