import type { Budget, BudgetOptions } from '../../src/budget/budget.js';
import { resolveBudgets } from '../../src/budget/resolve-budget.js';
import type { Call, Charge, Refusal } from '../../src/call.js';
import type { Draft } from '../../src/dialects/dialect.js';
import { openaiChat } from '../../src/dialects/openai-chat.js';
import type { Walk } from '../../src/ladder/step.js';
import { createCheck } from '../../src/options-check.js';
import { Visit, type VisitFacts } from '../../src/visit.js';

/** Models that budgets of these builders may name. */
export const MODELS = new Map([
  ['gpt-4o', { price: { input: 2.5, output: 10 } }],
  ['gpt-4o-mini', { price: { input: 0.15, output: 0.6 } }],
]);

/** A budget as the options would make it. */
export function budgetOf(options: BudgetOptions): Budget {
  const check = createCheck();
  const setting = { models: MODELS, defaultPrice: { input: 1, output: 1 }, unknownModel: 'count' } as const;
  const [budget] = resolveBudgets(check, 'budgets', [options], setting);
  check.throwFaults();
  return budget as Budget;
}

export function visitOf(facts: Partial<VisitFacts> = {}): Visit {
  return new Visit({ identity: { user: 'ann' }, scopes: ['user'], place: 'call', ladder: [], ...facts });
}

export function draftOf(draft: Partial<Draft> = {}): Draft {
  return {
    model: 'gpt-4o',
    stream: false,
    wantsUsage: false,
    maximumOutputTokens: undefined,
    choices: 1,
    hasTools: false,
    hasFormat: false,
    sections: [],
    ...draft,
  };
}

/** A call on gpt-4o of 100 tokens (110 held), 50 of output expected, at most 400 declared. */
export function callOf(call: Partial<Call> = {}): Call {
  return {
    visit: visitOf(),
    dialect: openaiChat,
    draft: draftOf(),
    body: { model: 'gpt-4o', messages: [] },
    stream: false,
    requestedModel: 'gpt-4o',
    model: 'gpt-4o',
    inputTokens: 100,
    heldInputTokens: 110,
    expectedOutputTokens: 50,
    maximumOutputTokens: 400,
    callsPerRequest: 1,
    ...call,
  };
}

export function chargeOf(charge: Partial<Charge> = {}): Charge {
  const budget = charge.budget ?? budgetOf({ tokens: 1_000, per: 'minute' });
  return {
    counter: 'user|ann|tokens;60000',
    window: budget.window ?? { kind: 'concurrent' },
    amount: 100,
    limit: budget.limit,
    refuseAt: budget.limit,
    scope: 'user',
    key: 'ann',
    budget,
    dimension: budget.dimension,
    per: 'visit',
    ...charge,
  };
}

/** A refusal with these waits, by counter. */
export function fullOf(waits: Readonly<Record<string, number>>, charge: Partial<Charge> = {}): Refusal {
  const full = Object.entries(waits).map(([counter, waitMs]) => ({ charge: chargeOf({ ...charge, counter }), waitMs }));
  return { reason: 'full', full, waitMs: Math.max(0, ...Object.values(waits)) };
}

/** A walk whose every way is refused, but for what is given. */
export function walkOf(walk: Partial<Walk> = {}): Walk {
  const { call = callOf(), refusal = fullOf({ 'model|gpt-4o': 100 }, { scope: 'model' }) } = walk;
  return {
    call,
    refusal,
    signal: call.visit.signal,
    admit: async () => refusal,
    wait: async () => undefined,
    substitutes: () => [],
    onModel: (of, model) => ({ ...of, model }),
    ...walk,
  };
}
