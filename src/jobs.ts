import type { Identity, Outcome, Usage } from './call.js';
import type { Core } from './core.js';
import type { Dialect } from './dialects/dialect.js';
import { carefulReading, readUsage } from './dialects/reading.js';
import { readDraft } from './dialects/registry.js';
import { SpillwayError } from './errors.js';
import { renderAnswer, renderComplaint, renderRefusal } from './http/render.js';
import { routeOf } from './observe/facts.js';
import type { FetchLike } from './outbound/fetch.js';
import { createFetch } from './outbound/fetch.js';
import { Visit } from './visit.js';

/** A call for {@link Jobs.run}. */
export interface CallRequest {
  /** A wire format, by name or itself. @defaultValue the one that reads the body */
  readonly dialect?: string | Dialect;
  readonly body: unknown;
}

/** What the function given to `run` gets. */
export interface AdmittedCall {
  /** The body to send: on the admitted model, with the admitted output maximum. */
  readonly body: unknown;
  readonly model: string | undefined;
  readonly requestedModel: string | undefined;
  /** Fires when the caller has left. */
  readonly signal: AbortSignal;
  /** Reports what was used, where the returned value does not show it. Counts until the function's promise has settled. */
  settle(usage: Partial<Usage>): void;
}

/** The ways to make calls under one identity. */
export interface Jobs {
  readonly identity: Identity;
  /** A fetch whose calls count for this identity, wherever it is called. */
  readonly fetch: FetchLike;
  /**
   * Governs any transport: admits the call, hands the body to send, and settles from the usage that the returned value
   * shows (an answer of the dialect, or a response with it in `data`), else from what `settle` was told, else at the estimate.
   * @throws {@link SpillwayError} `SPILLWAY_BAD_CALL` when no dialect reads the body; and whatever `make` throws
   */
  run<T>(request: CallRequest, make: (call: AdmittedCall) => Promise<T>): Promise<Outcome<T>>;
  /**
   * The same visit with more scopes known; keys already known stay. On the gate itself: a visit of its own, as a job has, unless a
   * request is under way here that does not contradict this identity.
   */
  as(identity: Readonly<Record<string, unknown>>): Jobs;
}

/** Makes calls inside `visit`; `undefined`: inside whichever visit the running code belongs to. */
export function createJobs(core: Core, visit: Visit | undefined, identify: (given: unknown) => Identity): Jobs {
  return {
    identity: visit?.identity ?? {},
    fetch: createFetch({
      run: core.run,
      registry: core.registry,
      clock: core.options.clock,
      stallMs: core.options.stallMs,
      tapBytes: core.options.tapBytes,
      base: (input, init) => globalThis.fetch(input, init),
      enter: (model, signal) => enter(core, visit, model, signal),
      draft: core.draft,
      objection: core.objection,
      countText: core.countText,
      watch: core.keeper.watch,
      learnBytes: core.learnBytes,
      learn: core.learn,
      render: (outcome) => renderOutcome(core, outcome),
      complain: (complaint, dialect) => renderComplaint(complaint, dialect, undefined),
      unread() {
        const inside = visit ?? core.context.getStore();
        core.events.emit('call-unseen', { route: inside && routeOf(inside), tokens: 0 });
      },
    }),
    run: (request, make) => runCall(core, visit, request, make),
    as(given) {
      if (Object.values(given ?? {}).includes(''))
        throw new SpillwayError('SPILLWAY_BAD_IDENTITY', 'as was given an empty key; name who the calls are for');
      const known = identify(given);
      const outer = visit ?? underWay(core.context.getStore(), known);
      const identity = { ...known, ...outer?.identity };
      const ladder = outer?.ladder ?? core.options.ladder;
      const named = new Visit({ identity, scopes: core.scopeNames, place: 'call', ladder, outer });
      return createJobs(core, named, identify);
    },
  };
}

/** A visit that goes on and may be this identity's: a worker runs in the context of whoever woke it, long ago or for another. */
function underWay(visit: Visit | undefined, identity: Identity): Visit | undefined {
  if (!visit?.hold && !visit?.holder) return undefined;
  const contradicts = Object.entries(identity).some(([scope, key]) => (visit.identity[scope] ?? key) !== key);
  return contradicts ? undefined : visit;
}

/** Writes an outcome that is no value: an answer, or a refusal. */
export function renderOutcome(core: Core, outcome: Exclude<Outcome<never>, { value: never }>) {
  const { call } = outcome;
  if (outcome.kind !== 'shed') return renderAnswer(outcome.answer, call);
  const { visit } = call;
  const refuseWith = visit.refuseWith ?? core.options.refuseWith;
  const told = { waitMs: core.toldWaitMs(outcome.refusal), isInner: visit.outer !== undefined, refuseWith };
  return renderRefusal(outcome.refusal, call, call.dialect ?? core.registry.fallback, told);
}

/** A visit for one run, inside the given one or the one of the running code: the innermost, when one contains the other. */
function enter(core: Core, given: Visit | undefined, model: string | undefined, signal?: AbortSignal): Visit {
  const current = core.context.getStore();
  const outer = given && !isInside(current, given) ? given : current;
  if (!outer && core.openVisits > 0) core.events.emit('context-missing', { model });
  for (const { name, optional } of core.options.scopes)
    if (name !== 'global' && !optional && outer?.identity[name] === undefined)
      core.events.emit('identity-missing', { route: outer && routeOf(outer), scope: name });
  return new Visit({
    identity: outer?.identity ?? {},
    scopes: core.scopeNames,
    place: 'call',
    ladder: outer?.ladder ?? core.options.ladder,
    leaver: signal,
    outer,
  });
}

function isInside(visit: Visit | undefined, given: Visit): boolean {
  for (let at = visit; at; at = at.outer) if (at === given) return true;
  return false;
}

async function runCall<T>(
  core: Core,
  visit: Visit | undefined,
  request: CallRequest,
  make: (call: AdmittedCall) => Promise<T>,
): Promise<Outcome<T>> {
  if (typeof request !== 'object' || request === null || typeof make !== 'function')
    throw new SpillwayError(
      'SPILLWAY_BAD_CALL',
      'run needs a call like { body } and a function that makes it: run({ body }, ({ body }) => ...)',
    );
  const { dialect, draft } = readCall(core, request);
  const inner = enter(core, visit, draft.model);
  const call = core.draft(inner, dialect, draft, request.body);
  return core.run(call, async ({ model, requestedModel }, body) => {
    const settle = (usage: Partial<Usage>) => {
      inner.verdict = verdictOf(usage);
    };
    const value = await make({ body, model, requestedModel, signal: inner.signal, settle });
    const { data, status } = (value ?? {}) as { data?: unknown; status?: unknown };
    const { usage } = carefulReading(dialect);
    const ending = { by: 'done', status: isStatus(status) ? status : 200, usage: usage(value) ?? usage(data) } as const;
    return { value, ended: Promise.resolve({ ...ending, sentOutputTokens: undefined }) };
  });
}

/** The application's word on what was used; what it leaves out is filled in by the estimate. */
export function verdictOf(usage: Partial<Usage>): { readonly usage: Usage } {
  return { usage: readUsage(usage) ?? { inputTokens: undefined, outputTokens: undefined } };
}

/** Values of other kinds may have a `status` of their own. */
function isStatus(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 100 && value <= 999;
}

function readCall(
  core: Core,
  { dialect, body }: CallRequest,
): { dialect: Dialect; draft: NonNullable<ReturnType<Dialect['read']>> } {
  const known = typeof dialect === 'string' ? core.registry.byName(dialect) : dialect;
  if (typeof dialect === 'string' && !known)
    throw new SpillwayError(
      'SPILLWAY_BAD_CALL',
      `there is no dialect ${JSON.stringify(dialect)}; give one of ${core.registry.names.join(', ')}, or the dialect itself`,
    );
  const draft = known && readDraft(known, body, known.endpoint);
  const found = known ? draft && { dialect: known, draft } : core.registry.detect(body);
  if (!found)
    throw new SpillwayError(
      'SPILLWAY_BAD_CALL',
      'the body of the call is of no known dialect, or names no model; pass the body that the provider gets, and its dialect',
    );
  const objection = core.objection(found.draft);
  if (objection) throw new SpillwayError('SPILLWAY_BAD_CALL', objection.message, { status: 400 });
  return found;
}
