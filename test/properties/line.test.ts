import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Charge, Refusal, Reservation, Shortage } from '../../src/call.js';
import { createLine } from '../../src/ladder/line.js';
import { isBefore, type Place } from '../../src/ladder/places.js';
import { budgetOf, callOf, chargeOf } from '../support/builders.js';
import { createVirtualClock, settled } from '../support/virtual-clock.js';
import { heldBy } from '../support/waiting.js';

/** Room on these is made by settlements, which are announced, or only by time. */
const FREED = ['a', 'b', 'c'];
const TIMED = ['s', 't'];
const COUNTERS = [...FREED, ...TIMED];
const WAIT_MS = 2_000;

type Action =
  | {
      readonly kind: 'come';
      readonly wants: Readonly<Record<string, number>>;
      readonly hasPassed: boolean;
      /** How long each of its tries takes. */
      readonly takesMs: number;
      /** How long it does something else between its refusal and its wait. */
      readonly hesitatesMs: number;
    }
  | { readonly kind: 'free'; readonly counter: string; readonly amount: number }
  | { readonly kind: 'leave'; readonly who: number }
  | { readonly kind: 'pass time'; readonly ms: number };

const wants = fc.dictionary(fc.constantFrom(...COUNTERS), fc.integer({ min: 1, max: 3 }), {
  minKeys: 1,
  maxKeys: 3,
  noNullPrototype: true,
});
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('come' as const),
      wants,
      hasPassed: fc.boolean(),
      takesMs: fc.constantFrom(0, 0, 0, 30),
      hesitatesMs: fc.constantFrom(0, 0, 20),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('free' as const),
      counter: fc.constantFrom(...FREED),
      amount: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), who: fc.nat(30) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass time' as const), ms: fc.integer({ min: 1, max: 700 }) }) },
);
/** When timed counters get room: counter, time, amount. */
const releases = fc.array(
  fc.tuple(fc.constantFrom(...TIMED), fc.integer({ min: 1, max: 4_000 }), fc.integer({ min: 1, max: 3 })),
  {
    maxLength: 12,
  },
);

/** One who came, as the test knows it. */
interface Guest {
  readonly charges: readonly Charge[];
  readonly leaving: AbortController;
  readonly place: Place;
  /** What refused it last, and when it heard so. */
  refusal: Refusal;
  refusedAtMs: number;
  /** The refusal before, until the line has surely heard of the new one. */
  before: Refusal | undefined;
  isTrying: boolean;
  /** It found room, whether or not it has heard of it. */
  isIn: boolean;
  ends: ('held' | 'none')[];
}

/** Counters with so much room each, and everybody who came for some. */
function createHouse(timed: readonly (readonly [string, number, number])[]) {
  const clock = createVirtualClock();
  const startMs = clock.now();
  const line = createLine(clock);
  const room = new Map(COUNTERS.map((counter) => [counter, 1]));
  const guests: Guest[] = [];
  const faults: string[] = [];
  /** Those past whom somebody tried, or got in, who came later; no fault if they had just left. */
  const passed: Guest[] = [];
  const returned: Charge[] = [];
  const due = [...timed].sort(([, a], [, b]) => a - b);

  function roomOf(counter: string): number {
    while (due[0] && due[0][1] <= clock.now() - startMs) {
      const [freed, , amount] = due.shift() as [string, number, number];
      room.set(freed, (room.get(freed) ?? 0) + amount);
    }
    return room.get(counter) as number;
  }
  function shortageOf(charge: Charge): Shortage | undefined {
    let left = roomOf(charge.counter);
    if (left >= charge.amount) return undefined;
    if (FREED.includes(charge.counter)) return { charge, waitMs: 0 };
    for (const [counter, atMs, amount] of due) {
      if (counter === charge.counter) left += amount;
      if (left >= charge.amount) return { charge, waitMs: atMs - (clock.now() - startMs) };
    }
    return { charge, waitMs: Infinity };
  }
  function refusalOf(full: readonly Shortage[]): Refusal {
    const waitMs = Math.max(0, ...full.map((shortage) => shortage.waitMs));
    return { reason: waitMs === Infinity ? 'never-fits' : 'full', full, waitMs };
  }
  const shortagesOf = ({ charges }: Guest) => charges.flatMap((charge) => shortageOf(charge) ?? []);
  /** Where a guest stands by the rule: for what takes longest, and for what nobody can foretell. */
  function standsIn({ refusal, before, leaving, ends }: Guest): readonly string[] {
    if (leaving.signal.aborted || ends.length > 0) return [];
    const lines = [refusal, before ?? refusal].map(({ full, waitMs: longestMs }) =>
      full.filter(({ waitMs }) => waitMs === 0 || waitMs === longestMs).map(({ charge }) => charge.counter),
    );
    return lines[0]?.filter((counter) => lines[1]?.includes(counter)) ?? [];
  }
  const isWaiting = (guest: Guest) => guest.ends.length === 0;

  /** Everybody who stands in one of these lines and came before a guest. */
  function before(guest: Guest, counters: readonly string[]): Guest[] {
    return guests.filter(
      (other) =>
        other !== guest &&
        !other.isIn &&
        isBefore(other.place, guest.place) &&
        standsIn(other).some((counter) => counters.includes(counter)),
    );
  }
  const needs = ({ charges }: Guest) => charges.map(({ counter }) => counter);

  async function come({ wants: wanted, hasPassed, takesMs, hesitatesMs }: Extract<Action, { kind: 'come' }>): Promise<void> {
    const budget = budgetOf({ concurrent: 5 });
    const charges = Object.entries(wanted).map(([counter, amount]) => chargeOf({ counter, amount, budget }));
    const leaving = new AbortController();
    const newcomer = { hasPassed, arrival: Infinity };
    const { frees } = line;
    const refusal = refusalOf(fullFor(charges, newcomer));
    if (refusal.full.length === 0) return take(charges);
    if (refusal.reason !== 'full') return;
    const refusedAtMs = clock.now();
    if (hesitatesMs > 0) await new Promise<void>((resolve) => void clock.after(hesitatesMs, resolve));
    const place = { hasPassed, arrival: guests.length };
    const guest: Guest = {
      charges,
      leaving,
      place,
      refusal,
      refusedAtMs,
      before: undefined,
      isTrying: false,
      isIn: false,
      ends: [],
    };
    guests.push(guest);
    const result = await line.wait({
      call: callOf(),
      refusal,
      refusedAtMs,
      bounds: { waitMs: WAIT_MS, maxRequests: 1_000, maxTokens: 1_000_000 },
      hasPassed,
      leftMs: WAIT_MS,
      signal: leaving.signal,
      frees,
      admit: (where) => admit(guest, where, takesMs),
      giveBack() {
        returned.push(...charges);
        give(charges);
      },
    });
    guest.ends.push(result ? 'held' : 'none');
  }
  /** What is in the way of somebody: those who stand before it, else what has no room. */
  function fullFor(charges: readonly Charge[], place: Place): readonly Shortage[] {
    const ahead = line.ahead(charges, place);
    return ahead.length > 0 ? ahead : charges.flatMap((charge) => shortageOf(charge) ?? []);
  }

  async function admit(guest: Guest, place: Place, takesMs: number): Promise<Reservation | Refusal> {
    if (place.hasPassed !== guest.place.hasPassed) faults.push('it lost its class');
    if (guest.isTrying) faults.push('one waiter tries twice at a time');
    passed.push(...before(guest, standsIn(guest)));
    guest.isTrying = true;
    const full = fullFor(guest.charges, place);
    if (full.length === 0) {
      passed.push(...before(guest, needs(guest)));
      take(guest.charges);
      guest.isIn = true;
    }
    if (takesMs > 0) await new Promise<void>((resolve) => void clock.after(takesMs, resolve));
    guest.isTrying = false;
    if (full.length === 0) return heldBy(callOf());
    guest.before = guest.refusal;
    guest.refusal = refusalOf(full);
    guest.refusedAtMs = clock.now();
    setImmediate(() => {
      guest.before = undefined;
    });
    return guest.refusal;
  }

  function take(charges: readonly Charge[]): void {
    for (const { counter, amount } of charges) room.set(counter, roomOf(counter) - amount);
  }
  function give(charges: readonly Charge[]): void {
    for (const { counter, amount } of charges) room.set(counter, roomOf(counter) + amount);
    line.freed(charges);
  }
  /** What was found for those who did not get in after all, and did not come back. */
  function leaked(): number {
    const sum = (charges: readonly Charge[]) => charges.reduce((total, { amount }) => total + amount, 0);
    return sum(guests.flatMap(({ charges, isIn, ends }) => (isIn && ends[0] === 'none' ? charges : []))) - sum(returned);
  }

  /** Those at the head of all their lines whose time has come and who have room, but were not tried: their wake got lost. */
  function forgotten(): Guest[] {
    if (guests.some(({ isTrying }) => isTrying)) return [];
    return guests.filter((guest) => {
      const { refusal, refusedAtMs, isIn } = guest;
      const isDue = refusal.waitMs === 0 || clock.now() >= refusedAtMs + refusal.waitMs;
      return isWaiting(guest) && !isIn && isDue && before(guest, needs(guest)).length === 0 && shortagesOf(guest).length === 0;
    });
  }

  return { clock, line, guests, faults, come, give, forgotten, leaked, overtaken: () => passed.splice(0).filter(isWaiting) };
}

async function act(house: ReturnType<typeof createHouse>, doing: Action): Promise<void> {
  if (doing.kind === 'come') void house.come(doing);
  else if (doing.kind === 'free') house.give([chargeOf({ counter: doing.counter, amount: doing.amount })]);
  else if (doing.kind === 'leave') house.guests[doing.who % Math.max(1, house.guests.length)]?.leaving.abort();
  else await house.clock.advance(doing.ms);
  await settled();
}

it('keeps the order, forgets nobody, and every wait ends once and in time', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 60, size: 'max' }), releases, async (actions, timed) => {
      const house = createHouse(timed);
      const { clock, line, guests, faults } = house;

      for (const doing of actions) {
        await act(house, doing);
        expect(house.forgotten()).toEqual([]);
        expect(house.overtaken()).toEqual([]);
      }
      await clock.advance(WAIT_MS + 60);

      expect(faults).toEqual([]);
      expect(guests.map(({ ends }) => ends.length)).toEqual(guests.map(() => 1));
      expect([house.leaked(), line.depth, clock.timers]).toEqual([0, 0, 0]);
      for (const counter of COUNTERS) expect(line.isWaited(counter)).toBe(false);
    }),
    { numRuns: 400 },
  );
}, 60_000);

it('lets those who want the same of one counter in by their class and then by their arrival', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 30 }), async (classes) => {
      const clock = createVirtualClock();
      const line = createLine(clock);
      const charge = chargeOf({ counter: 'a', budget: budgetOf({ concurrent: 1 }), amount: 1 });
      const order: number[] = [];
      let room = 0;
      classes.forEach((hasPassed, index) => {
        const refusal: Refusal = { reason: 'full', full: [{ charge, waitMs: 0 }], waitMs: 0 };
        const admit = async () => (room-- > 0 ? heldBy(callOf()) : refusal);
        const { signal } = new AbortController();
        const bounds = { waitMs: WAIT_MS, maxRequests: 100, maxTokens: 1_000_000 };
        const candidate = {
          call: callOf(),
          refusal,
          refusedAtMs: clock.now(),
          bounds,
          hasPassed,
          leftMs: WAIT_MS,
          signal,
          frees: line.frees,
        };
        void line.wait({ ...candidate, admit, giveBack: () => {} }).then((result) => result && order.push(index));
      });

      for (let i = 0; i < classes.length; i++) {
        room = 1;
        line.freed([charge]);
        await settled();
      }

      const indices = classes.map((_, index) => index);
      expect(order).toEqual([...indices.filter((index) => classes[index]), ...indices.filter((index) => !classes[index])]);
    }),
    { numRuns: 50 },
  );
});
