import type { Budget, BudgetOptions } from './budget/budget.js';
import { resolveBudgets } from './budget/resolve-budget.js';
import type { Key, RefuseWith } from './call.js';
import type { Dialect } from './dialects/dialect.js';
import { OptionsError } from './errors.js';
import type { Step } from './ladder/step.js';
import { DEFAULTS, type ResolvedOptions } from './options.js';
import { at, type Check, createCheck, enumerate, isRecord, show } from './options-check.js';
import { readDialect, readLadder, readRefuseWith } from './options-parts.js';

/** Who asks, as the application says it: scope to key. `undefined` and `null`: nobody is named for that scope. */
export type IdentityGiven<Scopes extends string = string> = Readonly<
  Partial<Record<Exclude<Scopes, 'global'>, Key | undefined | null>>
>;

/** How one route is governed. */
export interface MountOptions<Scopes extends string = string, Req = unknown> {
  /** Names the route in events, headers and the counters of `budgets`: those need it. At most 128 characters. */
  readonly route?: string;
  /**
   * Who asks. Needed when a scope is configured that is neither `global` nor optional. What it throws takes the framework's
   * error path, with nothing held.
   */
  readonly identify?: (
    req: Req,
    res?: unknown,
  ) => IdentityGiven<Scopes> | undefined | null | Promise<IdentityGiven<Scopes> | undefined | null>;
  /** Requests that pass ungoverned and uncounted. @defaultValue anything but POST, PUT and PATCH with a JSON body */
  readonly skip?: (req: Req) => boolean | Promise<boolean>;
  /** Budgets of this route alone, with counters of their own: for everybody (`route`), or for each key of a scope. */
  readonly budgets?: Readonly<Partial<Record<Scopes | 'route', readonly BudgetOptions[]>>>;
  /** Tried in order when a budget is full. @defaultValue the gate's */
  readonly ladder?: readonly Step[];
  /** The wire format of the bodies, or its name. @defaultValue whichever can read the body */
  readonly dialect?: Dialect | string;
  /** How many LLM calls a request makes: its hold is so many times larger. A whole number, 1 to 1_000. @defaultValue 1 */
  readonly callsPerRequest?: number | ((req: Req) => number);
  /**
   * Which headers are written: `outcome` (`spillway-*`), and for the caller's own budgets `ietf` (`RateLimit-Policy` and `RateLimit`)
   * and `dialect` (`x-ratelimit-*`, `anthropic-ratelimit-*`). What an object leaves out is written; `false`: none.
   * The waits of refusals are told in any case.
   * @defaultValue true
   */
  readonly headers?: boolean | Partial<HeaderChoice>;
  /** Status of a refusal on this route: see the gate's option. @defaultValue the gate's */
  readonly refuseWith?: RefuseWith;
}

/** Which headers a mount writes. */
export interface HeaderChoice {
  readonly ietf: boolean;
  readonly dialect: boolean;
  readonly outcome: boolean;
}

/** Mount options, checked and filled in. Frozen. */
export interface ResolvedMount<Req = unknown> {
  readonly route: string | undefined;
  /** What it returns is unchecked: `readIdentity` reads it. */
  readonly identify: ((req: Req, res?: unknown) => unknown) | undefined;
  readonly skip: ((req: Req) => boolean | Promise<boolean>) | undefined;
  /** `route` or scope name to budgets. */
  readonly budgets: ReadonlyMap<string, readonly Budget[]>;
  readonly ladder: readonly Step[];
  readonly dialect: Dialect | undefined;
  /** A whole number, 1 to 1_000. @throws {@link OptionsError} when the application's function gives anything else */
  callsPerRequest(req: Req): number;
  readonly headers: HeaderChoice;
  readonly refuseWith: RefuseWith | undefined;
}

const FIELDS = [
  'route',
  'identify',
  'skip',
  'budgets',
  'ladder',
  'dialect',
  'callsPerRequest',
  'headers',
  'refuseWith',
] as const satisfies readonly (keyof MountOptions)[];

/**
 * Checks the options of a mount against those of its gate.
 * @param dialectNamed - looks a dialect's name up; `undefined`: there is none
 * @throws {@link OptionsError} with every fault
 */
export function resolveMount<Scopes extends string, Req>(
  options: MountOptions<Scopes, Req>,
  gate: Pick<ResolvedOptions, 'scopes' | 'models' | 'defaultPrice' | 'unknownModel' | 'ladder' | 'refuseWith'>,
  dialectNamed: (name: string) => Dialect | undefined,
): ResolvedMount<Req> {
  const check = createCheck();
  const given = check.fields('', options, FIELDS, 'give one like { route: "chat" }') ?? NO_FIELDS;
  const resolved: ResolvedMount<Req> = Object.freeze({
    route: given.route === undefined ? undefined : check.text('route', given.route, 'give a short name like "chat"'),
    identify: readIdentify<Req>(check, given.identify, gate.scopes),
    skip:
      given.skip === undefined
        ? undefined
        : check.func<(req: Req) => boolean>('skip', given.skip, 'give one like (req) => false'),
    budgets: readBudgets(check, given.budgets, given.route, gate),
    ladder: readLadder(check, 'ladder', given.ladder, gate.ladder),
    dialect: readNamedDialect(check, given.dialect, dialectNamed),
    callsPerRequest: readCallsPerRequest<Req>(check, given.callsPerRequest),
    headers: readHeaders(check, given.headers),
    refuseWith: readRefuseWith(check, 'refuseWith', given.refuseWith, gate.refuseWith),
  });
  check.throwFaults();
  return resolved;
}

const NO_FIELDS = Object.fromEntries(FIELDS.map((field) => [field, undefined])) as Readonly<
  Record<(typeof FIELDS)[number], unknown>
>;

function readIdentify<Req>(check: Check, given: unknown, scopes: ResolvedOptions['scopes']): ResolvedMount<Req>['identify'] {
  if (given !== undefined) return check.func('identify', given, 'give one like (req) => ({ user: req.user.id })');
  const required = scopes.filter(({ name, optional }) => name !== 'global' && !optional).map(({ name }) => name);
  if (required.length === 0) return undefined;
  const mend = `give one like (req) => ({ ${required[0]}: ... }) for ${enumerate(required)}, or make the scope optional: true`;
  return check.must('identify', 'a function', given, mend);
}

function readBudgets(
  check: Check,
  given: unknown,
  route: unknown,
  gate: Pick<ResolvedOptions, 'scopes' | 'models' | 'defaultPrice' | 'unknownModel'>,
): ReadonlyMap<string, readonly Budget[]> {
  const budgets = new Map<string, readonly Budget[]>();
  if (given === undefined) return budgets;
  const names = [...gate.scopes.map(({ name }) => name), 'route'];
  const fields = check.fields(
    'budgets',
    given,
    names,
    'give budgets by scope, like { route: [{ tokens: 10_000, per: "minute" }] }',
  );
  for (const name of names) {
    if (fields?.[name] === undefined) continue;
    budgets.set(name, resolveBudgets(check, at('budgets', name), fields[name], gate));
  }
  // Mounts without a name would all count into the same counters.
  if (budgets.size > 0 && route === undefined)
    check.must('route', 'given together with budgets', route, 'give a short name like "chat"');
  return budgets;
}

function readNamedDialect(
  check: Check,
  given: unknown,
  dialectNamed: (name: string) => Dialect | undefined,
): Dialect | undefined {
  if (given === undefined) return undefined;
  if (typeof given !== 'string') return readDialect(check, 'dialect', given);
  return dialectNamed(given) ?? check.must('dialect', 'a dialect or the name of one', given, 'give a name like "openai-chat"');
}

const KINDS = ['ietf', 'dialect', 'outcome'] as const satisfies readonly (keyof HeaderChoice)[];

function readHeaders(check: Check, given: unknown): HeaderChoice {
  const all = (isWritten: boolean): HeaderChoice => Object.freeze({ ietf: isWritten, dialect: isWritten, outcome: isWritten });
  if (given === undefined || typeof given === 'boolean') return all(given ?? true);
  if (!isRecord(given)) {
    check.must('headers', 'true, false or an object', given, 'leave it out for all, or give some like { outcome: false }');
    return all(true);
  }
  const fields = check.fields('headers', given, KINDS, 'give some like { outcome: false }');
  const isWritten = (kind: keyof HeaderChoice) => check.flag(at('headers', kind), fields?.[kind], true);
  return Object.freeze({ ietf: isWritten('ietf'), dialect: isWritten('dialect'), outcome: isWritten('outcome') });
}

const CALLS = { least: 1, most: 1_000, whole: true, mend: 'give how many calls one request makes' };

function readCallsPerRequest<Req>(check: Check, given: unknown): (req: Req) => number {
  if (typeof given !== 'function') {
    const calls = check.number('callsPerRequest', given, CALLS, DEFAULTS.callsPerRequest);
    return () => calls;
  }
  return (req) => {
    const calls: unknown = given(req);
    if (typeof calls === 'number' && Number.isInteger(calls) && calls >= CALLS.least && calls <= CALLS.most) return calls;
    const got = typeof calls === 'string' ? 'a string' : show(calls);
    throw new OptionsError([`callsPerRequest(req) must be a whole number from 1 to 1_000, got ${got}; ${CALLS.mend}`]);
  };
}
