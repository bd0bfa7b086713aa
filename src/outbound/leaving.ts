import { setMaxListeners } from 'node:events';

/** A signal of one call, which fires with each of the signals it follows. */
export interface Leaving {
  readonly signal: AbortSignal;
  follow(signal: AbortSignal | undefined): void;
  abort(reason?: unknown): void;
  /** Lets go of everything that is followed. */
  release(): void;
}

/**
 * Joins signals for as long as a call takes. `AbortSignal.any` would not do: a signal that lives as long as the process would
 * remember every call that was ever joined to it, and it does not take signals of other libraries.
 */
export function createLeaving(): Leaving {
  const controller = new AbortController();
  const releases: (() => void)[] = [];

  return {
    signal: controller.signal,
    follow(signal) {
      if (!signal) return;
      const onAbort = () => controller.abort(signal.reason);
      if (signal.aborted) return onAbort();
      // Many calls at a time on one signal are no leak that Node should warn of.
      if (signal instanceof EventTarget) setMaxListeners(Number.POSITIVE_INFINITY, signal);
      signal.addEventListener('abort', onAbort);
      releases.push(() => signal.removeEventListener('abort', onAbort));
    },
    abort: (reason) => controller.abort(reason),
    release() {
      for (const release of releases.splice(0)) release();
    },
  };
}
