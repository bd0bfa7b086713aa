import type { Call, Refusal } from '../call.js';
import { hashKey } from '../identity.js';
import type { Visit } from '../visit.js';
import type { CallFacts, FullFacts } from './events.js';

/** Identity as it may be written down: scope names to short hashes. */
export function hashedScopes(visit: Visit): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(visit.identity).map(([scope, key]) => [scope, hashKey(key)]));
}

export function callFacts(call: Call): CallFacts {
  const { visit, requestedModel, model } = call;
  return {
    route: routeOf(visit),
    scopes: hashedScopes(visit),
    requestedModel: modelFact(requestedModel),
    model: modelFact(model),
  };
}

/** Keys of providers, which some callers send in every field. */
const SECRET = /^(?:sk|pk|rk|gsk|xai|ghp|key|bearer|aiza)(?:[-_.:]|$)|^AIza|^eyJ/i;

/** Whether a name looks like one of a model, and not like a key or any other text. */
export function isPlainModel(model: string): boolean {
  return /^[\w./:@-]{1,128}$/.test(model) && !SECRET.test(model);
}

/** A model as it may be written down: its name is the caller's text, and only what looks like one is repeated. */
export function modelFact(model: string | undefined): string | undefined {
  return model === undefined || isPlainModel(model) ? model : '(unnamed)';
}

export function routeOf(visit: Visit): string | undefined {
  for (let at: Visit | undefined = visit; at; at = at.outer) if (at.route !== undefined) return at.route;
  return undefined;
}

/** Full budgets by name: scope, dimension and window, never keys or figures. */
export function fullFacts(refusal: Refusal): FullFacts[] {
  return refusal.full.map(({ charge, waitMs }) => ({
    scope: charge.scope,
    dimension: charge.dimension,
    budget: charge.budget.name ?? charge.budget.suffix,
    waitMs,
  }));
}
