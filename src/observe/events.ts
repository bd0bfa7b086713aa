import type { OutcomeKind, Usage } from '../call.js';
import type { EstimateState } from '../learning/learning.js';

/** Facts that every event about a call carries. Keys of scopes are hashed; there is never body text in an event. */
export interface CallFacts {
  readonly route: string | undefined;
  /** Scope name to a short hash of its key. */
  readonly scopes: Readonly<Record<string, string>>;
  readonly requestedModel: string | undefined;
  readonly model: string | undefined;
}

/** A full budget as events name it. */
export interface FullFacts {
  readonly scope: string;
  readonly dimension: string;
  readonly budget: string;
  readonly waitMs: number;
}

/** Everything that the gate tells, by event name. */
export interface SpillwayEvents {
  /** Room was held for a call. */
  'call-admitted': CallFacts & {
    readonly id: string;
    readonly inputTokens: number;
    readonly expectedOutputTokens: number;
    readonly waitedMs: number;
  };
  /** A call did not fit, and the ladder begins. */
  'call-refused': CallFacts & { readonly reason: string; readonly full: readonly FullFacts[] };
  /** A step was not tried, or did not help. */
  'step-skipped': CallFacts & {
    readonly step: string;
    readonly why: 'cannot-help' | 'for-people' | 'no-help' | 'failed';
    readonly error?: unknown;
  };
  /** A hold was replaced by what was really used. */
  'reservation-settled': CallFacts & {
    readonly id: string;
    readonly by: 'usage' | 'counted' | 'partial' | 'provider-error' | 'cancelled' | 'inside';
    readonly estimatedInputTokens: number;
    readonly usage: Usage | undefined;
    /** Tokens charged beyond what was held. */
    readonly overdraftTokens: number;
  };
  /** A call got no answer but an error. */
  'call-shed': CallFacts & { readonly reason: string; readonly full: readonly FullFacts[]; readonly status: number };
  /** A governed request was answered: once for each, whatever the outcome. */
  'request-answered': CallFacts & {
    readonly outcome: OutcomeKind;
    readonly status: number;
    readonly inputTokens: number;
    readonly usage: Usage | undefined;
    readonly calls: number;
    readonly waitedMs: number;
    readonly durationMs: number;
  };
  /**
   * An answered request on a mount that read no call and never saw one: charged by its size, once per mount. Or, with no tokens, a fetch to
   * a model's endpoint whose body is a stream, which nobody can read: it passes uncounted.
   */
  'call-unseen': { readonly route: string | undefined; readonly tokens: number };
  /** A call ran outside every visit while visits were open: it counts on model and global budgets only. */
  'context-missing': { readonly model: string | undefined };
  /** A request, which then got 401, or a call had no key for a scope that needs one; such a call counts on the other scopes only. */
  'identity-missing': { readonly route: string | undefined; readonly scope: string };
  /**
   * What is held for the input of a route's calls on a model moved by more than a tenth since this was last told, or since the start: at
   * most once a minute for each route, model and kind of prompt.
   */
  'estimate-calibrated': EstimateState;
  /** The store failed; the call was treated as refused, or the settlement lost. `tally`: the ledger, and `usage` lacks a call. */
  'store-failed': { readonly operation: 'reserve' | 'settle' | 'renew' | 'tally'; readonly error: unknown };
  /** A bound of the store or the ledger was reached, or data lost. */
  'store-notice': { readonly code: string; readonly message: string };
}

export type EventName = keyof SpillwayEvents;
export type Listener<E extends EventName> = (event: SpillwayEvents[E]) => void;

/** The part of pino's interface that is used. */
export interface Logger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Emits typed events. A listener that throws harms nobody. */
export interface Events {
  emit<E extends EventName>(name: E, event: SpillwayEvents[E]): void;
  /** Whether anybody listens: spares building an event. */
  has(name: EventName): boolean;
  /** @returns a function that takes the listener off again */
  on<E extends EventName>(name: E, listener: Listener<E>): () => void;
}

export function createEvents(): Events {
  const listeners = new Map<EventName, Set<Listener<never>>>();
  return {
    emit(name, event) {
      for (const listener of [...(listeners.get(name) ?? [])]) {
        // A hook observes; whatever it throws, now or later, must not change what the caller receives.
        try {
          const result: unknown = (listener as Listener<typeof name>)(event);
          if (result instanceof Promise) result.catch(() => {});
        } catch {}
      }
    },
    has: (name) => (listeners.get(name)?.size ?? 0) > 0,
    on(name, listener) {
      const set = listeners.get(name) ?? new Set();
      listeners.set(name, set.add(listener as Listener<never>));
      return () => void set.delete(listener as Listener<never>);
    },
  };
}
