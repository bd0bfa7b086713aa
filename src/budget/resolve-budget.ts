import { encodeKey } from '../identity.js';
import { at, type Check, enumerate, show } from '../options-check.js';
import type { Window } from '../stores/store.js';
import type { Budget, Dimension, Price } from './budget.js';
import { readWindow } from './resolve-window.js';

/** What a budget may refer to, and whose it is. */
export interface BudgetSetting {
  readonly models: ReadonlyMap<string, { readonly price: Price | undefined }>;
  readonly defaultPrice: Price | undefined;
  readonly unknownModel: 'count' | 'refuse';
  /** The model that the budget belongs to: it meets only that one, and its headroom is taken off. */
  readonly model?: { readonly name: string; readonly headroomRatio: number };
}

const DIMENSIONS = [
  'tokens',
  'inputTokens',
  'outputTokens',
  'requests',
  'usd',
  'concurrent',
] as const satisfies readonly Dimension[];
const COMMON = ['per', 'timeZone', 'name', 'models', 'enforce', 'onStoreError'] as const;
const WITHOUT_STORE = ['local-share', 'last-seen', 'closed', 'open'] as const;
const KNOWN = [...DIMENSIONS, ...COMMON];
const EXAMPLE = 'give one like { tokens: 10_000, per: "minute" }';
const MICRO = 1_000_000;

/** Checks a list of budgets, each on its own and all against each other. What is faulty is left out of the result. */
export function resolveBudgets(check: Check, path: string, given: unknown, setting: BudgetSetting): readonly Budget[] {
  const list = check.list(path, given, 'give budgets like [{ tokens: 10_000, per: "minute" }], or [] for none');
  const budgets: Budget[] = [];
  const places = new Map<string, string>();
  list?.forEach((value, index) => {
    const place = `${path}[${index}]`;
    const budget = resolveBudget(check, place, value, setting);
    if (!budget) return;
    const twin = places.get(budget.suffix);
    if (twin !== undefined) check.fault(place, `counts the same as ${twin}; give one of them a name, or take it off`);
    places.set(budget.suffix, twin ?? place);
    budgets.push(budget);
  });
  return Object.freeze(budgets);
}

/** Checks one budget. `undefined` after a fault in what makes it one: its dimension, limit or window. */
export function resolveBudget(check: Check, path: string, given: unknown, setting: BudgetSetting): Budget | undefined {
  const fields = check.fields(path, given, KNOWN, EXAMPLE);
  if (!fields) return undefined;

  const dimension = readDimension(check, path, fields);
  const window = readWindow(check, path, fields, dimension);
  const limit = dimension && readLimit(check, at(path, dimension), fields[dimension], dimension);
  const models = fields.models === undefined ? undefined : readModels(check, at(path, 'models'), fields.models, setting);
  const name = fields.name === undefined ? undefined : check.text(at(path, 'name'), fields.name, 'give a short name');
  const enforce = check.oneOf(at(path, 'enforce'), fields.enforce, ['always', 'when-saturated', 'never'], 'always');

  const withoutStore = dimension === 'usd' ? 'last-seen' : 'local-share';
  const onStoreError = check.oneOf(at(path, 'onStoreError'), fields.onStoreError, WITHOUT_STORE, withoutStore);

  if (dimension === 'usd') checkPrices(check, at(path, 'usd'), models, setting);
  if (dimension === undefined || limit === undefined || window === undefined) return undefined;
  return Object.freeze({
    dimension,
    limit: underHeadroom(check, at(path, dimension), limit, dimension, window, setting),
    window: window === 'call' ? undefined : window,
    models: models && new Set(models),
    name,
    enforce,
    onStoreError,
    suffix: suffixOf(dimension, window, models, name),
  });
}

function readDimension(check: Check, path: string, fields: Readonly<Record<string, unknown>>): Dimension | undefined {
  const given = DIMENSIONS.filter((dimension) => fields[dimension] !== undefined);
  if (given.length > 1) check.fault(path, `has ${enumerate(given)}; give each a budget of its own`);
  if (given.length === 0) check.fault(path, `needs one of ${enumerate(DIMENSIONS, 'or')}; ${EXAMPLE}`);
  return given[0];
}

function readLimit(check: Check, path: string, given: unknown, dimension: Dimension): number | undefined {
  const most = Number.MAX_SAFE_INTEGER;
  if (dimension === 'usd') {
    const micro = typeof given === 'number' ? Math.round(given * MICRO) : 0;
    if (micro >= 1 && (micro <= most || micro === Number.POSITIVE_INFINITY)) return micro;
    return check.must(path, 'a positive number of dollars', given, 'give one like 50 or 0.25, or Infinity for no limit');
  }
  if (given === Number.POSITIVE_INFINITY) return given;
  if (typeof given === 'number' && Number.isInteger(given) && given >= 0 && given <= most) return given + 0;
  const mend = 'give a number like 10_000';
  const more = typeof given === 'number' ? `${mend}, 0 to block every call or Infinity for no limit` : mend;
  return check.must(path, 'a positive integer', given, more);
}

function readModels(check: Check, path: string, given: unknown, setting: BudgetSetting): readonly string[] | undefined {
  const models = check.names(path, given, [...setting.models.keys()], 'models');
  if (Array.isArray(given) && given.length === 0) check.fault(path, 'must not be empty; leave it out for every model');
  return models?.toSorted();
}

/** Money can only be counted where every model it may be spent on has a price. */
function checkPrices(check: Check, path: string, models: readonly string[] | undefined, setting: BudgetSetting): void {
  if (setting.defaultPrice) return;
  const own = setting.model && [setting.model.name];
  const met = own ?? models ?? [...setting.models.keys()];
  const unpriced = met.filter((name) => setting.models.get(name)?.price === undefined);
  if (unpriced.length > 0) {
    const mend = `give ${unpriced.length === 1 ? at('models', unpriced[0] as string) : 'each'}.usdPerMillion, or defaultPrice`;
    check.fault(path, `can meet models without a price (${enumerate(unpriced.map(show))}); ${mend}`);
  }
  if (!own && !models && setting.unknownModel === 'count')
    check.fault(
      path,
      'can meet models that are not in models, which have no price; give defaultPrice, or unknownModel: "refuse"',
    );
}

/** What is left of a provider's limit. Running calls are counted exactly, and a cap on one call is shared with nobody. */
function underHeadroom(
  check: Check,
  path: string,
  limit: number,
  dimension: Dimension,
  window: Window | 'call',
  { model }: BudgetSetting,
): number {
  if (!model || dimension === 'concurrent' || window === 'call' || limit === Number.POSITIVE_INFINITY) return limit;
  const left = Math.floor(limit * (1 - model.headroomRatio));
  if (left === 0 && limit > 0)
    check.fault(
      path,
      `has nothing left under headroomRatio ${model.headroomRatio}; give a higher limit or a lower headroomRatio`,
    );
  return left;
}

/** Parts are parted by what {@link encodeKey} never writes. */
function suffixOf(
  dimension: Dimension,
  window: Window | 'call',
  models: readonly string[] | undefined,
  name: string | undefined,
): string {
  const parts = [dimension, windowText(window)];
  if (models) {
    const text = models.map(encodeKey).join(',');
    parts.push(text.length <= 64 ? `m=${text}` : `h=${encodeKey(text)}`);
  }
  if (name !== undefined) parts.push(`n=${encodeKey(name)}`);
  return parts.join(';');
}

function windowText(window: Window | 'call'): string {
  if (window === 'call') return 'call';
  switch (window.kind) {
    case 'sliding':
      return String(window.ms);
    case 'calendar':
      return `${window.unit}@${encodeKey(window.timeZone)}`;
    case 'concurrent':
      return 'running';
    default:
      return window satisfies never;
  }
}
