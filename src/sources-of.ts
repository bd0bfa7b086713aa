import { createSource, type Source, Sources } from './budget/source.js';
import type { Call } from './call.js';
import { OptionsError } from './errors.js';
import { encodeKey } from './identity.js';
import type { ResolvedModel, ResolvedOptions, ResolvedScope } from './options.js';
import { at, show } from './options-check.js';
import type { Visit } from './visit.js';

/** Everything whose budgets a call falls under; a promise when the application looks some up. */
export type SourcesOf = (call: Call) => readonly Source[] | Promise<readonly Source[]>;

type MountBudgets = NonNullable<Visit['mountBudgets']>;

/** Finds the budgets of a call's model, of `global`, of the scopes of its identity, and of the mounts around it. */
export function createSourcesOf(options: ResolvedOptions): SourcesOf {
  const ofModels = new WeakMap<ResolvedModel, Sources>();
  const ofScopes = new WeakMap<ResolvedScope, Sources>();
  const ofMounts = new WeakMap<MountBudgets, Map<string, Sources>>();

  return (call) => {
    const found: (Source | Promise<Source>)[] = [];
    const model = call.model === undefined ? undefined : options.models.get(call.model);
    if (model && model.budgets.length > 0) {
      const pool = poolOf(model, call);
      const sources = getOrMake(ofModels, model, () => new Sources('model', 'call'));
      found.push(sources.of(pool, model.budgets));
    }
    let isLookedUp = false;
    for (const scope of options.scopes) {
      const { name } = scope;
      const key = name === 'global' ? 'global' : call.visit.identity[name];
      if (key === undefined) continue;
      const sources = getOrMake(ofScopes, scope, () => new Sources(name, 'visit'));
      const budgets = scope.budgetsOf(key);
      if (budgets instanceof Promise) {
        isLookedUp = true;
        found.push(budgets.then((known) => sources.of(key, known)));
      } else if (budgets.length > 0) found.push(sources.of(key, budgets));
    }
    for (let visit: Visit | undefined = call.visit; visit; visit = visit.outer)
      if (visit.mountBudgets) addMount(found, call, visit, visit.mountBudgets);
    return isLookedUp ? Promise.all(found).then(eachOnce) : eachOnce(found as Source[]);
  };

  function addMount(found: (Source | Promise<Source>)[], call: Call, { route }: Visit, budgets: MountBudgets): void {
    const byScope = getOrMake(ofMounts, budgets, () => new Map<string, Sources>());
    for (const [scope, list] of budgets) {
      const key = scope === 'route' ? route : scope === 'global' ? 'global' : call.visit.identity[scope];
      if (key === undefined) continue;
      const sources = getOrMake(byScope, scope, () => new Sources(scope, 'visit', `|route:${encodeKey(route ?? '')}`));
      found.push(sources.of(key, list));
    }
  }
}

function poolOf({ name, pool }: ResolvedModel, call: Call): string {
  if (typeof pool === 'string') return pool;
  const named: unknown = pool(call);
  if (typeof named === 'string' && named !== '') return named;
  const got = named instanceof Promise ? 'a promise' : show(named);
  throw new OptionsError([
    `${at('models', name)}.pool(call) must return a non-empty string, got ${got}; name the provider's counter`,
  ]);
}

/** The same mount twice around one request counts once. */
function eachOnce(sources: readonly Source[]): readonly Source[] {
  if (!hasTwins(sources)) return sources;
  const taken = new Set<string>();
  return sources.map((source) => {
    const fresh = source.budgets.filter((_, index) => !taken.has(source.counters[index] as string));
    for (const counter of source.counters) taken.add(counter);
    return fresh.length === source.budgets.length ? source : createSource({ ...source, budgets: fresh });
  });
}

function hasTwins(sources: readonly Source[]): boolean {
  for (let index = 1; index < sources.length; index++)
    for (let before = 0; before < index; before++) if (sources[before]?.prefix === sources[index]?.prefix) return true;
  return false;
}

interface Mapping<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
}

function getOrMake<K, V>(map: Mapping<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
