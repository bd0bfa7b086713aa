import type { Price } from './budget/budget.js';
import { type BudgetSetting, resolveBudgets } from './budget/resolve-budget.js';
import type { FindModel, ResolvedModel } from './options.js';
import { at, type Check, type Entry, show } from './options-check.js';
import { hasRules } from './tokens/encodings.js';

/** The configured models, and their other names. */
export interface ResolvedModels {
  readonly models: ReadonlyMap<string, ResolvedModel>;
  /** Other name to the model's own. */
  readonly aliases: ReadonlyMap<string, string>;
}

/** A model whose own fields were looked at, but nothing yet that refers to others. */
interface Sketch extends Entry {
  readonly fields: Readonly<Record<(typeof MODEL_FIELDS)[number], unknown>>;
  readonly price: Price | undefined;
}

const MODEL_FIELDS = [
  'budgets',
  'headroomRatio',
  'cheaper',
  'aliases',
  'pool',
  'usdPerMillion',
  'countAs',
  'tokenFactor',
] as const;
const PRICE_FIELDS = ['input', 'cachedInput', 'cacheWrite', 'output', 'perRequest'] as const;
const EXAMPLE = 'give { budgets: [{ tokens: 100_000, per: "minute" }] }, or {} for a model without a limit';

/** Checks `models`: first each model's price, which budgets ask for, then what refers to other models. */
export function resolveModels(
  check: Check,
  given: unknown,
  { defaultPrice, unknownModel }: Pick<BudgetSetting, 'defaultPrice' | 'unknownModel'>,
  defaults: { readonly headroomRatio: number; readonly tokenFactor: number },
): ResolvedModels {
  const sketches = new Map<string, Sketch>();
  for (const entry of given === undefined ? [] : check.entries('models', given, 'give models by name, like { "gpt-4o": {} }')) {
    check.text(entry.path, entry.name, 'name the model as bodies do');
    const fields = check.fields(entry.path, entry.value, MODEL_FIELDS, EXAMPLE) ?? NO_FIELDS;
    const price =
      fields.usdPerMillion === undefined ? undefined : readPrice(check, at(entry.path, 'usdPerMillion'), fields.usdPerMillion);
    sketches.set(entry.name, { ...entry, fields, price });
  }
  const aliases = readAliases(check, sketches);
  const models = new Map<string, ResolvedModel>();
  for (const [name, { path, fields, price }] of sketches) {
    const headroomRatio = readHeadroom(check, at(path, 'headroomRatio'), fields.headroomRatio, defaults.headroomRatio);
    const setting = { models: sketches, defaultPrice, unknownModel, model: { name, headroomRatio } };
    models.set(
      name,
      Object.freeze({
        name,
        budgets: resolveBudgets(check, at(path, 'budgets'), fields.budgets ?? [], setting),
        cheaper: readCheaper(check, at(path, 'cheaper'), fields.cheaper, name, sketches),
        pool: readPool(check, at(path, 'pool'), fields.pool, name),
        price,
        countAs: readCountAs(check, at(path, 'countAs'), fields.countAs),
        tokenFactor: check.number(at(path, 'tokenFactor'), fields.tokenFactor, FACTOR, defaults.tokenFactor),
      }),
    );
  }
  return { models, aliases };
}

const NO_FIELDS = Object.fromEntries(MODEL_FIELDS.map((field) => [field, undefined])) as Sketch['fields'];

/** Checks dollars per million tokens. Gives zeros after a fault, so that no second fault says the price is missing. */
export function readPrice(check: Check, path: string, given: unknown): Price {
  const fields = check.fields(path, given, PRICE_FIELDS, 'give dollars per million tokens, like { input: 2.5, output: 10 }');
  const price: Partial<Record<(typeof PRICE_FIELDS)[number], number>> = {};
  if (fields) {
    for (const field of PRICE_FIELDS) {
      const value = fields[field];
      if (value === undefined && field !== 'input' && field !== 'output') continue;
      if (typeof value === 'number' && Number.isFinite(value) && value >= 0) price[field] = value;
      else check.must(at(path, field), 'a finite number of dollars, 0 or more', value, 'give one like 2.5');
    }
  }
  return Object.freeze({ input: 0, output: 0, ...price });
}

function readHeadroom(check: Check, path: string, given: unknown, fallback: number): number {
  return check.number(path, given, { least: 0, most: 1, below: true, mend: 'give a share like 0.1' }, fallback);
}

function readCheaper(
  check: Check,
  path: string,
  given: unknown,
  own: string,
  known: ReadonlyMap<string, unknown>,
): readonly string[] {
  const names = given === undefined ? [] : (check.names(path, given, [...known.keys()], 'models') ?? []);
  if (names.includes(own)) check.fault(`${path}[${names.indexOf(own)}]`, 'names the model itself; take it off');
  return Object.freeze([...names]);
}

const FACTOR = { least: 0.1, most: 10, mend: 'give a factor like 1.1' };

function readCountAs(check: Check, path: string, given: unknown): string | undefined {
  if (given === undefined) return undefined;
  if (typeof given === 'string' && hasRules(given)) return given;
  return check.must(path, 'a model whose way of counting is known', given, 'give one like "gpt-4o" or "cl100k_base"');
}

function readPool(check: Check, path: string, given: unknown, own: string): ResolvedModel['pool'] {
  if (given === undefined) return own;
  if (typeof given === 'string') return check.text(path, given, 'leave it out for a counter of its own') ?? own;
  if (typeof given === 'function') return given as Exclude<ResolvedModel['pool'], string>;
  return check.must(path, 'a string or a function of the call', given, 'leave it out for a counter of its own') ?? own;
}

function readAliases(check: Check, sketches: ReadonlyMap<string, Sketch>): ReadonlyMap<string, string> {
  const aliases = new Map<string, string>();
  for (const { name, path, fields } of sketches.values()) {
    const list =
      fields.aliases === undefined
        ? []
        : check.list(at(path, 'aliases'), fields.aliases, 'give other names, like ["gpt-4o-latest"]');
    list?.forEach((value, index) => {
      const place = `${at(path, 'aliases')}[${index}]`;
      const alias = check.text(place, value, 'give a name as bodies write it');
      if (alias === undefined) return;
      const owner = aliases.get(alias);
      if (owner !== undefined) check.fault(place, `repeats ${show(alias)}, an alias of ${show(owner)}; keep one of them`);
      else if (alias !== name && sketches.has(alias))
        check.fault(place, `is the name of another model, got ${show(alias)}; take it off`);
      else aliases.set(alias, name);
    });
  }
  return aliases;
}

/** How a model counts, by a name from a body: like itself, unless the application says otherwise. */
export function countingOf(findModel: FindModel, name: string): { readonly model: string; readonly tokenFactor: number } {
  const found = findModel(name);
  return { model: found?.countAs ?? found?.name ?? name, tokenFactor: found?.tokenFactor ?? 1 };
}

const LONGEST_NAME = 256;
/**
 * `-2024-08-06`, `-20240806`, `-0613` (or year and month: `-2407`), `@20240620`, `-001`, `-preview-05-06`,
 * `-exp-03-2025`, `-latest`; `-8192` is a size and stays.
 */
const DATED =
  /(?:-(?:preview|exp)-[01]\d-(?:[0-3]\d|20\d\d)|[-@]00\d|-20\d\d-[01]\d-[0-3]\d|[-@]20\d\d[01]\d[0-3]\d|-(?:0[1-9]|1[0-2])[0-3]\d|-2\d(?:0[1-9]|1[0-2])|-latest)$/;

/**
 * Looks names from bodies up: exact, alias, then without a dated suffix. Names are the caller's text, of any length and
 * content, so nothing is remembered about them.
 * @param aliases - other name to the model's own
 */
export function createFindModel(models: ReadonlyMap<string, ResolvedModel>, aliases: ReadonlyMap<string, string>): FindModel {
  const known = (name: string) => models.get(name) ?? models.get(aliases.get(name) as string);
  return (name) => {
    const found = known(name);
    if (found || typeof name !== 'string' || name.length > LONGEST_NAME) return found;
    const undated = name.replace(DATED, '');
    return undated === name ? undefined : known(undated);
  };
}
