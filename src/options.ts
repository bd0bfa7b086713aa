import type { Budget, BudgetOptions, Price } from './budget/budget.js';
import type { Call } from './call.js';
import type { Clock } from './clock.js';
import type { Dialect } from './dialects/dialect.js';
import type { Step } from './ladder/step.js';
import type { Logger } from './observe/events.js';
import type { Store } from './stores/store.js';

/** What the provider grants for one model, and what the application knows about it. */
export interface ModelOptions {
  /** Shared by everybody; count calls. */
  readonly budgets?: readonly BudgetOptions[];
  /** Share of each limit left unused: other processes on the same key, token variance. 0 to less than 1. @defaultValue 0 */
  readonly headroomRatio?: number;
  /** Substitutes that the application declares acceptable, in order; each one of `models`. */
  readonly cheaper?: readonly string[];
  /** Other names of this model in bodies. */
  readonly aliases?: readonly string[];
  /** Names the provider's counter: models with the same pool share it. @defaultValue the model's name */
  readonly pool?: string | ((call: Call) => string);
  readonly usdPerMillion?: Price;
}

/** Something budgets divide by: user, organization. */
export interface ScopeOptions {
  /**
   * The budgets of a key: a list, or a function of the key. A promise is shared by concurrent callers and its result kept
   * for a few seconds; a rejection reaches the caller's error path with nothing held.
   */
  readonly budgets: readonly BudgetOptions[] | ((key: string) => readonly BudgetOptions[] | Promise<readonly BudgetOptions[]>);
  /** Whether a request may have no key for this scope. Without it such a request gets 401. @defaultValue false */
  readonly optional?: boolean;
}

/** Options of {@link createSpillway}. All faults are reported together, at construction. */
export interface Options<Scopes extends string = string> {
  readonly models?: Readonly<Record<string, ModelOptions>>;
  /** Widest first. `global` has one key and is never named by `identify`. */
  readonly scopes?: Readonly<Record<Scopes, ScopeOptions>>;
  /** Tried in order when a budget is full. @defaultValue `[queue({ waitMs: 1_000 }), cheaperModel()]` */
  readonly ladder?: readonly Step[];
  /** @defaultValue `memoryStore()` */
  readonly store?: Store;
  /** Further wire formats, looked at before the built-in ones. */
  readonly dialects?: readonly Dialect[];
  /** A model that is not in `models`: count it on the other scopes only, or answer 400. @defaultValue `'count'` */
  readonly unknownModel?: 'count' | 'refuse';
  /** Price of models without one; needed where a `usd` budget can meet such a model. */
  readonly defaultPrice?: Price;
  /** Saturation of model and global budgets above which `when-saturated` budgets refuse. @defaultValue 0.8 */
  readonly softUntilRatio?: number;
  /** Held on top of the estimate for text. @defaultValue 0.1 */
  readonly overheadRatio?: number;
  /** Held on top of the estimate when images are present. @defaultValue 0.15 */
  readonly imageOverheadRatio?: number;
  /** How long an unsettled reservation keeps its concurrency after its process died, in ms. @defaultValue 30_000 */
  readonly leaseMs?: number;
  /** A reader that takes nothing for so long is treated as gone, in ms. @defaultValue 60_000 */
  readonly stallMs?: number;
  /** Largest JSON body that is read when no parser ran before, in bytes. @defaultValue 4_194_304 */
  readonly bodyBytes?: number;
  /** Most bytes of one answer that are looked at for usage; beyond, its length is counted. @defaultValue 4_194_304 */
  readonly tapBytes?: number;
  /** How long the result of an asynchronous `budgets` function is kept, in ms. @defaultValue 5_000 */
  readonly budgetsTtlMs?: number;
  /** One line per answered request, shaped for pino. @defaultValue none */
  readonly logger?: Logger;
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
  leaseMs: 30_000,
  stallMs: 60_000,
  bodyBytes: 4_194_304,
  tapBytes: 4_194_304,
  budgetsTtlMs: 5_000,
  callsPerRequest: 1,
} as const);

export interface ResolvedModel {
  readonly name: string;
  readonly budgets: readonly Budget[];
  readonly cheaper: readonly string[];
  readonly pool: string | ((call: Call) => string);
  readonly price: Price | undefined;
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
  readonly store: Store;
  readonly dialects: readonly Dialect[];
  readonly unknownModel: 'count' | 'refuse';
  readonly defaultPrice: Price | undefined;
  readonly softUntilRatio: number;
  readonly overheadRatio: number;
  readonly imageOverheadRatio: number;
  readonly leaseMs: number;
  readonly stallMs: number;
  readonly bodyBytes: number;
  readonly tapBytes: number;
  readonly logger: Logger | undefined;
  readonly clock: Clock;
  readonly random: () => number;
}
