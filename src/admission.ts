import { type Plan, planCharges } from './budget/charges.js';
import type { Saturation } from './budget/saturation.js';
import { amountsFor } from './budget/settlement.js';
import type { Source } from './budget/source.js';
import type { Call, Charge, Refusal, Reservation, Shortage, Usage } from './call.js';
import type { Clock } from './clock.js';
import type { Draft } from './dialects/dialect.js';
import type { Line } from './ladder/line.js';
import type { Place } from './ladder/places.js';
import { isReservation } from './ladder/step.js';
import type { ResolvedOptions } from './options.js';
import { createSourcesOf } from './sources-of.js';
import type { Keeper } from './stores/reservation.js';
import type { Store } from './stores/store.js';
import { isThenable } from './thenable.js';
import type { Visit } from './visit.js';

/** Decides whether a call may run now: all its budgets together, or none. */
export interface Admission {
  /**
   * Holds room for the call, drawing on the runs around it, or says what is full; a refusal changes nothing.
   * @param place - where it stands in line; one who has yet to come when left out
   */
  admit(call: Call, place?: Place): Promise<Reservation | Refusal>;
  /** Charges tokens that were used without having been held: debt, whatever the limits. */
  charge(call: Call, usage: Usage): Promise<void>;
}

export interface AdmissionParts {
  readonly options: ResolvedOptions;
  readonly store: Store;
  readonly keeper: Keeper;
  readonly line: Line;
  readonly saturation: Saturation;
  readonly clock: Clock;
  onStoreError(operation: 'reserve', error: unknown): void;
}

/** Stands for the prompt of a call that nobody could read. */
const NOTHING_READ: Draft = {
  model: '',
  stream: false,
  wantsUsage: false,
  maximumOutputTokens: undefined,
  choices: 1,
  hasTools: false,
  hasFormat: false,
  sections: [],
};

/** What the caller is told to wait when the store is away, in milliseconds. */
const CLOSED_WAIT_MS = 1_000;

export function createAdmission(parts: AdmissionParts): Admission {
  const { options, store, keeper, line, saturation, clock } = parts;
  const sourcesOf = createSourcesOf(options);
  const instance = Math.floor(options.random() * 36 ** 8).toString(36);
  let nextId = 0;

  function admit(call: Call, place?: Place): Promise<Reservation | Refusal> {
    const sources = sourcesOf(call);
    const isAtOnce = !isThenable(sources) && !call.visit.shared.paying;
    return isAtOnce ? admitNow(call, sources, place) : admitLater(call, sources, place);
  }

  async function admitLater(
    call: Call,
    finding: readonly Source[] | PromiseLike<readonly Source[]>,
    place?: Place,
  ): Promise<Reservation | Refusal> {
    const sources = await finding;
    while (call.visit.shared.paying) await call.visit.shared.paying.over;
    return admitNow(call, sources, place);
  }

  /** Nothing is awaited before the store is asked: what was found out must still hold then. */
  async function admitNow(call: Call, sources: readonly Source[], place?: Place): Promise<Reservation | Refusal> {
    const { visit } = call;
    const rides: string[] = [];
    const plan = planCharges(call, sources, factsFor(call, sources, rides));
    const { charges } = plan;
    if (plan.never.length > 0) {
      visit.see({ charges, full: plan.never, atMs: clock.now() });
      return refusal('never-fits', plan.never);
    }
    const from = visit.holderOf(call.requestedModel);
    const ahead = line.depth === 0 ? [] : line.ahead(competing(charges, from), place ?? newcomerOf(visit));
    if (ahead.length > 0) {
      visit.see({ charges, full: ahead, atMs: clock.now() });
      return refusal('full', ahead);
    }
    const payment = startPayment(visit, charges);
    if (rides.length > 0) visit.ride(rides, 1);
    const result = await reserve(plan, from, rides);
    if (rides.length > 0 && !isReservation(result)) visit.ride(rides, -1);
    payment?.end(isReservation(result) ? result.id : undefined);
    return result;
  }

  async function reserve(
    { call, charges }: Pick<Plan, 'call' | 'charges'>,
    from?: Visit,
    rides: readonly string[] = [],
  ): Promise<Reservation | Refusal> {
    const id = `${instance}-${(nextId++).toString(36)}`;
    try {
      const reply = await store.reserve(id, charges, { from: from?.hold?.id, leaseMs: options.leaseMs });
      const atMs = clock.now();
      saturation.see(charges, reply.used, atMs);
      if (reply.kind === 'held') {
        call.visit.see({ charges, used: reply.used, atMs });
        if (from) draw(from, charges);
        return keeper.keep({ id, call, charges, used: reply.used, rides });
      }
      const full = reply.full.map(({ index, waitMs }): Shortage => ({ charge: charges[index] as Charge, waitMs }));
      call.visit.see({ charges, used: reply.used, full, atMs });
      return refusal(full.some((shortage) => shortage.waitMs === Infinity) ? 'never-fits' : 'full', full);
    } catch (error) {
      parts.onStoreError('reserve', error);
      // The command may have arrived, or be on its way still: settled, it holds nothing.
      keeper.forget(id, charges.length);
      return { reason: 'closed', full: [], waitMs: CLOSED_WAIT_MS };
    }
  }

  async function charge(call: Call, usage: Usage): Promise<void> {
    const sources = await sourcesOf(call);
    const price = priceFor(options, call.model);
    const debts: Charge[] = [];
    for (const charge of planCharges({ ...call, draft: NOTHING_READ }, sources, factsFor(call, sources)).charges) {
      const isUnit = charge.dimension === 'requests' || charge.dimension === 'concurrent';
      const [amount = 0] = amountsFor([charge], { by: 'counted', usage }, price);
      if (!isUnit && amount > 0) debts.push({ ...charge, amount, refuseAt: Infinity, paced: false });
    }
    const held = debts.length > 0 ? await reserve({ call, charges: debts }) : undefined;
    if (held && 'charges' in held) await held.settle(debts.map(({ amount }) => amount));
  }

  /** @param rides - hears which requests are paid already */
  function factsFor(call: Call, sources: readonly Source[], rides: string[] = []) {
    return {
      price: priceFor(options, call.model),
      isSaturated: saturation.isHigh(sources, clock.now()),
      isPaid(counter: string, dimension: 'requests' | 'concurrent') {
        const isPaid = call.visit.isPaid(counter, dimension);
        if (isPaid && dimension === 'requests') rides.push(counter);
        return isPaid;
      },
      isWaited: (counter: string) => line.isWaited(counter),
    };
  }

  return { admit, charge };
}

/** Micro-dollars per token of a model; `undefined` when nothing is known. */
export function priceFor(options: ResolvedOptions, model: string | undefined) {
  return (model === undefined ? undefined : options.models.get(model)?.price) ?? options.defaultPrice;
}

function draw(from: Visit, charges: readonly Charge[]): void {
  from.isDrawnOn = true;
  for (const { counter, amount } of charges) from.drawn.set(counter, (from.drawn.get(counter) ?? 0) + amount);
}

/** How a run that has yet to come to the line stands in it. */
const newcomerOf = (visit: Visit): Place => ({ hasPassed: visit.holder !== undefined, arrival: Infinity });

/**
 * Marks the visit's requests as paid while the store is asked, so that parallel runs of one visit neither pay twice nor pass
 * unpaid: whoever comes meanwhile waits for the answer, and whoever passes on a paid one keeps it from being refunded.
 * @returns `undefined` when the run pays no request
 */
function startPayment(visit: Visit, charges: readonly Charge[]): Payment | undefined {
  if (!charges.some(paysRequest)) return undefined;
  const payment = new Payment(visit, charges);
  visit.shared.paying = payment;
  return payment;
}

class Payment {
  readonly #visit: Visit;
  readonly #charges: readonly Charge[];
  #waiters: (() => void)[] | undefined;

  constructor(visit: Visit, charges: readonly Charge[]) {
    this.#visit = visit;
    this.#charges = charges;
  }

  /** Resolves when the store has answered. */
  get over(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters ??= [];
      this.#waiters.push(resolve);
    });
  }

  /** @param by - the reservation that pays; `undefined`: nothing was paid */
  end(by: string | undefined): void {
    if (by !== undefined) for (const charge of this.#charges) if (paysRequest(charge)) this.#visit.pay(charge.counter, by);
    this.#visit.shared.paying = undefined;
    if (this.#waiters) for (const resolve of this.#waiters) resolve();
  }
}

const paysRequest = ({ per, dimension }: Charge): boolean => per === 'visit' && dimension === 'requests';

/** The charges for which others in line must be let go first: they may be refused, and ask for more than the drawn hold has. */
function competing(charges: readonly Charge[], from: Visit | undefined): readonly Charge[] {
  const held = new Map(from?.hold?.charges.map(({ counter, amount }) => [counter, amount - (from.drawn.get(counter) ?? 0)]));
  return charges.filter(({ counter, amount, refuseAt }) => refuseAt < Infinity && amount > Math.max(0, held.get(counter) ?? 0));
}

function refusal(reason: 'full' | 'never-fits', full: readonly Shortage[]): Refusal {
  return { reason, full, waitMs: full.reduce((longest, { waitMs }) => Math.max(longest, waitMs), 0) };
}
