import { type Admission, priceFor } from './admission.js';
import { priceOf } from './budget/price.js';
import { amountsFor, wayOf } from './budget/settlement.js';
import type { Answer, Call, Ending, Outcome, Refusal, Reservation, Send, Usage } from './call.js';
import { bodyToSend, drawsOn } from './draft-call.js';
import { answersOnly, type Descent, descend } from './ladder/ladder.js';
import type { Line } from './ladder/line.js';
import { isReservation, type Step, type WaitBounds, type Walk } from './ladder/step.js';
import type { Events } from './observe/events.js';
import { callFacts, fullFacts } from './observe/facts.js';
import type { Ledger } from './observe/ledger.js';
import type { ResolvedOptions } from './options.js';
import type { Visit } from './visit.js';

/** What the one verb is made of. */
export interface RunParts {
  readonly options: ResolvedOptions;
  readonly admission: Admission;
  readonly line: Line;
  readonly events: Events;
  readonly ledger: Ledger;
  /** Runs `body` with `visit` as the context that calls inside join. */
  inside<T>(visit: Visit, body: () => T): T;
}

/** How a kind of run differs from the plain one. */
export interface RunHow {
  /** `request`: a mount, whose response may be the call's own; `call`: the run is the call. @defaultValue `'call'` */
  readonly kind?: 'request' | 'call';
  /** Runs were seen on this mount before. Asked when the run ends. */
  expectsRuns?(): boolean;
  /** Hears how the run was settled. */
  onSettled?(usage: Usage | undefined, ending: Ending): void;
}

/** The verb, with what only the gate's own callers need. */
export type GovernedRun = <T>(call: Call, send: Send<T>, how?: RunHow) => Promise<Outcome<T>>;

/** The one verb: admit or walk the ladder, send, settle once from how it ended. The only file that sees every interface. */
export function createRun(parts: RunParts): GovernedRun {
  const { options, admission, line, events, ledger } = parts;
  const { clock } = options;
  /** Reservations for which a step lowered the output maximum. */
  const shortened = new WeakSet<Reservation>();

  async function run<T>(call: Call, send: Send<T>, how: RunHow = {}): Promise<Outcome<T>> {
    for (let outer = call.visit.outer; outer; outer = outer.outer) outer.runsSeen++;
    const found = await admitOrDegrade(call);
    if (!isReservation(found)) return 'kind' in found ? answered(call, found) : shed(call, found);
    if (call.visit.signal.aborted) {
      await settle(found, [], call.visit);
      return shed(call, { reason: 'closed', full: [], waitMs: 0 });
    }
    return pass(found, send, how);
  }

  /** Room for the call or a lesser one, an answer, or why there is none of them. */
  async function admitOrDegrade(call: Call): Promise<Reservation | Answer | Refusal> {
    const from = drawsOn(call) ? call.visit.holder?.hold : undefined;
    const frees = line.frees;
    const first = await admission.admit(call, { from });
    if (isReservation(first)) return admitted(first);
    if (events.has('call-refused'))
      events.emit('call-refused', { ...callFacts(call), reason: first.reason, full: fullFacts(first) });
    const walk = createWalk(call, first, from, frees);
    const found = await descend({
      steps: call.visit.ladder,
      walk,
      call,
      isForPeople: call.visit.isOutermostSpeaker,
      onSkip: reportSkip(call),
    });
    if (!found) return walk.refusal;
    return isReservation(found) ? admitted(found) : found;
  }

  function createWalk(call: Call, first: Refusal, from: Reservation | undefined, frees: number): Walk {
    const { visit } = call;
    const tried = new Set([call.model]);
    let refusal = first;
    return {
      call,
      signal: visit.signal,
      get refusal() {
        return refusal;
      },
      async admit(lesser) {
        const result = await admission.admit(lesser, { from });
        const isShorter = (lesser.maximumOutputTokens ?? Infinity) < (call.maximumOutputTokens ?? Infinity);
        if (isReservation(result) && isShorter) shortened.add(result);
        return result;
      },
      async wait(bounds: WaitBounds) {
        const leftMs = bounds.waitMs - visit.waitedMs(clock);
        const admit = async () => {
          const result = await admission.admit(call, { from, isQueued: true });
          if (!isReservation(result)) refusal = result;
          return result;
        };
        const hasPassed = visit.holder !== undefined;
        return visit.waitFor(clock, () =>
          line.wait({ call, refusal, bounds, hasPassed, leftMs, signal: visit.signal, frees, admit }),
        );
      },
      substitutes(of) {
        const names = (of.model === undefined ? undefined : options.models.get(of.model)?.cheaper) ?? [];
        const untried = names.filter((name) => !tried.has(name));
        for (const name of untried) tried.add(name);
        return untried;
      },
      onModel: (of, model) => ({ ...of, model }),
    };
  }

  function admitted(reservation: Reservation): Reservation {
    const { call, id } = reservation;
    if (events.has('call-admitted')) {
      const { inputTokens, expectedOutputTokens } = call;
      events.emit('call-admitted', {
        ...callFacts(call),
        id,
        inputTokens,
        expectedOutputTokens,
        waitedMs: call.visit.waitedMs(clock),
      });
    }
    return reservation;
  }

  /** Sends an admitted call; from here on exactly one settlement follows, whatever happens. */
  async function pass<T>(reservation: Reservation, send: Send<T>, how: RunHow): Promise<Outcome<T>> {
    const { call } = reservation;
    const { visit } = call;
    const kind = passedAs(reservation, visit);
    visit.call = call;
    visit.hold = reservation;
    visit.note(kind, call.model);
    if (how.kind !== 'request') for (let outer = visit.outer; outer; outer = outer.outer) outer.callsMade++;
    try {
      const { value, ended } = await parts.inside(visit, () => send(call, bodyToSend(call)));
      void ended.then((ending) => conclude(reservation, ending, how));
      return { kind, call, value };
    } catch (error) {
      const by = visit.signal.aborted || isAbort(error) ? 'left' : 'failed';
      await conclude(reservation, { by, status: statusOf(error), sentOutputTokens: 0 }, how);
      throw error;
    }
  }

  /** What a passed call received, judged by what changed on the way. */
  function passedAs(reservation: Reservation, visit: Visit): 'passed' | 'queued' | 'shorter' | 'cheaper' {
    const { call } = reservation;
    if (call.model !== call.requestedModel) return 'cheaper';
    if (shortened.has(reservation)) return 'shorter';
    return visit.waitedMs(clock) > 0 ? 'queued' : 'passed';
  }

  async function conclude(reservation: Reservation, ending: Ending, how: RunHow): Promise<void> {
    const { call, charges, id } = reservation;
    const { visit } = call;
    const { runsSeen, callsMade, verdict } = visit;
    const kind = how.kind ?? 'call';
    const expectsRuns = how.expectsRuns?.() ?? false;
    const way = wayOf({ call, ending, kind, runsSeen, callsMade, expectsRuns, verdict, rescued: visit.rescue !== undefined });
    const amounts = amountsFor(charges, way, priceFor(options, call.model));
    const usage = 'usage' in way && call.draft ? way.usage : undefined;
    visit.hold = undefined;
    await settle(reservation, amounts, visit);
    if (usage) tally(call, usage);
    if (events.has('reservation-settled')) {
      const overdraftTokens = charges.reduce(
        (most, { amount, dimension }, index) => (dimension === 'tokens' ? Math.max(most, (amounts[index] ?? 0) - amount) : most),
        0,
      );
      const estimatedInputTokens = call.inputTokens;
      events.emit('reservation-settled', { ...callFacts(call), id, by: way.by, estimatedInputTokens, usage, overdraftTokens });
    }
    how.onSettled?.(usage, ending);
  }

  /** Gives back what was held too much, and lets those who wait for it try. No amounts: all of it. */
  async function settle(reservation: Reservation, amounts: readonly number[], visit: Visit): Promise<void> {
    const { charges } = reservation;
    charges.forEach(({ counter, dimension }, index) => {
      const isKept = dimension === 'requests' && (amounts[index] ?? 0) > 0;
      if (!isKept && visit.shared.paid.get(counter) === visit) visit.shared.paid.delete(counter);
    });
    await reservation.settle(charges.map((_, index) => amounts[index] ?? 0));
    line.freed(charges);
  }

  function tally(call: Call, usage: Usage): void {
    const { shared, identity } = call.visit;
    shared.inputTokens += usage.inputTokens ?? 0;
    shared.outputTokens += usage.outputTokens ?? 0;
    shared.calls++;
    if (usage.model !== undefined) shared.model = options.findModel(usage.model)?.name ?? shared.model;
    const price = priceFor(options, call.model);
    ledger.add(identity, call.model, usage, price ? priceOf(usage, price) : 0);
  }

  function answered<T>(call: Call, answer: Answer): Outcome<T> {
    call.visit.note(answer.kind, answer.model);
    ledger.addAnswer(call.visit.identity, answer.kind);
    return { kind: answer.kind, call, answer };
  }

  function shed<T>(call: Call, refusal: Refusal): Outcome<T> {
    if (call.visit.outer) call.visit.outermostSpeaker.escaped = refusal;
    else call.visit.note('shed', undefined);
    return { kind: 'shed', call, refusal };
  }

  function reportSkip(call: Call) {
    return (step: Step, why: 'cannot-help' | 'for-people' | 'no-help' | 'failed', error?: unknown): void => {
      if (events.has('step-skipped')) events.emit('step-skipped', { ...callFacts(call), step: step.name, why, error });
    };
  }

  return run;
}

/**
 * The remaining steps of a visit's ladder for a handler that gave up on a refused call: answers only.
 * @returns `undefined` when no step has one: the handler's own response stands
 */
export async function rescue(visit: Visit, call: Call, onSkip: Descent['onSkip']): Promise<Answer | undefined> {
  if (!visit.escaped || !call.dialect) return undefined;
  const walk = answersOnly(call, visit.escaped, visit.signal);
  const found = await descend({ steps: visit.ladder, walk, call, isForPeople: visit.isOutermostSpeaker, onSkip });
  if (!found || isReservation(found)) return undefined;
  visit.rescue = found;
  return found;
}

/** The provider's status as SDKs and axios put it on their errors; 0: none. */
function statusOf(error: unknown): number {
  const { status, response } = (error ?? {}) as { status?: unknown; response?: { status?: unknown } };
  const found = status ?? response?.status;
  return typeof found === 'number' ? found : 0;
}

/** An abort or a time-out of the caller: the provider may have begun all the same. */
function isAbort(error: unknown): boolean {
  const name = (error as { name?: unknown } | null)?.name;
  return name === 'AbortError' || name === 'TimeoutError' || name === 'APIUserAbortError' || name === 'CanceledError';
}
