import type { Answer, Call, Refusal, Reservation } from '../call.js';
import type { CompleteAnswer } from '../dialects/dialect.js';

/** How long, and among how many, a call may wait. */
export interface WaitBounds {
  /** Longest wait of one visit, all its runs together, in milliseconds. */
  readonly waitMs: number;
  /** Most waiters of this process. */
  readonly maxRequests: number;
  /** Most tokens that all waiters together ask for. */
  readonly maxTokens: number;
}

/** One walk down the ladder, after one refusal. */
export interface Walk {
  readonly call: Call;
  /** The refusal that began the walk; a step that was refused again finds the newest one here. */
  readonly refusal: Refusal;
  /** Fires when the caller has left. */
  readonly signal: AbortSignal;
  /**
   * Enters admission again, for this call or a changed copy, at its own price. A refusal changes nothing. What the step was
   * admitted for and does not return goes back when its turn is over.
   */
  admit(call: Call): Promise<Reservation | Refusal>;
  /** Waits in line until the call is admitted; `undefined` when it can't be in time, the line is full or the caller left. */
  wait(bounds: WaitBounds): Promise<Reservation | undefined>;
  /** The declared substitutes of the call's model that were not tried yet, in order. */
  substitutes(call: Call): readonly string[];
  /** The call on another model: its own caps, nothing else changed. */
  onModel(call: Call, model: string): Call;
}

/**
 * One way to answer with less. Steps are tried in the ladder's order, each at most once a walk and only when `canHelp`;
 * the first that returns something ends the walk. A step that throws is reported and passed over.
 */
export interface Step {
  readonly name: string;
  /** The answer is meant for a person: tried only by the outermost run that has a dialect. */
  readonly forPeople?: boolean;
  /** Whether this step could change one of the full budgets. */
  canHelp(refusal: Refusal, call: Call): boolean;
  /** An admission for a changed call, an answer, or `undefined`: the next step's turn. */
  attempt(walk: Walk): Promise<Reservation | Answer | undefined>;
  /** Hears every complete answer of an undegraded call: what a cache keeps. Nobody waits for it. */
  learn?(call: Call, answer: CompleteAnswer): void | Promise<void>;
  /** Longest answer worth collecting for {@link Step.learn}, in bytes. */
  readonly learnBytes?: number;
}

/** Whether what a step returned is room for a call, and not an answer. */
export function isReservation(result: Reservation | Answer | Refusal): result is Reservation {
  return 'charges' in result;
}

/** Whether what a step returned is an answer. */
export function isAnswer(result: Reservation | Answer): result is Answer {
  return 'kind' in result;
}
