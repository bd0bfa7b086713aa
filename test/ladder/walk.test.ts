import { beforeEach, describe, expect, it } from 'vitest';
import type { Refusal, Reservation } from '../../src/call.js';
import { createLine, type Line } from '../../src/ladder/line.js';
import { createWalk, type WalkFacts } from '../../src/ladder/walk.js';
import { callOf, chargeOf, fullOf, visitOf } from '../support/builders.js';
import { createVirtualClock, settled, type VirtualClock } from '../support/virtual-clock.js';
import { BOUNDS, heldBy } from '../support/waiting.js';

let clock: VirtualClock;
let line: Line;
let givenBack: Reservation[];

beforeEach(() => {
  clock = createVirtualClock();
  line = createLine(clock);
  givenBack = [];
});

function create(facts: Partial<WalkFacts> = {}) {
  return createWalk({
    call: callOf(),
    first: fullOf({ a: 100 }),
    frees: line.frees,
    line,
    clock,
    admit: async (call) => heldBy(call),
    cheaperThan: () => [],
    giveBack: async (reservation) => void givenBack.push(reservation),
    ...facts,
  });
}

describe('what a step was admitted for', () => {
  it('is kept when the step returns it', async () => {
    const walk = create();
    const held = await walk.admit(walk.call);

    await walk.endTurn(held as Reservation);

    expect(givenBack).toEqual([]);
  });

  it('goes back when the step returns nothing, or something else, the last first', async () => {
    const walk = create();
    const held = [await walk.admit(walk.call), await walk.admit(walk.call), await walk.admit(walk.call)];
    await walk.endTurn(held[1] as Reservation);
    expect(givenBack).toEqual([held[2], held[0]]);

    const next = await walk.admit(walk.call);
    await walk.endTurn(undefined);

    expect(givenBack).toEqual([held[2], held[0], next]);
  });

  it('goes back when it comes after the step has ended, which then hears of the refusal', async () => {
    let resolve: (result: Reservation) => void = () => {};
    const admitting = new Promise<Reservation>((done) => {
      resolve = done;
    });
    const walk = create({ admit: () => admitting });
    const late = walk.admit(walk.call);
    await walk.endTurn(undefined);

    resolve(heldBy(walk.call));

    expect(await late).toBe(walk.refusal);
    expect(givenBack).toHaveLength(1);
  });

  it('goes back when the step did not wait for its place in the line', async () => {
    const walk = create();
    const late = walk.wait(BOUNDS);
    await walk.endTurn(undefined);

    await clock.advance(100);

    expect(await late).toBeUndefined();
    expect(givenBack).toHaveLength(1);
  });
});

describe('the refusal', () => {
  it('is the first until a wait was refused again', async () => {
    const next = fullOf({ b: 2_000 });
    const walk = create({ admit: async () => next });

    await walk.admit(walk.call);
    expect(walk.refusal).toMatchObject({ waitMs: 100 });
    const waiting = walk.wait(BOUNDS);
    await clock.advance(100);
    await waiting;

    expect(walk.refusal).toBe(next);
  });

  it('is waited for from when it came, however long other steps took', async () => {
    const triedAtMs: number[] = [];
    const walk = create({
      async admit(call) {
        triedAtMs.push(clock.now());
        return heldBy(call);
      },
    });
    const beganMs = clock.now();
    await clock.advance(60);

    const waiting = walk.wait(BOUNDS);
    await clock.advance(60);
    await waiting;

    expect(triedAtMs).toEqual([beganMs + 100]);
  });
});

describe('a wait', () => {
  it('takes from the patience of the whole visit', async () => {
    const call = callOf({ visit: visitOf() });
    const full: Refusal = fullOf({ a: 0 });
    const walk = create({ call, first: full });

    const first = walk.wait({ ...BOUNDS, waitMs: 400 });
    await clock.advance(400);
    expect(await first).toBeUndefined();

    expect(call.visit.waitedMs(clock)).toBe(400);
    expect(await create({ call, first: full }).wait({ ...BOUNDS, waitMs: 400 })).toBeUndefined();
    const longer = create({ call, first: full }).wait({ ...BOUNDS, waitMs: 500 });
    await clock.advance(99);
    expect(line.depth).toBe(1);
    await clock.advance(1);
    expect(await longer).toBeUndefined();
  });

  it('misses nothing that was freed since before the first refusal', async () => {
    const { frees } = line;
    line.freed([chargeOf({ counter: 'a' })]);
    const walk = create({ first: fullOf({ a: 0 }), frees });

    const waiting = walk.wait(BOUNDS);
    await settled();

    expect(await waiting).toMatchObject({ id: 'r' });
  });

  it('goes before new visits when it is inside a run', async () => {
    const outer = visitOf();
    outer.hold = heldBy(callOf({ visit: outer }));
    const order: string[] = [];
    const admitting = (name: string) => ({
      first: fullOf({ a: 0 }),
      async admit(call: ReturnType<typeof callOf>) {
        order.push(name);
        return heldBy(call);
      },
    });
    const waits = [
      create(admitting('new')).wait(BOUNDS),
      create({ ...admitting('inner'), call: callOf({ visit: visitOf({ outer }) }) }).wait(BOUNDS),
    ];

    line.freed([chargeOf({ counter: 'a' })]);
    await Promise.all(waits);

    expect(order).toEqual(['inner', 'new']);
  });
});

describe('substitutes', () => {
  const cheaper: Record<string, string[]> = { 'gpt-4o': ['a', 'b'], a: ['b', 'c', 'gpt-4o'] };

  it('are each given once, and never the model itself', () => {
    const walk = create({ cheaperThan: (model) => cheaper[model ?? ''] ?? [] });

    expect(walk.substitutes(walk.call)).toEqual(['a', 'b']);
    expect(walk.substitutes(walk.call)).toEqual([]);
    expect(walk.substitutes(walk.onModel(walk.call, 'a'))).toEqual(['c']);
  });
});
