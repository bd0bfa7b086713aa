import { checkOptions, checkWholeNumber } from './check.js';
import type { Step } from './step.js';

/** Options of {@link queue}. */
export interface QueueOptions {
  /** Longest wait of one request, all its calls together, in milliseconds. */
  readonly waitMs: number;
  /** Most waiters in this process. @defaultValue 200 */
  readonly maxRequests?: number;
  /** Most tokens that all waiters together ask for. @defaultValue 1_000_000 */
  readonly maxTokens?: number;
}

/**
 * A short wait for room. Passes on at once when room can't come in time; a waiter that leaves costs nothing. A minute that
 * was filled by one burst frees nothing for a minute, so a short queue mostly serves refunds and freed concurrency.
 * @throws {@link SpillwayError} when a bound is not a whole number above 0
 */
export function queue(options: QueueOptions): Step {
  checkOptions('queue', options, ['waitMs', 'maxRequests', 'maxTokens']);
  const bounds = {
    waitMs: checkWholeNumber('queue', 'waitMs', options.waitMs),
    maxRequests: checkWholeNumber('queue', 'maxRequests', options.maxRequests ?? 200),
    maxTokens: checkWholeNumber('queue', 'maxTokens', options.maxTokens ?? 1_000_000),
  };
  return {
    name: 'queue',
    canHelp: (refusal) => refusal.reason === 'full',
    attempt: (walk) => walk.wait(bounds),
  };
}
