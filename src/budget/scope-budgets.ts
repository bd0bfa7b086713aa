import type { Clock } from '../clock.js';
import type { ResolvedScope, ScopeOptions } from '../options.js';
import { at, type Check, createCheck } from '../options-check.js';
import { isThenable } from '../thenable.js';
import type { Budget } from './budget.js';
import { type BudgetSetting, resolveBudgets } from './resolve-budget.js';

/** What looking up the budgets of a key needs. */
export interface ScopeSetting extends BudgetSetting {
  /** How long the result of a promise is kept, in milliseconds. */
  readonly ttlMs: number;
  readonly clock: Clock;
}

type BudgetsOf = ResolvedScope['budgetsOf'];

/** Names are parts of counters and of header values, and two of them would be taken for something else. */
const SCOPE_NAME = /^[A-Za-z][\w-]{0,39}$/;
const RESERVED = ['model', 'route'];

/** Checks one scope. `undefined` after a fault in its shape. */
export function resolveScope(check: Check, name: string, given: unknown, setting: ScopeSetting): ResolvedScope | undefined {
  const path = at('scopes', name);
  if (RESERVED.includes(name)) check.fault(path, 'is a name that spillway uses itself; give the scope another one');
  else if (!SCOPE_NAME.test(name))
    check.fault(path, 'must be named by a letter and up to 39 letters, digits, - or _; give the scope a name like user');

  const fields = check.fields(path, given, ['budgets', 'optional'], 'give { budgets: [{ tokens: 10_000, per: "minute" }] }');
  if (!fields) return undefined;
  const optional = check.flag(at(path, 'optional'), fields.optional, false);
  if (optional && name === 'global')
    check.fault(at(path, 'optional'), 'must not be true, global has one key that is always there; take it off');
  return Object.freeze({ name, optional, budgetsOf: readBudgetsOf(check, name, fields.budgets, setting) });
}

function readBudgetsOf(check: Check, scope: string, given: unknown, setting: ScopeSetting): BudgetsOf {
  const path = at(at('scopes', scope), 'budgets');
  if (typeof given === 'function')
    return createBudgetsOf(given as Exclude<ScopeOptions['budgets'], readonly unknown[]>, scope, setting);
  if (!Array.isArray(given))
    check.must(path, 'a list or a function of the key', given, 'give [{ tokens: 10_000, per: "minute" }], or [] for none');
  const budgets = resolveBudgets(check, path, Array.isArray(given) ? given : [], setting);
  return () => budgets;
}

const MOST_KEYS = 10_000;

/** What is known about the budgets of a key: a look-up under way, or its result and when it came. */
type Kept = { readonly pending: Promise<readonly Budget[]> } | { readonly budgets: readonly Budget[]; readonly atMs: number };

/**
 * Makes the application's function of the key cheap and safe to ask for every call: a list that was seen before is not
 * checked again, a promise is shared by everybody who asks for its key and kept for `ttlMs`, at most 10,000 keys of them.
 * A list must not be changed after it was returned: limits change with a new list.
 */
export function createBudgetsOf(
  budgetsFor: Exclude<ScopeOptions['budgets'], readonly unknown[]>,
  scope: string,
  setting: ScopeSetting,
): BudgetsOf {
  const { clock, ttlMs } = setting;
  const resolved = new WeakMap<object, readonly Budget[]>();
  const kept = new Map<string, Kept>();

  return (key) => {
    const known = kept.get(key);
    if (known && 'pending' in known) return known.pending;
    if (known && isFresh(known.atMs)) return known.budgets;
    if (known) kept.delete(key);
    const given: unknown = budgetsFor(key);
    return isThenable(given) ? share(key, given) : resolve(given);
  };

  function share(key: string, given: PromiseLike<unknown>): Promise<readonly Budget[]> {
    const pending = Promise.resolve(given).then(resolve);
    const entry = { pending };
    keep(key, entry);
    pending.then(
      (budgets) => {
        if (kept.get(key) === entry) keep(key, { budgets, atMs: clock.now() });
      },
      () => {
        if (kept.get(key) === entry) kept.delete(key);
      },
    );
    return pending;
  }

  function keep(key: string, entry: Kept): void {
    kept.delete(key);
    if (kept.size >= MOST_KEYS) kept.delete(kept.keys().next().value as string);
    kept.set(key, entry);
  }

  /** A clock that was set back must not make a result last. */
  function isFresh(atMs: number): boolean {
    const ageMs = clock.now() - atMs;
    return ageMs >= 0 && ageMs < ttlMs;
  }

  function resolve(given: unknown): readonly Budget[] {
    const before = Array.isArray(given) ? resolved.get(given) : undefined;
    if (before) return before;
    // What came from a key may repeat it, and messages end up in logs.
    const check = createCheck({ hideText: true });
    const budgets = resolveBudgets(check, `${at(at('scopes', scope), 'budgets')}(key)`, given, setting);
    check.throwFaults('SPILLWAY_BAD_BUDGET');
    resolved.set(given as object, budgets);
    return budgets;
  }
}
