import type { Call, Charge, Shortage } from '../call.js';
import type { Budget, Price } from './budget.js';
import { priceOf } from './price.js';
import type { Source } from './source.js';

/** Output assumed for money, day and month when nothing declares a maximum, in tokens per call. */
export const UNDECLARED_OUTPUT_TOKENS = 4_096;

/** What the arithmetic needs to know beside the call. */
export interface PlanFacts {
  readonly price: Price | undefined;
  /** Whether the shared budgets of this call were last seen saturated: `when-saturated` budgets refuse only then. */
  readonly isSaturated: boolean;
  isPaid(counter: string, dimension: 'requests' | 'concurrent'): boolean;
  isWaited(counter: string): boolean;
}

/** What to hold for a call. */
export interface Plan {
  /** The call with its output maximum lowered to what `per: 'call'` budgets allow. */
  readonly call: Call;
  readonly charges: readonly Charge[];
  /** Budgets into which the call can never fit; then nothing may be held. */
  readonly never: readonly Shortage[];
}

/** Turns a call and the budgets it falls under into what must be held. Pure. */
export function planCharges(given: Call, sources: readonly Source[], facts: PlanFacts): Plan {
  const never: Shortage[] = [];
  const call = capCall(given, sources, facts, never);
  const charges: Charge[] = [];
  for (const source of sources) {
    for (let index = 0; index < source.budgets.length; index++) {
      const budget = source.budgets[index] as Budget;
      if (!budget.window || budget.limit === Infinity || !concerns(budget, call)) continue;
      const charge = chargeFor(call, source, index, facts, never);
      if (charge) charges.push(charge);
    }
  }
  return { call, charges, never };
}

/** Whether a budget counts calls on this model. */
export function concerns(budget: Budget, call: Call): boolean {
  return !budget.models || (call.model !== undefined && budget.models.has(call.model));
}

function chargeFor(call: Call, source: Source, index: number, facts: PlanFacts, never: Shortage[]): Charge | undefined {
  const budget = source.budgets[index] as Budget;
  const counter = source.counters[index] as string;
  const { dimension, limit } = budget;
  const isUnit = dimension === 'requests' || dimension === 'concurrent';
  if (isUnit) {
    if (source.units === 'visit' && facts.isPaid(counter, dimension)) return undefined;
    if (source.units === 'call' && call.model === undefined) return undefined;
  } else if (call.draft === undefined) return undefined;

  const { least, wanted } = amountsOf(call, budget, facts.price);
  const times = isUnit && (source.units === 'visit' || dimension === 'concurrent') ? 1 : call.callsPerRequest;
  const isEnforced = budget.enforce === 'always' || (budget.enforce === 'when-saturated' && facts.isSaturated);
  const refuseAt = isEnforced ? limit : Infinity;
  const charge: Charge = {
    counter,
    window: budget.window as NonNullable<Budget['window']>,
    amount: Math.min(Math.max(least, wanted) * times, refuseAt),
    limit,
    refuseAt,
    paced: facts.isWaited(counter),
    onStoreError: budget.onStoreError,
    scope: source.scope,
    key: source.key,
    budget,
    dimension,
    per: source.units,
  };
  if (least > charge.refuseAt) never.push({ charge, waitMs: Infinity });
  return charge;
}

/**
 * What a budget must hold at the very least (more than its limit: the call never fits), and what should be held. Minutes
 * hold what will probably be used; money, days and months the worst that was declared.
 */
function amountsOf(call: Call, budget: Budget, price: Price | undefined): { least: number; wanted: number } {
  const isWorst = budget.dimension === 'usd' || budget.window?.kind === 'calendar';
  const output = isWorst ? worstOutput(call) : call.expectedOutputTokens;
  const leastOutput = isWorst ? (call.maximumOutputTokens ?? 0) : 0;
  switch (budget.dimension) {
    case 'tokens':
      return { least: leastInput(call) + leastOutput, wanted: call.heldInputTokens + output };
    case 'inputTokens':
      return { least: leastInput(call), wanted: call.heldInputTokens };
    case 'outputTokens':
      return { least: leastOutput, wanted: output };
    case 'usd':
      return { least: moneyFor(leastInput(call), leastOutput, price), wanted: moneyFor(call.heldInputTokens, output, price) };
    case 'requests':
    case 'concurrent':
      return { least: 1, wanted: 1 };
    default:
      return budget.dimension satisfies never;
  }
}

/** What was learned makes no call impossible: nobody could learn any more that it fits. */
function leastInput({ inputTokens, uncorrected }: Call): number {
  return Math.min(inputTokens, uncorrected?.inputTokens ?? Infinity);
}

function worstOutput(call: Call): number {
  return call.maximumOutputTokens ?? Math.max(call.expectedOutputTokens, UNDECLARED_OUTPUT_TOKENS);
}

function moneyFor(inputTokens: number, outputTokens: number, price: Price | undefined): number {
  return price ? priceOf({ inputTokens, outputTokens }, price) : 0;
}

/** Applies the caps on one call: input over one never fits, output over one is lowered. */
function capCall(call: Call, sources: readonly Source[], facts: PlanFacts, never: Shortage[]): Call {
  if (call.draft === undefined) return call;
  // A token for each choice; what generates nothing, like embeddings, needs none.
  const needed = Math.min(call.draft.choices, call.maximumOutputTokens ?? Infinity);
  let maximum = call.maximumOutputTokens;
  for (const source of sources) {
    for (const budget of source.budgets) {
      if (budget.window || budget.enforce === 'never' || budget.limit === Infinity || !concerns(budget, call)) continue;
      if (budget.enforce === 'when-saturated' && !facts.isSaturated) continue;
      const room = outputRoom(call, budget, facts.price);
      if (room === undefined) continue;
      if (room < needed) never.push({ charge: capCharge(call, source, budget), waitMs: Infinity });
      else maximum = Math.min(maximum ?? Infinity, room);
    }
  }
  if (maximum === call.maximumOutputTokens) return call;
  return {
    ...call,
    maximumOutputTokens: maximum,
    expectedOutputTokens: Math.min(call.expectedOutputTokens, maximum ?? Infinity),
  };
}

/** Output tokens that a cap on one call leaves; negative when the input alone is over it, `undefined`: no say in it. */
function outputRoom(call: Call, budget: Budget, price: Price | undefined): number | undefined {
  switch (budget.dimension) {
    case 'tokens':
      return budget.limit - leastInput(call);
    case 'inputTokens':
      return leastInput(call) > budget.limit ? -1 : undefined;
    case 'outputTokens':
      return budget.limit;
    case 'usd': {
      const left = budget.limit - moneyFor(leastInput(call), 0, price);
      if (left < 0) return -1;
      return price && price.output > 0 ? Math.floor(left / price.output) : undefined;
    }
    default:
      return undefined;
  }
}

function capCharge(call: Call, source: Source, budget: Budget): Charge {
  return {
    counter: `${source.prefix}|${budget.suffix}`,
    window: { kind: 'concurrent' },
    amount: call.inputTokens,
    limit: budget.limit,
    refuseAt: budget.limit,
    scope: source.scope,
    key: source.key,
    budget,
    dimension: budget.dimension,
    per: source.units,
  };
}
