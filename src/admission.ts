import type { Budget } from './budget/budget.js';
import { type Plan, planCharges, type Source } from './budget/charges.js';
import type { Saturation } from './budget/saturation.js';
import { amountsFor } from './budget/settlement.js';
import type { Call, Charge, Refusal, Reservation, Shortage, Usage } from './call.js';
import type { Clock } from './clock.js';
import type { Draft } from './dialects/dialect.js';
import { encodeKey } from './identity.js';
import type { Line } from './ladder/line.js';
import type { Place } from './ladder/places.js';
import { isReservation } from './ladder/step.js';
import type { ResolvedOptions } from './options.js';
import type { Keeper } from './stores/reservation.js';
import type { Store } from './stores/store.js';
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
  const instance = Math.floor(options.random() * 36 ** 8).toString(36);
  let nextId = 0;

  async function admit(call: Call, place?: Place): Promise<Reservation | Refusal> {
    const sources = await sourcesOf(call);
    while (call.visit.shared.paying) await call.visit.shared.paying;
    // From here to the store nothing is awaited: what was found out must still hold when it is asked.
    const rides: string[] = [];
    const plan = planCharges(call, sources, factsFor(call, sources, rides));
    const { charges } = plan;
    if (plan.never.length > 0) {
      call.visit.see({ charges, full: plan.never, atMs: clock.now() });
      return refusal('never-fits', plan.never);
    }
    const from = call.visit.holderOf(call.requestedModel);
    const newcomer = { hasPassed: call.visit.holder !== undefined, arrival: Infinity };
    const ahead = line.depth === 0 ? [] : line.ahead(competing(charges, from), place ?? newcomer);
    if (ahead.length > 0) {
      call.visit.see({ charges, full: ahead, atMs: clock.now() });
      return refusal('full', ahead);
    }
    return payingUnits(call.visit, plan, rides, () => reserve(plan, from, rides));
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
        for (const { counter, amount } of charges) from?.drawn.set(counter, (from.drawn.get(counter) ?? 0) + amount);
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

  /** Everything whose budgets the call falls under: its model, global, the identity's scopes, the mount. */
  async function sourcesOf(call: Call): Promise<readonly Source[]> {
    const sources: Source[] = [];
    const model = call.model === undefined ? undefined : options.models.get(call.model);
    if (model && model.budgets.length > 0) {
      const pool = typeof model.pool === 'function' ? model.pool(call) : model.pool;
      sources.push({ scope: 'model', key: pool, prefix: `model|${encodeKey(pool)}`, budgets: model.budgets, units: 'call' });
    }
    for (const scope of options.scopes) {
      const key = scope.name === 'global' ? 'global' : call.visit.identity[scope.name];
      if (key === undefined) continue;
      const found = scope.budgetsOf(key);
      addSource(scope.name, key, '', found instanceof Promise ? await found : found);
    }
    for (let visit: Visit | undefined = call.visit; visit; visit = visit.outer) {
      for (const [scope, budgets] of visit.mountBudgets ?? []) {
        const key = scope === 'route' ? visit.route : scope === 'global' ? 'global' : call.visit.identity[scope];
        if (key !== undefined) addSource(scope, key, `|route:${encodeKey(visit.route ?? '')}`, budgets);
      }
    }
    return sources;

    function addSource(scope: string, key: string, place: string, budgets: readonly Budget[]): void {
      const prefix = `${scope}|${encodeKey(key)}${place}`;
      // The same mount twice around one request counts once.
      const taken = sources.flatMap((source) => (source.prefix === prefix ? source.budgets.map(({ suffix }) => suffix) : []));
      const fresh = taken.length === 0 ? budgets : budgets.filter(({ suffix }) => !taken.includes(suffix));
      if (fresh.length > 0) sources.push({ scope, key, prefix, budgets: fresh, units: 'visit' });
    }
  }

  /** @param rides - hears which requests are paid already */
  function factsFor(call: Call, sources: readonly Source[], rides: string[] = []) {
    return {
      price: priceFor(options, call.model),
      isSaturated: saturation.isHigh(sharedCounters(sources), clock.now()),
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

/**
 * Marks the visit's requests as paid while the store is asked, so that parallel runs of one visit neither pay twice nor pass
 * unpaid: whoever comes meanwhile waits for the answer, and whoever passes on a paid one keeps it from being refunded.
 */
async function payingUnits(
  visit: Visit,
  plan: Plan,
  rides: readonly string[],
  reserve: () => Promise<Reservation | Refusal>,
): Promise<Reservation | Refusal> {
  const { shared } = visit;
  const units = plan.charges.filter(({ per, dimension }) => per === 'visit' && dimension === 'requests');
  let done: () => void = () => {};
  if (units.length > 0) {
    shared.paying = new Promise((resolve) => {
      done = resolve;
    });
  }
  visit.ride(rides, 1);
  const result = await reserve();
  if (isReservation(result)) for (const { counter } of units) visit.pay(counter, result.id);
  else visit.ride(rides, -1);
  if (units.length > 0) shared.paying = undefined;
  done();
  return result;
}

/** The charges for which others in line must be let go first: they may be refused, and ask for more than the drawn hold has. */
function competing(charges: readonly Charge[], from: Visit | undefined): readonly Charge[] {
  const held = new Map(from?.hold?.charges.map(({ counter, amount }) => [counter, amount - (from.drawn.get(counter) ?? 0)]));
  return charges.filter(({ counter, amount, refuseAt }) => refuseAt < Infinity && amount > Math.max(0, held.get(counter) ?? 0));
}

function* sharedCounters(sources: readonly Source[]): Iterable<string> {
  for (const { scope, prefix, budgets } of sources)
    if (scope === 'model' || scope === 'global') for (const { suffix } of budgets) yield `${prefix}|${suffix}`;
}

function refusal(reason: 'full' | 'never-fits', full: readonly Shortage[]): Refusal {
  return { reason, full, waitMs: full.reduce((longest, { waitMs }) => Math.max(longest, waitMs), 0) };
}
