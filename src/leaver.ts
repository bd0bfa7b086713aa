import { setMaxListeners } from 'node:events';

/** Somebody who may leave while a run is under way: a client, or the caller of a fetch. */
export interface Leaver {
  readonly hasLeft: boolean;
  /** Fires when they leave. */
  readonly signal: AbortSignal;
}

/** A client whose leaving is noticed by us. Its signal is made for whoever asks for one: most requests never do. */
export class Client implements Leaver {
  hasLeft = false;
  #controller: AbortController | undefined;

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      manyMayListen(this.#controller.signal);
      if (this.hasLeft) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  leave(): void {
    this.hasLeft = true;
    this.#controller?.abort();
  }
}

/** Whoever a signal speaks for. */
export function leaverBy(signal: AbortSignal): Leaver {
  manyMayListen(signal);
  return {
    signal,
    get hasLeft() {
      return signal.aborted;
    },
  };
}

/** Visits that nobody can leave. */
export const NOBODY: Leaver = leaverBy(new AbortController().signal);

/** Any number of calls may be under way for one visit: that is no leak, of which Node would warn from the eleventh on. */
function manyMayListen(signal: AbortSignal): void {
  setMaxListeners(0, signal);
}
