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
  | { readonly kind: 'come'; readonly wants: Readonly<Record<string, number>>; readonly hasPassed: boolean; readonly takesMs: number }
  | { readonly kind: 'free'; readonly counter: string; readonly amount: number }
  | { readonly kind: 'leave'; readonly who: number }
  | { readonly kind: 'pass time'; readonly ms: number };

const wants = fc.dictionary(fc.constantFrom(...COUNTERS), fc.integer({ min: 1, max: 3 }), { minKeys: 1, maxKeys: 3, noNullPrototype: true });
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('come' as const), wants, hasPassed: fc.boolean(), takesMs: fc.constantFrom(0, 0, 0, 30) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('free' as const), counter: fc.constantFrom(...FREED), amount: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), who: fc.nat(30) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass time' as const), ms: fc.integer({ min: 1, max: 700 }) }) },
);
/** When timed counters get room: counter, time, amount. */
const releases = fc.array(fc.tuple(fc.constantFrom(...TIMED), fc.integer({ min: 1, max: 4_000 }), fc.integer({ min: 1, max: 3 })), {
  maxLength: 12,
});

/** One who came, as the test knows it. */
interface Guest {
  readonly charges: readonly Charge[];
  readonly leaving: AbortController;
  readonly place: Place;
  /** What refused it last, and when it heard so. */
  refusal: Refusal;
  refusedAtMs: number;
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
  /** Those who were passed by somebody who came later; no fault if they had just left. */
  const passed: Guest[] = [];
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
  function standsIn({ refusal, leaving, ends }: Guest): readonly string[] {
    if (leaving.signal.aborted || ends.length > 0) return [];
    return refusal.full.filter(({ waitMs }) => waitMs === 0 || waitMs === refusal.waitMs).map(({ charge }) => charge.counter);
  }
  const isWaiting = (guest: Guest) => guest.ends.length === 0;

  /** Everybody who stands in one of the lines that a guest needs, and came before it. */
  function before(guest: Guest): Guest[] {
    const needed = guest.charges.map(({ counter }) => counter);
    return guests.filter(
      (other) =>
        other !== guest &&
        !other.isIn &&
        isBefore(other.place, guest.place) &&
        standsIn(other).some((counter) => needed.includes(counter)),
    );
  }

  function come({ wants: wanted, hasPassed, takesMs }: Extract<Action, { kind: 'come' }>): void {
    const budget = budgetOf({ concurrent: 5 });
    const charges = Object.entries(wanted).map(([counter, amount]) => chargeOf({ counter, amount, budget }));
    const guest: Guest = { charges, leaving: new AbortController(), place: { hasPassed, arrival: guests.length }, refusal: refusalOf([]), refusedAtMs: clock.now(), isTrying: false, isIn: false, ends: [] };
    const newcomer = { hasPassed, arrival: Infinity };
    const ahead = line.ahead(charges, newcomer);
    const full = ahead.length > 0 ? ahead : shortagesOf(guest);
    if (full.length === 0) return take(charges);
    guest.refusal = refusalOf(full);
    if (guest.refusal.reason !== 'full') return;
    guests.push(guest);
    const candidate = {
      call: callOf(),
      refusal: guest.refusal,
      refusedAtMs: clock.now(),
      bounds: { waitMs: WAIT_MS, maxRequests: 1_000, maxTokens: 1_000_000 },
      hasPassed,
      leftMs: WAIT_MS,
      signal: guest.leaving.signal,
      frees: line.frees,
      admit: (place: Place) => admit(guest, place, takesMs),
      giveBack: () => give(charges),
    };
    void line.wait(candidate).then((result) => guest.ends.push(result ? 'held' : 'none'));
  }

  async function admit(guest: Guest, place: Place, takesMs: number): Promise<Reservation | Refusal> {
    if (place.hasPassed !== guest.place.hasPassed) faults.push('it lost its class');
    if (guest.isTrying) faults.push('one waiter tries twice at a time');
    const others = guests.filter((other) => other !== guest && other.isTrying).flatMap(standsIn);
    if (standsIn(guest).some((counter) => others.includes(counter))) faults.push('two of one line try at a time');
    guest.isTrying = true;
    const ahead = line.ahead(guest.charges, place);
    const full = ahead.length > 0 ? ahead : shortagesOf(guest);
    if (full.length === 0) {
      passed.push(...before(guest));
      take(guest.charges);
      guest.isIn = true;
    }
    if (takesMs > 0) await new Promise<void>((resolve) => void clock.after(takesMs, resolve));
    guest.isTrying = false;
    if (full.length === 0) return heldBy(callOf());
    guest.refusal = refusalOf(full);
    guest.refusedAtMs = clock.now();
    return guest.refusal;
  }

  function take(charges: readonly Charge[]): void {
    for (const { counter, amount } of charges) room.set(counter, roomOf(counter) - amount);
  }
  function give(charges: readonly Charge[]): void {
    for (const { counter, amount } of charges) room.set(counter, roomOf(counter) + amount);
    line.freed(charges);
  }

  /** Those at the head of all their lines whose time has come and who have room, but were not tried: their wake got lost. */
  function forgotten(): Guest[] {
    if (guests.some(({ isTrying }) => isTrying)) return [];
    return guests.filter((guest) => {
      const { refusal, refusedAtMs, isIn } = guest;
      const isDue = refusal.waitMs === 0 || clock.now() >= refusedAtMs + refusal.waitMs;
      return isWaiting(guest) && !isIn && isDue && before(guest).length === 0 && shortagesOf(guest).length === 0;
    });
  }

  return { clock, line, guests, faults, come, give, forgotten, overtaken: () => passed.splice(0).filter(isWaiting) };
}

async function act(house: ReturnType<typeof createHouse>, doing: Action): Promise<void> {
  if (doing.kind === 'come') house.come(doing);
  else if (doing.kind === 'free') house.give([chargeOf({ counter: doing.counter, amount: doing.amount })]);
  else if (doing.kind === 'leave') house.guests[doing.who % Math.max(1, house.guests.length)]?.leaving.abort();
  else await house.clock.advance(doing.ms);
  await settled();
}

it('keeps the order, tries one at a time, forgets nobody, and every wait ends once and in time', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 60, size: 'max' }), releases, async (actions, timed) => {
      const house = createHouse(timed);
      const { clock, line, guests, faults } = house;

      for (const doing of actions) {
        await act(house, doing);
        expect(house.forgotten()).toEqual([]);
        expect(house.overtaken()).toEqual([]);
      }
      await clock.advance(WAIT_MS + 30);

      expect(faults).toEqual([]);
      expect(guests.map(({ ends }) => ends.length)).toEqual(guests.map(() => 1));
      expect([line.depth, clock.timers]).toEqual([0, 0]);
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
        const candidate = { call: callOf(), refusal, refusedAtMs: clock.now(), bounds, hasPassed, leftMs: WAIT_MS, signal, frees: line.frees };
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
