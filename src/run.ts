import type { Admission } from './admission.js';
import type { Answer, Call, Ending, Outcome, Refusal, Reservation, Send, Usage } from './call.js';
import { bodyToSend } from './draft-call.js';
import { complaintOf } from './http/render.js';
import { answersOnly, type Descent, descend } from './ladder/ladder.js';
import type { Line } from './ladder/line.js';
import { isReservation, type Step } from './ladder/step.js';
import { createWalk } from './ladder/walk.js';
import type { Learning } from './learning/learning.js';
import type { Events } from './observe/events.js';
import { callFacts, fullFacts } from './observe/facts.js';
import type { Ledger } from './observe/ledger.js';
import type { ResolvedOptions } from './options.js';
import { createSettling } from './settling.js';
import { isThenable } from './thenable.js';
import type { Visit } from './visit.js';

/** What the one verb is made of. */
export interface RunParts {
  readonly options: ResolvedOptions;
  readonly admission: Admission;
  readonly line: Line;
  readonly events: Events;
  readonly ledger: Ledger;
  readonly learning: Learning | undefined;
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
  const { conclude, giveBack, drop } = createSettling(parts);
  /** Reservations for which a step lowered the output maximum. */
  const shortened = new WeakSet<Reservation>();

  async function run<T>(call: Call, send: Send<T>, how: RunHow = {}): Promise<Outcome<T>> {
    for (let outer = call.visit.outer; outer; outer = outer.outer) outer.runsSeen++;
    const { frees } = line;
    const first = await admission.admit(call);
    const found = isReservation(first) ? first : await degrade(call, first, frees);
    if (!isReservation(found)) return 'kind' in found ? answered(call, found) : shed(call, found);
    tellAdmitted(found);
    if (call.visit.leaver.hasLeft) {
      await giveBack(found);
      return shed(call, { reason: 'closed', full: [], waitMs: 0 });
    }
    return pass(found, send, how);
  }

  /**
   * Room for a lesser call, or for the same a little later, an answer, or why there is none of them.
   * @param frees - `Line.frees` from before the first refusal
   */
  async function degrade(call: Call, first: Refusal, frees: number): Promise<Reservation | Answer | Refusal> {
    if (events.has('call-refused'))
      events.emit('call-refused', { ...callFacts(call), reason: first.reason, full: fullFacts(first) });
    const { visit } = call;
    const walk = createWalk({
      call,
      first,
      frees,
      line,
      clock,
      async admit(lesser, place) {
        const result = await admission.admit(lesser, place);
        const isShorter = (lesser.maximumOutputTokens ?? Infinity) < (call.maximumOutputTokens ?? Infinity);
        if (isReservation(result) && isShorter) shortened.add(result);
        return result;
      },
      cheaperThan: (model) => (model === undefined ? undefined : options.models.get(model)?.cheaper) ?? [],
      giveBack: drop,
    });
    const { ladder: steps, isOutermostSpeaker: isForPeople } = visit;
    const found = await descend({ steps, walk, call, isForPeople, onSkip: reportSkip(call), onTurn: walk.endTurn });
    return found ?? walk.refusal;
  }

  function tellAdmitted({ call, id }: Reservation): void {
    if (!events.has('call-admitted')) return;
    const { inputTokens, expectedOutputTokens } = call;
    const waitedMs = call.visit.waitedMs(clock);
    events.emit('call-admitted', { ...callFacts(call), id, inputTokens, expectedOutputTokens, waitedMs });
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
      const sending = parts.inside(visit, () => send(call, bodyToSend(call)));
      const { value, ended } = isThenable(sending) ? await sending : sending;
      void ended.then((ending) => conclude(reservation, ending, how));
      return { kind, call, value };
    } catch (error) {
      const by = visit.leaver.hasLeft || isAbort(error) ? 'left' : 'failed';
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

  function answered<T>(call: Call, answer: Answer): Outcome<T> {
    call.visit.note(answer.kind, answer.model);
    ledger.addAnswer(call.visit.identity, answer.kind);
    return { kind: answer.kind, call, answer };
  }

  function shed<T>(call: Call, refusal: Refusal): Outcome<T> {
    const speaker = call.visit.outermostSpeaker;
    if (speaker === call.visit) speaker.note('shed', undefined);
    else speaker.escaped = refusal;
    if (!call.visit.leaver.hasLeft && events.has('call-shed')) {
      const { reason } = refusal;
      events.emit('call-shed', {
        ...callFacts(call),
        reason,
        full: fullFacts(refusal),
        status: complaintOf(refusal, call.visit.refuseWith ?? options.refuseWith).status,
      });
    }
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

/** An abort or a time-out of the caller, as fetch, axios and the official SDKs say it: the provider may have begun all the same. */
function isAbort(error: unknown): boolean {
  const { name, code, constructor: kind } = (error ?? {}) as { name?: unknown; code?: unknown; constructor?: { name?: unknown } };
  return ABORTS.has(name) || ABORTS.has(code) || ABORTS.has(kind?.name);
}

const ABORTS = new Set<unknown>([
  'AbortError',
  'TimeoutError',
  'APIUserAbortError',
  'APIConnectionTimeoutError',
  'CanceledError',
  'ECONNABORTED',
]);
