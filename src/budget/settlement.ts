import type { Call, Charge, Ending, Usage } from '../call.js';
import type { Price } from './budget.js';
import { priceOf } from './price.js';

/** What a run came to, in the terms of the settle table. */
export type Way =
  /** Real usage; `partial` when the caller left or stopped reading. */
  | { readonly by: 'usage' | 'counted' | 'partial'; readonly usage: Usage }
  /** The provider answered with an error, or not at all: it may have counted the request, not the tokens. */
  | { readonly by: 'provider-error' }
  /** Nothing happened. */
  | { readonly by: 'cancelled' }
  /** Runs inside have settled themselves; `happened`: the request was served, or a model was called for it. */
  | { readonly by: 'inside'; readonly happened: boolean };

export interface RunFacts {
  readonly call: Call;
  readonly ending: Ending;
  /** `request`: a mount, whose response may be the call's. `call`: the run is the call itself. */
  readonly kind: 'request' | 'call';
  readonly runsSeen: number;
  readonly callsMade: number;
  /** The answer names this call's model, and no run inside drew on its hold: what it used was not theirs. */
  readonly isOwnAnswer: boolean;
  /** Runs were seen on this mount before: a request without one made no call. */
  readonly expectsRuns: boolean;
  /** The application's own word. */
  readonly verdict: { readonly usage: Usage } | 'cancel' | undefined;
  /** The gate itself answered in the handler's place. */
  readonly rescued: boolean;
}

/** Reads the settle table: which way a run went. Pure. */
export function wayOf(facts: RunFacts): Way {
  const { call, ending, kind, verdict } = facts;
  const isFine = ending.status >= 200 && ending.status < 300;
  if (verdict === 'cancel') return { by: 'cancelled' };
  if (verdict) return { by: 'usage', usage: fill(verdict.usage, call, ending) };
  if (facts.expectsRuns) return { by: 'cancelled' };
  // A call that made others on its way, to other models, has still used what its own answer says.
  const isOwn = kind === 'call' && facts.isOwnAnswer && isFine;
  if (facts.runsSeen > 0 && !isOwn) return { by: 'inside', happened: facts.callsMade > 0 || (isFine && !facts.rescued) };
  if (facts.rescued) return { by: 'cancelled' };
  // An error is one whether or not anybody stayed to read it.
  if (hasLeft(ending) && ending.status < 400) return { by: 'partial', usage: fill(ending.usage, call, ending) };
  if (isFine) return { by: ending.usage ? 'usage' : 'counted', usage: fill(ending.usage, call, ending) };
  return { by: kind === 'request' ? 'cancelled' : 'provider-error' };
}

function hasLeft({ by }: Ending): boolean {
  return by === 'left' || by === 'stalled';
}

/** Fills in what was not reported: the input by its estimate, the output by what was seen of it. */
function fill(usage: Usage | undefined, call: Call, ending: Ending): Usage {
  return {
    ...usage,
    inputTokens: usage?.inputTokens ?? call.inputTokens,
    outputTokens: usage?.outputTokens ?? Math.min(outputOf(call, ending), call.maximumOutputTokens ?? Infinity),
  };
}

/**
 * Output as far as it was seen. An answer in one piece is made before its first byte comes: leaving early does not make it free, nor
 * cheap after many short answers.
 */
function outputOf(call: Call, ending: Ending): number {
  const seen = ending.sentOutputTokens ?? call.expectedOutputTokens;
  if (!hasLeft(ending) || call.stream) return seen;
  return Math.max(seen, call.expectedOutputTokens, call.uncorrected?.expectedOutputTokens ?? 0);
}

/** Whether a run made use of the visit's request. */
export function hasHappened(way: Way): boolean {
  return way.by === 'inside' ? way.happened : way.by !== 'cancelled' && way.by !== 'provider-error';
}

/** What each charge really comes to. Pure; the same order as the charges. */
export function amountsFor(charges: readonly Charge[], way: Way, price: Price | undefined): number[] {
  return charges.map((charge) => amountFor(charge, way, price));
}

function amountFor(charge: Charge, way: Way, price: Price | undefined): number {
  switch (way.by) {
    case 'cancelled':
      return 0;
    case 'inside':
      return charge.dimension === 'requests' && charge.per === 'visit' && way.happened ? 1 : 0;
    case 'provider-error':
      return charge.dimension === 'requests' && charge.per === 'call' ? 1 : 0;
    case 'usage':
    case 'counted':
    case 'partial':
      return usedOf(charge, way.usage, price);
    default:
      return way satisfies never;
  }
}

function usedOf(charge: Charge, usage: Usage, price: Price | undefined): number {
  const input = usage.inputTokens ?? 0;
  const output = usage.outputTokens ?? 0;
  switch (charge.dimension) {
    case 'tokens':
      return input + output;
    case 'inputTokens':
      return input;
    case 'outputTokens':
      return output;
    case 'requests':
      return 1;
    case 'usd':
      return price ? priceOf(usage, price) : 0;
    case 'concurrent':
      return 0;
    default:
      return charge.dimension satisfies never;
  }
}
