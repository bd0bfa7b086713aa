import type { Budget } from './budget/budget.js';
import type { Dialect, Draft } from './dialects/dialect.js';
import type { Item } from './stores/store.js';
import type { Visit } from './visit.js';

/** A concrete value of a scope: a user's id, an organization's id. Strings must not be empty, numbers must be finite. */
export type Key = string | number | bigint;

/** Who asks: scope name to key, normalised to strings. Plain JSON, so it can travel with a queued job. */
export type Identity = Readonly<Record<string, string>>;

/** Tokens as the provider reported them. `undefined`: not reported. */
export interface Usage {
  /** The whole prompt, cached parts included. */
  readonly inputTokens: number | undefined;
  /** Everything generated, reasoning included. */
  readonly outputTokens: number | undefined;
  readonly cachedInputTokens?: number | undefined;
  readonly cacheWriteTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
  /** The model that the answer names. */
  readonly model?: string | undefined;
}

/** One LLM call as the gate sees it. Frozen: a step that wants another one makes a changed copy. */
export interface Call {
  readonly visit: Visit;
  /** The wire format; `undefined` where no dialect could read the body, and then there is no model either. */
  readonly dialect: Dialect | undefined;
  readonly draft: Draft | undefined;
  /** As the caller gave it; what is sent is made from it by {@link Dialect.rewrite}. */
  readonly body: unknown;
  readonly stream: boolean;
  /** Resolved name of the model asked for; `undefined` when unknown. */
  readonly requestedModel: string | undefined;
  /** Resolved name of the model to be sent. */
  readonly model: string | undefined;
  /** Best estimate of the prompt's tokens. */
  readonly inputTokens: number;
  /** The estimate with its overhead: what is held. */
  readonly heldInputTokens: number;
  /** What the output will probably take, all choices together. */
  readonly expectedOutputTokens: number;
  /** Most that the output can take, all choices together; `undefined` when nothing declares a maximum. */
  readonly maximumOutputTokens: number | undefined;
  /** How many calls the outermost hold is for. */
  readonly callsPerRequest: number;
  /** The estimate before anything learned was put in; left out where nothing is learned. */
  readonly uncorrected?: Uncorrected | undefined;
}

/** An estimate from the body alone, in tokens. */
export interface Uncorrected {
  readonly inputTokens: number;
  /** All choices together. */
  readonly expectedOutputTokens: number;
  /** How sure the input is: `counted`, `guessed` in part, or with images, audio or documents. */
  readonly prompt: 'counted' | 'guessed' | 'media';
}

/** How what was sent came to its end. */
export interface Ending {
  readonly by: 'done' | 'failed' | 'left' | 'stalled';
  /** Status of the answer; 0 when none came. */
  readonly status: number;
  readonly usage?: Usage | undefined;
  /** Output counted from what was sent so far; `undefined` when it could not be watched: the estimate then stands. */
  readonly sentOutputTokens: number | undefined;
}

/** A value, and the promise of how it ends: `ended` resolves exactly once, on every way out, and never rejects. */
export interface Sent<T> {
  readonly value: T;
  readonly ended: Promise<Ending>;
}

/** What lies behind the gate: a handler, a fetch, any function. Gets the admitted call and the body to send. */
export type Send<T> = (admitted: Call, body: unknown) => Sent<T> | Promise<Sent<T>>;

/** An answer that no model gave for this call. */
export interface Answer {
  readonly kind: 'cached' | 'stale' | 'static' | 'deferred';
  /** The model that once gave it; `spillway-static` for a prepared one. */
  readonly model: string;
  readonly text: string;
  /** The whole answer in the dialect's JSON form, when there is one. */
  readonly body?: unknown;
  /** How old the answer is, in milliseconds. */
  readonly ageMs?: number | undefined;
  readonly usage?: Usage | undefined;
}

/** A response as data: whoever holds the socket writes it. Header names in lower case. */
export interface Rendered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** An item of a reservation, and what it is about. */
export interface Charge extends Item {
  readonly scope: string;
  readonly key: string;
  readonly budget: Budget;
  readonly dimension: 'tokens' | 'inputTokens' | 'outputTokens' | 'requests' | 'usd' | 'concurrent';
  /** `call`: counted for each innermost run. `visit`: paid once by the outermost run. */
  readonly per: 'call' | 'visit';
}

/** A charge that did not fit, and how long until it would. */
export interface Shortage {
  readonly charge: Charge;
  /** Milliseconds; `Infinity`: never. 0: unknown, when somebody settles. */
  readonly waitMs: number;
}

/** Why a call may not run now. Lists every full budget, not only the first. */
export interface Refusal {
  /** `full`: no room now. `never-fits`: no room ever. `closed`: the store or the gate is not there. */
  readonly reason: 'full' | 'never-fits' | 'closed';
  readonly full: readonly Shortage[];
  /** Longest of the waits, in milliseconds; what the caller is told is never less. */
  readonly waitMs: number;
}

/** Which status refusals are answered with: one for full budgets, or one for each; `undefined`: the usual one. */
export type RefuseWith = number | ((refusal: Refusal) => number | undefined);

/** Room for a call, until it is settled. */
export interface Reservation {
  readonly id: string;
  readonly call: Call;
  readonly charges: readonly Charge[];
  /** What each counter held right after, this reservation included. */
  readonly used: readonly number[];
  /** Counters of requests that another run of the visit has paid. */
  readonly rides: readonly string[];
  /** Replaces the hold by real amounts; only the first of `settle` and `cancel` acts. */
  settle(amounts: readonly number[]): Promise<void>;
  cancel(): Promise<void>;
}

/** What a caller received, from best to worst. */
export const OUTCOMES = ['passed', 'queued', 'cached', 'stale', 'shorter', 'cheaper', 'static', 'deferred', 'shed'] as const;
export type OutcomeKind = (typeof OUTCOMES)[number];

/** How a run came out. */
export type Outcome<T> =
  | { readonly kind: 'passed' | 'queued' | 'shorter' | 'cheaper'; readonly call: Call; readonly value: T }
  | { readonly kind: 'cached' | 'stale' | 'static' | 'deferred'; readonly call: Call; readonly answer: Answer }
  | { readonly kind: 'shed'; readonly call: Call; readonly refusal: Refusal };

/** The one verb: admit or walk the ladder, send, settle once from how it ended. */
export type Run = <T>(call: Call, send: Send<T>) => Promise<Outcome<T>>;
