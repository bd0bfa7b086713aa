import type { Ending, Sent } from '../call.js';
import type { Clock } from '../clock.js';
import type { AnswerFindings, AnswerReader } from '../dialects/answer-reader.js';

/** What is done with the bytes of a provider's answer on their way to the caller. */
export interface StreamTapFacts {
  readonly reader: AnswerReader;
  /** Takes events out that the caller did not ask for. */
  readonly filter: { push(bytes: Uint8Array): readonly Uint8Array[]; flush(): readonly Uint8Array[] } | undefined;
  readonly clock: Clock;
  /** A caller that takes nothing for so long is treated as gone, in ms. */
  readonly stallMs: number;
  /** Fires when the caller has left. */
  readonly signal: AbortSignal;
  /** Ends the upstream request. */
  abort(): void;
  watch(watcher: () => void): () => void;
  onFindings(findings: AnswerFindings): void;
}

/** The same response, watched: its bytes pass untouched and unbuffered, and `ended` tells how they came to their end. */
export function tapStream(response: Response, facts: StreamTapFacts): Sent<Response> {
  const source = response.body?.getReader();
  const watched = watchEnd(response.status, facts);
  if (!source) {
    watched.end('done');
    return { value: response, ended: watched.ended };
  }
  const { reader, filter } = facts;

  /** Reads on until there is something to pass, for a hidden event must not look like the end of the stream. */
  async function pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    for (;;) {
      const { done, value } = await watched.reading(() => (source as ReadableStreamDefaultReader<Uint8Array>).read());
      if (!done) reader.push(value);
      const passed = done ? (filter?.flush() ?? []) : filter ? filter.push(value) : [value];
      for (const bytes of passed) controller.enqueue(bytes);
      if (done) {
        watched.end('done');
        controller.close();
      }
      if (done || passed.length > 0) return;
    }
  }
  async function cancel(reason: unknown): Promise<void> {
    watched.end('left');
    facts.abort();
    await source?.cancel(reason).catch(() => {});
  }

  const headers = new Headers(response.headers);
  if (filter) headers.delete('content-length');
  const { status, statusText, url, redirected } = response;
  const value = new Response(new ReadableStream({ pull, cancel }, { highWaterMark: 0 }), { status, statusText, headers });
  Object.defineProperties(value, { url: { value: url }, redirected: { value: redirected } });
  return { value, ended: watched.ended };
}

/** Makes sure that an answer ends exactly once: read to its end, failed, left, or never taken. */
function watchEnd(status: number, { reader, clock, stallMs, signal, abort, watch, onFindings }: StreamTapFacts) {
  let resolveEnded: (ending: Ending) => void = () => {};
  const ended = new Promise<Ending>((resolve) => {
    resolveEnded = resolve;
  });
  let isEnded = false;
  let isReading = false;
  let takenMs = clock.now();

  function end(by: Ending['by']): void {
    if (isEnded) return;
    isEnded = true;
    unwatch();
    signal.removeEventListener('abort', onAbort);
    const findings = reader.findings(by === 'done');
    if (by === 'done') onFindings(findings);
    resolveEnded({ by, status, usage: findings.usage, sentOutputTokens: findings.outputTokens });
  }
  const onAbort = () => end('left');
  signal.addEventListener('abort', onAbort, { once: true });
  const unwatch = watch(() => {
    if (isReading || clock.now() - takenMs < stallMs) return;
    end('stalled');
    abort();
  });

  async function reading<T>(read: () => Promise<T>): Promise<T> {
    isReading = true;
    try {
      return await read();
    } catch (error) {
      end(signal.aborted ? 'left' : 'failed');
      throw error;
    } finally {
      isReading = false;
      takenMs = clock.now();
    }
  }
  return { ended, end, reading };
}
