import type { Answer, Call, Refusal, Reservation } from '../call.js';
import { SpillwayError } from '../errors.js';
import { isReservation, type Step, type Walk } from './step.js';

/** Why a step gave nothing. */
export type SkipReason = 'cannot-help' | 'for-people' | 'no-help' | 'failed';

export interface Descent {
  readonly steps: readonly Step[];
  readonly walk: Walk;
  readonly call: Call;
  /** Whether answers meant for people may be given here. */
  readonly isForPeople: boolean;
  onSkip(step: Step, why: SkipReason, error?: unknown): void;
  /** Hears what each step that was tried came to, before the next one is. */
  onTurn?(found: Reservation | Answer | undefined): Promise<void>;
}

/** Walks the ladder once: the first step that gives something ends it; `undefined`: shed. */
export async function descend(descent: Descent): Promise<Reservation | Answer | undefined> {
  const { steps, walk, isForPeople, onSkip, onTurn } = descent;
  for (const step of steps) {
    if (walk.signal.aborted) return undefined;
    if (step.forPeople && !isForPeople) {
      onSkip(step, 'for-people');
      continue;
    }
    const found = await take(step, descent);
    await onTurn?.(found);
    if (found) return found;
  }
  return undefined;
}

async function take(step: Step, { walk, call, onSkip }: Descent): Promise<Reservation | Answer | undefined> {
  try {
    if (!step.canHelp(walk.refusal, call)) {
      onSkip(step, 'cannot-help');
      return undefined;
    }
    const found = await step.attempt(walk);
    if (!found) onSkip(step, 'no-help');
    else if (!isReservation(found) && (typeof found.text !== 'string' || typeof found.model !== 'string'))
      throw new SpillwayError('SPILLWAY_BAD_OPTIONS', `the step ${step.name} gave an answer without text or model; return both`);
    return found;
  } catch (error) {
    onSkip(step, 'failed', error);
    return undefined;
  }
}

/** A walk that may look for answers, but admits nobody: the last resort for a handler whose call was refused. */
export function answersOnly(call: Call, refusal: Refusal, signal: AbortSignal): Walk {
  return {
    call,
    refusal,
    signal,
    admit: async () => refusal,
    wait: async () => undefined,
    substitutes: () => [],
    onModel: (given) => given,
  };
}
