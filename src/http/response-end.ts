import type { ServerResponse } from 'node:http';
import type { Ending } from '../call.js';
import type { Clock } from '../clock.js';

export interface EndFacts {
  readonly clock: Clock;
  /** A client that takes nothing for so long, while there is something to take, is treated as gone, in ms. */
  readonly stallMs: number;
  /** Has something looked at now and then. @returns a function that ends it */
  watch(watcher: () => void): () => void;
}

/**
 * Tells once how a response came to its end: by its events, or, when somebody took the listeners off or there are none (a
 * pipelined response whose turn never came), by looking. A client that stops reading is cut off.
 */
export function watchEnd(response: ServerResponse, { clock, stallMs, watch }: EndFacts, onEnd: (by: Ending['by']) => void): void {
  let isEnded = false;
  let taken = '';
  let takenMs = clock.now();

  function end(by: Ending['by']): void {
    if (isEnded) return;
    isEnded = true;
    unwatch();
    onEnd(by);
  }
  const onClose = () => end(response.writableEnded ? 'done' : 'left');

  // Inner mounts end first: what they give back, the mounts around them may give back too.
  response.prependOnceListener('finish', onClose);
  response.prependOnceListener('close', onClose);
  const unwatch = watch(() => {
    if (response.destroyed || response.closed || response.writableFinished || response.req?.socket?.destroyed) return onClose();
    const now = progressOf(response);
    if (now === undefined || now !== taken) {
      taken = now ?? '';
      takenMs = clock.now();
    } else if (clock.now() - takenMs >= stallMs) {
      end('stalled');
      response.destroy();
    }
  });
}

/**
 * What tells that a client still takes bytes, as long as it stays the same it took none; `undefined` while there is nothing to
 * take. `bytesWritten` grows with what is only buffered, and one large chunk counts as written at once: the handle knows more.
 */
function progressOf({ socket }: ServerResponse): string | undefined {
  if (!socket || socket.writableLength === 0) return undefined;
  const { writeQueueSize = 0 } = (socket as { _handle?: { writeQueueSize?: number } })._handle ?? {};
  return `${socket.bytesWritten - socket.writableLength} ${writeQueueSize}`;
}
