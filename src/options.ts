import type { Budget, BudgetOptions, Price } from './budget/budget.js';
import { resolveScope, type ScopeSetting } from './budget/scope-budgets.js';
import type { Call, RefuseWith } from './call.js';
import type { Clock } from './clock.js';
import type { Dialect } from './dialects/dialect.js';
import type { Step } from './ladder/step.js';
import { type CalibrationOptions, readCalibration } from './learning/calibration-options.js';
import type { LearningOptions } from './learning/learning.js';
import { createFindModel, readPrice, resolveModels } from './models.js';
import type { Logger } from './observe/events.js';
import type { Ledger } from './observe/ledger.js';
import { type Check, createCheck } from './options-check.js';
import {
  readClock,
  readDialects,
  readImageSize,
  readLadder,
  readLedger,
  readLogger,
  readRefuseWith,
  readStore,
} from './options-parts.js';
import type { Store } from './stores/store.js';
import type { TellImageSize } from './tokens/told-sizes.js';

/** What the provider grants for one model, and what the application knows about it. */
export interface ModelOptions {
  /** Shared by everybody; count calls. */
  readonly budgets?: readonly BudgetOptions[];
  /**
   * Share of each limit left unused: other processes on the same key, token variance. 0 to less than 1. Running calls and
   * `per: 'call'` are not lowered. @defaultValue 0
   */
  readonly headroomRatio?: number;
  /** Substitutes that the application declares acceptable, in order; each one of `models`. */
  readonly cheaper?: readonly string[];
  /** Other names of this model in bodies. */
  readonly aliases?: readonly string[];
  /** Names the provider's counter: models with the same pool share it. @defaultValue the model's name */
  readonly pool?: string | ((call: Call) => string);
  /** Dollars per million tokens; needed where a `usd` budget can meet this model, unless `defaultPrice` is given. */
  readonly usdPerMillion?: Price;
  /**
   * A model that this one counts like, where its own name tells nothing: `gpt-4o` as its provider writes it, or a vocabulary, one of
   * `o200k_base`, `cl100k_base`, `p50k_base` and `r50k_base`. @defaultValue the model's name
   */
  readonly countAs?: string;
  /** Tokens of this model for each token that its estimate comes to, 0.1 to 10. @defaultValue 1 */
  readonly tokenFactor?: number;
}

/** Something budgets divide by: user, organization. */
export interface ScopeOptions {
  /**
   * The budgets of a key: a list, or a function of the key. A promise is shared by concurrent callers and its result kept
   * for a few seconds; a rejection reaches the caller's error path with nothing held. A list is checked once: change
   * limits by returning another one.
   */
  readonly budgets: readonly BudgetOptions[] | ((key: string) => readonly BudgetOptions[] | Promise<readonly BudgetOptions[]>);
  /** Whether a request may have no key for this scope. Without it such a request gets 401. @defaultValue false */
  readonly optional?: boolean;
}

/** Options of {@link createSpillway}. All faults are reported together, at construction. */
export interface Options<Scopes extends string = string> {
  /** What the provider grants, by model name. */
  readonly models?: Readonly<Record<string, ModelOptions>>;
  /** Widest first. `global` has one key and is never named by `identify`. */
  readonly scopes?: Readonly<Record<Scopes, ScopeOptions>>;
  /** Tried in order when a budget is full. @defaultValue `[queue({ waitMs: 1_000 }), cheaperModel()]` */
  readonly ladder?: readonly Step[];
  /**
   * Status of a refusal, 400 to 599: a number for full budgets, like 402 where plans are sold; or a function of any refusal, where
   * `undefined`, a throw or no such number mean the usual one. It may be asked more than once.
   * @defaultValue 429 for a full budget, 413 for what never fits, 403 where a budget is 0, 503 when the store is gone
   */
  readonly refuseWith?: RefuseWith;
  /** Where counts live. @defaultValue `memoryStore()` */
  readonly store?: Store;
  /**
   * Where `gate.usage` is counted: `redisLedger(client)` of `spillway/redis` counts for all instances together.
   * @defaultValue the memory of this process
   */
  readonly ledger?: Ledger;
  /** Further wire formats, looked at before the built-in ones. */
  readonly dialects?: readonly Dialect[];
  /** A model that is not in `models`: count it on the other scopes only, or answer 400. @defaultValue `'count'` */
  readonly unknownModel?: 'count' | 'refuse';
  /** Price of models without one; needed where a `usd` budget can meet such a model. */
  readonly defaultPrice?: Price;
  /** Saturation of model and global budgets above which `when-saturated` budgets refuse, 0 to 1. @defaultValue 0.8 */
  readonly softUntilRatio?: number;
  /** Held on top of the estimate for text, 0 to 1. @defaultValue 0.1 */
  readonly overheadRatio?: number;
  /** Held on top of the estimate when images are present, 0 to 1. @defaultValue 0.15 */
  readonly imageOverheadRatio?: number;
  /**
   * Tells the size in pixels of an image that a body only names, by its address or the id of an uploaded file, and the model; at once,
   * while the call waits. `undefined`, a throw or no such size: the usual one. @defaultValue 1,024 x 1,024 pixels for every image
   */
  readonly imageSize?: TellImageSize;
  /**
   * How estimates learn from reported usage, for each route and model; what is learned is in `gate.snapshot()`. `false`: they don't,
   * and overheads and expected output stay as configured. @defaultValue they learn, with the defaults of `CalibrationOptions`
   */
  readonly calibration?: false | CalibrationOptions;
  /** How long an unsettled reservation keeps its concurrency after its process died, 100 to 86_400_000 ms. @defaultValue 30_000 */
  readonly leaseMs?: number;
  /** A reader that takes nothing for so long is treated as gone, 1 to 86_400_000 ms. @defaultValue 60_000 */
  readonly stallMs?: number;
  /** Largest JSON body that is read when no parser ran before, 1 to 1_073_741_824 bytes. @defaultValue 4_194_304 */
  readonly bodyBytes?: number;
  /**
   * Most bytes of one answer that are looked at for usage, 0 to 1_073_741_824; beyond, its length is counted.
   * @defaultValue 4_194_304
   */
  readonly tapBytes?: number;
  /** How long the result of an asynchronous `budgets` function is kept, 0 to 86_400_000 ms. @defaultValue 5_000 */
  readonly budgetsTtlMs?: number;
  /** One line per answered request, shaped for pino. @defaultValue none */
  readonly logger?: Logger;
  /** Every reading of time and every timer: for tests and simulations. @defaultValue `systemClock` */
  readonly clock?: Clock;
  /** Uniform in [0, 1). @defaultValue Math.random */
  readonly random?: () => number;
}

/** Everything that may be left out. */
export const DEFAULTS = Object.freeze({
  unknownModel: 'count',
  softUntilRatio: 0.8,
  overheadRatio: 0.1,
  imageOverheadRatio: 0.15,
  headroomRatio: 0,
  tokenFactor: 1,
  leaseMs: 30_000,
  stallMs: 60_000,
  bodyBytes: 4_194_304,
  tapBytes: 4_194_304,
  budgetsTtlMs: 5_000,
  callsPerRequest: 1,
  afterCalls: 10,
  coveredOutputRatio: 0.9,
} as const);

export interface ResolvedModel {
  readonly name: string;
  readonly budgets: readonly Budget[];
  readonly cheaper: readonly string[];
  readonly pool: string | ((call: Call) => string);
  readonly price: Price | undefined;
  /** `undefined`: it counts by its own name. */
  readonly countAs: string | undefined;
  readonly tokenFactor: number;
}

export interface ResolvedScope {
  readonly name: string;
  readonly optional: boolean;
  /** Budgets of a key. Throws, or rejects with, an OptionsError when the application's function gives nonsense. */
  budgetsOf(key: string): readonly Budget[] | Promise<readonly Budget[]>;
}

/** Looks a body's model name up: exact, alias, then name with a dated suffix. `undefined`: not one of `models`. */
export type FindModel = (name: string) => ResolvedModel | undefined;

export interface ResolvedOptions {
  readonly models: ReadonlyMap<string, ResolvedModel>;
  readonly findModel: FindModel;
  /** In the order given, `global` among them when it is configured. */
  readonly scopes: readonly ResolvedScope[];
  readonly ladder: readonly Step[];
  readonly refuseWith: RefuseWith | undefined;
  readonly store: Store;
  /** `undefined`: one of this process. */
  readonly ledger: Ledger | undefined;
  readonly dialects: readonly Dialect[];
  readonly unknownModel: 'count' | 'refuse';
  readonly defaultPrice: Price | undefined;
  readonly softUntilRatio: number;
  readonly overheadRatio: number;
  readonly imageOverheadRatio: number;
  readonly imageSize: TellImageSize | undefined;
  /** `undefined`: nothing is learned. */
  readonly calibration: LearningOptions | undefined;
  readonly leaseMs: number;
  readonly stallMs: number;
  readonly bodyBytes: number;
  readonly tapBytes: number;
  readonly logger: Logger | undefined;
  readonly clock: Clock;
  readonly random: () => number;
}

/** What stands in for `ladder` and `store`; the store is made only when it is needed. */
export interface DefaultParts {
  readonly ladder: readonly Step[];
  readonly store: () => Store;
}

const FIELDS = [
  'models',
  'scopes',
  'ladder',
  'refuseWith',
  'store',
  'ledger',
  'dialects',
  'unknownModel',
  'defaultPrice',
  'softUntilRatio',
  'overheadRatio',
  'imageOverheadRatio',
  'imageSize',
  'calibration',
  'leaseMs',
  'stallMs',
  'bodyBytes',
  'tapBytes',
  'budgetsTtlMs',
  'logger',
  'clock',
  'random',
] as const satisfies readonly (keyof Options)[];

const DAY_MS = 86_400_000;
const GIBIBYTE = 1_073_741_824;
const RATIO = { least: 0, most: 1, mend: 'give a share like 0.1' };
const ms = (least: number) => ({ least, most: DAY_MS, whole: true, mend: 'give milliseconds like 30_000' });
const bytes = (least: number) => ({ least, most: GIBIBYTE, whole: true, mend: 'give bytes like 4_194_304' });

/**
 * Checks options completely and fills in what was left out. Nothing is coerced, and what was given is neither changed nor
 * kept where it could still change.
 * @throws {@link OptionsError} with every fault, each with its path and mend
 */
export function resolveOptions<Scopes extends string>(options: Options<Scopes>, defaults: DefaultParts): ResolvedOptions {
  const check = createCheck();
  const given =
    check.fields('', options, FIELDS, 'give one like { models: { "gpt-4o": {} } }') ?? (Object.create(null) as Fields);

  const defaultPrice = given.defaultPrice === undefined ? undefined : readPrice(check, 'defaultPrice', given.defaultPrice);
  const unknownModel = check.oneOf('unknownModel', given.unknownModel, ['count', 'refuse'], DEFAULTS.unknownModel);
  const ttlMs = check.number('budgetsTtlMs', given.budgetsTtlMs, ms(0), DEFAULTS.budgetsTtlMs);
  const clock = readClock(check, 'clock', given.clock);
  const store = readStore(check, 'store', given.store);
  const { models, aliases } = resolveModels(check, given.models, { defaultPrice, unknownModel }, DEFAULTS);
  const scopes = readScopes(check, given.scopes, { models, defaultPrice, unknownModel, ttlMs, clock });
  const resolved = {
    models,
    findModel: createFindModel(models, aliases),
    scopes,
    ladder: readLadder(check, 'ladder', given.ladder, defaults.ladder),
    refuseWith: readRefuseWith(check, 'refuseWith', given.refuseWith, undefined),
    ledger: readLedger(check, 'ledger', given.ledger),
    dialects: readDialects(check, 'dialects', given.dialects),
    unknownModel,
    defaultPrice,
    softUntilRatio: check.number('softUntilRatio', given.softUntilRatio, RATIO, DEFAULTS.softUntilRatio),
    overheadRatio: check.number('overheadRatio', given.overheadRatio, RATIO, DEFAULTS.overheadRatio),
    imageOverheadRatio: check.number('imageOverheadRatio', given.imageOverheadRatio, RATIO, DEFAULTS.imageOverheadRatio),
    imageSize: readImageSize(check, 'imageSize', given.imageSize),
    calibration: readCalibration(check, 'calibration', given.calibration, DEFAULTS),
    leaseMs: check.number('leaseMs', given.leaseMs, ms(100), DEFAULTS.leaseMs),
    stallMs: check.number('stallMs', given.stallMs, ms(1), DEFAULTS.stallMs),
    bodyBytes: check.number('bodyBytes', given.bodyBytes, bytes(1), DEFAULTS.bodyBytes),
    tapBytes: check.number('tapBytes', given.tapBytes, bytes(0), DEFAULTS.tapBytes),
    logger: readLogger(check, 'logger', given.logger),
    clock,
    random: readRandom(check, given.random),
  };
  check.throwFaults();
  return Object.freeze({ ...resolved, store: store ?? defaults.store() });
}

type Fields = Readonly<Record<(typeof FIELDS)[number], unknown>>;

function readScopes(check: Check, given: unknown, setting: ScopeSetting): readonly ResolvedScope[] {
  if (given === undefined) return Object.freeze([]);
  const entries = check.entries('scopes', given, 'give scopes by name, like { user: { budgets: [...] } }');
  return Object.freeze(entries.flatMap(({ name, value }) => resolveScope(check, name, value, setting) ?? []));
}

function readRandom(check: Check, given: unknown): () => number {
  if (given === undefined) return Math.random;
  return check.func<() => number>('random', given, 'leave it out for Math.random') ?? Math.random;
}
