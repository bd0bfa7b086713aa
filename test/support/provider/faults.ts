import type { Reply, Trouble } from './shape.js';

/**
 * What can go wrong with one call:
 * - `429`, `500`: an error although there is room; a 500 comes after the input was charged, a 429 before.
 * - `hang`: the call is accepted and never answered.
 * - `reset`: the connection ends in the middle of the body.
 * - `garbage-usage`, `no-usage`: usage is nonsense, or missing even where it was asked for.
 * - `slow`: the first token takes `slowMs` longer.
 */
export const FAULTS = ['429', '500', 'hang', 'reset', 'garbage-usage', 'no-usage', 'slow'] as const;
export type Fault = (typeof FAULTS)[number];

/** Shares of all calls, 0 to 1, that a fault befalls by chance. */
export interface FaultRatios {
  readonly spurious429?: number;
  readonly error500?: number;
  readonly resetMidBody?: number;
  readonly hang?: number;
}

/** What befalls one of the next calls: a fault, nothing (`none`), or this very answer, before anything is charged. */
export type ScriptEntry = Fault | 'none' | Reply;

const BY_CHANCE = { spurious429: '429', error500: '500', resetMidBody: 'reset', hang: 'hang' } as const;
const SPURIOUS_WAIT_MS = 100;

export function isFault(value: unknown): value is Fault {
  return FAULTS.includes(value as Fault);
}

/** Draws the fault of a call; at most one, and no draw at all when no ratio is set. */
export function faultByChance(ratios: FaultRatios, random: () => number): Fault | undefined {
  const entries = Object.entries(ratios).filter(([, ratio]) => ratio > 0);
  let rest = entries.length > 0 ? random() : 1;
  for (const [name, ratio] of entries) {
    if (rest < ratio) return BY_CHANCE[name as keyof FaultRatios];
    rest -= ratio;
  }
  return undefined;
}

export function spurious429(model: string): Trouble {
  const message = `Rate limit reached for ${model}: the service is busy.`;
  return { status: 429, message, type: 'requests', code: 'rate_limit_exceeded', waitMs: SPURIOUS_WAIT_MS };
}

export const ERROR_500: Trouble = {
  status: 500,
  message: 'The server had an error while processing the request.',
  type: 'server_error',
};

export function unknownFault(header: string | string[]): Trouble {
  const message = `x-fault must be one of ${FAULTS.join(', ')}, got "${header}".`;
  return { status: 400, message, type: 'invalid_request_error', param: 'x-fault' };
}
