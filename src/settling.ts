import { priceFor } from './admission.js';
import type { Price } from './budget/budget.js';
import { priceOf } from './budget/price.js';
import { amountsFor, hasHappened, type Way, wayOf } from './budget/settlement.js';
import type { Call, Ending, Reservation, Usage } from './call.js';
import type { Line } from './ladder/line.js';
import type { Learning } from './learning/learning.js';
import { lessonOf } from './learning/lesson.js';
import type { Events } from './observe/events.js';
import { callFacts } from './observe/facts.js';
import type { Ledger } from './observe/ledger.js';
import type { ResolvedOptions } from './options.js';
import type { RunHow } from './run.js';

/** What settling needs. */
export interface SettlingParts {
  readonly options: ResolvedOptions;
  readonly line: Line;
  readonly events: Events;
  readonly ledger: Ledger;
  /** `undefined`: nothing is learned. */
  readonly learning: Learning | undefined;
}

/** The end of runs: each reservation is settled once, by what became of it. */
export interface Settling {
  /** A run that was sent has ended: charges what it came to, and tells who used it. */
  conclude(reservation: Reservation, ending: Ending, how: RunHow): Promise<void>;
  /** An admission that nobody is left to use. */
  giveBack(reservation: Reservation): Promise<void>;
  /** One that no step kept, and nobody heard of. */
  drop(reservation: Reservation): Promise<void>;
}

export function createSettling({ options, line, events, ledger, learning }: SettlingParts): Settling {
  async function conclude(reservation: Reservation, ending: Ending, how: RunHow): Promise<void> {
    const { call, charges } = reservation;
    const { visit } = call;
    const { runsSeen, callsMade, verdict } = visit;
    const rescued = visit.rescue !== undefined;
    const kind = how.kind ?? 'call';
    const expectsRuns = how.expectsRuns?.() ?? false;
    const isOwnAnswer = !visit.isDrawnOn && answeredBy(ending.usage) === call.model;
    const way = wayOf({ call, ending, kind, runsSeen, callsMade, isOwnAnswer, expectsRuns, verdict, rescued });
    const usage = 'usage' in way && call.draft ? way.usage : undefined;
    const price = priceFor(options, answeredBy(usage) ?? call.model);
    const amounts = amountsFor(charges, way, price);
    visit.hold = undefined;
    await settle(reservation, amounts, hasHappened(way));
    if (usage) tally(call, usage, price);
    if (usage && learning) {
      const lesson = lessonOf({ call, ending, kind, runsSeen, verdict, answeredBy: answeredBy(usage) });
      if (lesson) learning.learn(call, lesson);
    }
    report(reservation, amounts, way.by, usage);
    how.onSettled?.(usage, ending);
  }

  /** The model that the answer names, where it is one of ours: a gateway may have asked another one. */
  function answeredBy(usage: Usage | undefined): string | undefined {
    return usage?.model === undefined ? undefined : options.findModel(usage.model)?.name;
  }

  async function giveBack(reservation: Reservation): Promise<void> {
    await drop(reservation);
    const nothing = reservation.charges.map(() => 0);
    report(reservation, nothing, 'cancelled', undefined);
  }

  function drop(reservation: Reservation): Promise<void> {
    const nothing = reservation.charges.map(() => 0);
    return settle(reservation, nothing, false);
  }

  /** Gives back what was held too much, and lets those who wait for it try. */
  async function settle(reservation: Reservation, amounts: readonly number[], happened: boolean): Promise<void> {
    const { call, id, charges, rides } = reservation;
    if (!happened) call.visit.ride(rides, -1);
    const real = charges.map(({ counter, dimension }, index) => {
      const amount = amounts[index] ?? 0;
      const isRefused = dimension === 'requests' && amount === 0 && !call.visit.takeBack(counter, id);
      return isRefused ? 1 : amount;
    });
    await reservation.settle(real);
    line.freed(charges.filter(({ amount }, index) => (real[index] as number) < amount));
  }

  function tally(call: Call, usage: Usage, price: Price | undefined): void {
    const { shared, identity } = call.visit;
    shared.inputTokens += usage.inputTokens ?? 0;
    shared.outputTokens += usage.outputTokens ?? 0;
    shared.calls++;
    shared.model = answeredBy(usage) ?? shared.model;
    ledger.add(identity, call.model, usage, price ? priceOf(usage, price) : 0);
  }

  function report(reservation: Reservation, amounts: readonly number[], by: Way['by'], usage: Usage | undefined): void {
    if (!events.has('reservation-settled')) return;
    const { call, charges, id } = reservation;
    const overdraftTokens = charges.reduce(
      (most, { amount, dimension }, index) => (dimension === 'tokens' ? Math.max(most, (amounts[index] ?? 0) - amount) : most),
      0,
    );
    const estimatedInputTokens = call.inputTokens;
    events.emit('reservation-settled', { ...callFacts(call), id, by, estimatedInputTokens, usage, overdraftTokens });
  }

  return { conclude, giveBack, drop };
}
