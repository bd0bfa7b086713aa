import type { Call, Identity, OutcomeKind, Usage } from './call.js';
import type { Core } from './core.js';
import { createJobs, type Jobs, verdictOf } from './jobs.js';
import type { Visit } from './visit.js';

/** Where a request's handler meets the gate: `req.spillway`. */
export interface Passage extends Jobs {
  /** The worst that the request received so far. */
  readonly outcome: OutcomeKind;
  readonly requestedModel: string | undefined;
  /** The model that is, or was, really asked. */
  readonly model: string | undefined;
  readonly estimate: { readonly inputTokens: number; readonly heldInputTokens: number; readonly outputTokens: number };
  /** What the caller's own budgets had left when the request was admitted, money in micro-dollars; shared ones are not shown. */
  readonly remaining: readonly {
    readonly scope: string;
    readonly dimension: string;
    readonly limit: number;
    readonly remaining: number;
  }[];
  /** Fires when the client leaves before its response is complete. */
  readonly signal: AbortSignal;
  /** The handler knows better: charges this for the request, whatever its response says. The last word counts. */
  settle(usage: Partial<Usage>): void;
  /** Nothing happened: gives everything back that runs inside have not used. */
  cancel(): void;
}

export function createPassage(core: Core, visit: Visit, call: Call, identify: (given: unknown) => Identity): Passage {
  return new RequestPassage(core, visit, call, identify);
}

/** Every request gets one, and few handlers ask it for much: what it has is made when it is asked for, and may be taken off it. */
class RequestPassage implements Passage {
  readonly #core: Core;
  readonly #visit: Visit;
  readonly #call: Call;
  readonly #identify: (given: unknown) => Identity;
  #jobs: Jobs | undefined;

  constructor(core: Core, visit: Visit, call: Call, identify: (given: unknown) => Identity) {
    this.#core = core;
    this.#visit = visit;
    this.#call = call;
    this.#identify = identify;
  }

  get #made(): Jobs {
    this.#jobs ??= createJobs(this.#core, this.#visit, this.#identify);
    return this.#jobs;
  }

  get identity() {
    return this.#visit.identity;
  }

  get fetch() {
    return this.#made.fetch;
  }

  get run() {
    return this.#made.run;
  }

  get as() {
    return this.#made.as;
  }

  get signal() {
    return this.#visit.signal;
  }

  get requestedModel() {
    return this.#call.requestedModel;
  }

  get estimate() {
    const { inputTokens, heldInputTokens, expectedOutputTokens } = this.#call;
    return { inputTokens, heldInputTokens, outputTokens: expectedOutputTokens };
  }

  get outcome() {
    return this.#visit.shared.worst;
  }

  get model() {
    return this.#visit.shared.model ?? this.#visit.call?.model;
  }

  get remaining() {
    const { charges = [], used = [] } = this.#visit.hold ?? {};
    return charges
      .map(({ scope, dimension, limit }, index) => ({
        scope,
        dimension,
        limit,
        remaining: Math.max(0, limit - (used[index] ?? 0)),
      }))
      .filter(({ scope }) => scope !== 'model' && scope !== 'global' && scope !== 'route');
  }

  get settle() {
    const visit = this.#visit;
    return (usage: Partial<Usage>) => {
      visit.verdict = verdictOf(usage);
      for (let outer = visit.outer; outer; outer = outer.outer) if (outer.verdict === 'cancel') outer.verdict = undefined;
    };
  }

  get cancel() {
    const visit = this.#visit;
    return () => {
      // Mounts around this one are the same request: nothing happened there either.
      for (let at: Visit | undefined = visit; at; at = at.outer) at.verdict = 'cancel';
    };
  }
}
