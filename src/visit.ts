import type { Budget } from './budget/budget.js';
import { noteStandings, type Sighting, type Standing } from './budget/standing.js';
import {
  type Answer,
  type Call,
  type Charge,
  type Identity,
  OUTCOMES,
  type OutcomeKind,
  type Refusal,
  type RefuseWith,
  type Reservation,
  type Usage,
} from './call.js';
import type { Clock } from './clock.js';
import type { Step } from './ladder/step.js';
import { type Leaver, leaverBy, NOBODY } from './leaver.js';

/** What a visit is made of. */
export interface VisitFacts {
  readonly identity: Identity;
  /** Named scopes that the gate knows, `global` aside: what a cache partition is made of. */
  readonly scopes: readonly string[];
  readonly route?: string | undefined;
  /** Where its answers come from: a mount's route or `call`; never shared between the two by a cache. */
  readonly place: string;
  readonly ladder: readonly Step[];
  /** Budgets of the mount: `route` or scope name to budgets with counters of their own. */
  readonly mountBudgets?: ReadonlyMap<string, readonly Budget[]> | undefined;
  /** How refusals are answered; that of the visit around it when left out. */
  readonly refuseWith?: RefuseWith | undefined;
  /** Who may leave; whoever may leave the visit around it when left out. */
  readonly leaver?: Leaver | AbortSignal | undefined;
  readonly outer?: Visit | undefined;
}

/** What the visit's runs have in common, however deep they nest. */
interface Shared {
  /** The visit's one request on each counter: the reservation that pays it, and how many runs pass on it unpaid. */
  readonly paid: Map<string, { readonly by: string; riders: number }>;
  /** Set while a run is asking the store for visit units: a parallel one must not pay twice, nor pass unpaid. */
  paying: { readonly over: Promise<void> } | undefined;
  /** The request that began the visit has been answered. */
  isOver: boolean;
  waiting: number;
  waitingSinceMs: number;
  waitedMs: number;
  worst: OutcomeKind;
  model: string | undefined;
  inputTokens: number;
  outputTokens: number;
  calls: number;
  /** The caller's own budgets by counter, widest scope first. */
  readonly standings: Map<string, Standing>;
  /** What `retry-after` told the caller, in seconds. */
  retryAfter: number | undefined;
}

/**
 * Who is passing (a request, a job, or one run inside either), and what it still has: a hold that inner runs draw on, and
 * patience. Runs inside one another form a chain of visits by `outer`; units and patience belong to the whole chain.
 */
export class Visit {
  readonly identity: Identity;
  readonly scopes: readonly string[];
  readonly route: string | undefined;
  readonly place: string;
  readonly ladder: readonly Step[];
  readonly mountBudgets: ReadonlyMap<string, readonly Budget[]> | undefined;
  readonly refuseWith: RefuseWith | undefined;
  readonly leaver: Leaver;
  readonly outer: Visit | undefined;
  readonly shared: Shared;
  /** The admitted call while its run is under way, and its hold. */
  call: Call | undefined;
  hold: Reservation | undefined;
  /** A run inside is, or was, part of what the hold is for. */
  isDrawnOn = false;
  /** What runs inside have drawn from the hold so far, by counter. */
  readonly drawn = new Map<string, number>();
  /** Runs begun inside, and those of them that really called a model. */
  runsSeen = 0;
  callsMade = 0;
  /** The handler's own word on how to settle. */
  verdict: { readonly usage: Usage } | 'cancel' | undefined;
  /** An inner run was refused: what the outermost ladder may still answer if the handler gives up. */
  escaped: Refusal | undefined;
  /** What was answered in the handler's place after that. */
  rescue: Answer | undefined;

  constructor(facts: VisitFacts) {
    this.identity = facts.identity;
    this.scopes = facts.scopes;
    this.route = facts.route;
    this.place = facts.place;
    this.ladder = facts.ladder;
    this.mountBudgets = facts.mountBudgets;
    this.refuseWith = facts.refuseWith ?? facts.outer?.refuseWith;
    this.outer = facts.outer;
    const { leaver = facts.outer?.leaver ?? NOBODY } = facts;
    this.leaver = 'hasLeft' in leaver ? leaver : leaverBy(leaver);
    this.shared = facts.outer?.shared ?? {
      paid: new Map(),
      paying: undefined,
      isOver: false,
      waiting: 0,
      waitingSinceMs: 0,
      waitedMs: 0,
      worst: 'passed',
      model: undefined,
      inputTokens: 0,
      outputTokens: 0,
      calls: 0,
      standings: new Map(),
      retryAfter: undefined,
    };
  }

  /** Fires when its caller has left. */
  get signal(): AbortSignal {
    return this.leaver.signal;
  }

  /** Whether {@link Visit.signal} can ever fire. */
  get canLeave(): boolean {
    return this.leaver !== NOBODY;
  }

  /** The nearest visit around this one whose run is under way. */
  get holder(): Visit | undefined {
    for (let visit = this.outer; visit; visit = visit.outer) if (visit.hold) return visit;
    return undefined;
  }

  /** Whether a run of this visit answers people: no run around it speaks a dialect. */
  get isOutermostSpeaker(): boolean {
    for (let visit = this.outer; visit; visit = visit.outer) if (visit.call?.dialect) return false;
    return true;
  }

  /** The outermost visit around this one that speaks a dialect; the visit itself when there is none. */
  get outermostSpeaker(): Visit {
    let found: Visit = this;
    for (let visit = this.outer; visit; visit = visit.outer) if (visit.call?.dialect) found = visit;
    return found;
  }

  /** Notes what a run inside received; the visit reports the worst. */
  note(outcome: OutcomeKind, model: string | undefined): void {
    const { shared } = this;
    if (OUTCOMES.indexOf(outcome) > OUTCOMES.indexOf(shared.worst)) shared.worst = outcome;
    if (model !== undefined) shared.model = model;
  }

  /**
   * Notes how budgets stand, those of keys that a mount around this run identified: what belongs to others, or to everybody,
   * no answer may tell, even where a call inside was made in another name.
   */
  see(sighting: Sighting): void {
    noteStandings(this.shared.standings, sighting, (charge) => this.#isOfCaller(charge));
  }

  #isOfCaller({ scope, key }: Charge): boolean {
    for (let visit: Visit | undefined = this; visit; visit = visit.outer)
      if (visit.place !== 'call' && visit.identity[scope] === key) return true;
    return false;
  }

  /** The nearest visit around this one whose run is under way and asked for this model, or was given it: its hold is drawn on. */
  holderOf(model: string | undefined): Visit | undefined {
    if (model === undefined) return undefined;
    for (let visit = this.outer; visit; visit = visit.outer)
      if (visit.hold && (visit.call?.requestedModel === model || visit.call?.model === model)) return visit;
    return undefined;
  }

  /** Whether somebody pays this unit for the visit: a request once for all runs, concurrency only for runs inside the payer's. */
  isPaid(counter: string, kind: 'requests' | 'concurrent'): boolean {
    if (kind === 'requests') return this.shared.paid.has(counter);
    for (let visit = this.outer; visit; visit = visit.outer)
      if (visit.hold?.charges.some((charge) => charge.counter === counter)) return true;
    return false;
  }

  /** A reservation pays the visit's request. */
  pay(counter: string, by: string): void {
    this.shared.paid.set(counter, { by, riders: 0 });
  }

  /** A run passes on requests that are paid, or did not after all: while one does, they stay. */
  ride(counters: readonly string[], sign: 1 | -1): void {
    for (const counter of counters) {
      const request = this.shared.paid.get(counter);
      if (request) request.riders += sign;
    }
  }

  /** Takes the visit's request back from who paid it. @returns whether it may be refunded */
  takeBack(counter: string, by: string): boolean {
    const request = this.shared.paid.get(counter);
    if (request?.by !== by) return true;
    if (request.riders > 0) return false;
    this.shared.paid.delete(counter);
    return true;
  }

  /** Runs `wait` with its time counted into the visit's patience; parallel waits count once. */
  async waitFor<T>(clock: Clock, wait: () => Promise<T>): Promise<T> {
    const { shared } = this;
    if (shared.waiting++ === 0) shared.waitingSinceMs = clock.now();
    try {
      return await wait();
    } finally {
      if (--shared.waiting === 0) shared.waitedMs += Math.max(0, clock.now() - shared.waitingSinceMs);
    }
  }

  /** How long the visit has waited so far, in milliseconds. */
  waitedMs(clock: Clock): number {
    const { shared } = this;
    return shared.waitedMs + (shared.waiting > 0 ? Math.max(0, clock.now() - shared.waitingSinceMs) : 0);
  }
}
