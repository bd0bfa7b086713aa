import { getEventListeners } from 'node:events';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Refusal } from '../../src/call.js';
import { createLine, type Line } from '../../src/ladder/line.js';
import { budgetOf, callOf, chargeOf, fullOf } from '../support/builders.js';
import { createVirtualClock, settled, type VirtualClock } from '../support/virtual-clock.js';
import { type Answer, BOUNDS, createCrowd } from '../support/waiting.js';

let clock: VirtualClock;
let line: Line;
let crowd: ReturnType<typeof createCrowd>;

beforeEach(() => {
  clock = createVirtualClock();
  line = createLine(clock);
  crowd = createCrowd(line, clock);
});

const free = async (...counters: string[]) => {
  line.freed(counters.map((counter) => chargeOf({ counter })));
  await settled();
};

/** An answer that comes when the test says so. */
function later(): { readonly answer: Promise<Answer>; give(answer: Answer): Promise<void> } {
  let resolve: (answer: Answer) => void = () => {};
  const answer = new Promise<Answer>((done) => {
    resolve = done;
  });
  return {
    answer,
    give(answered) {
      resolve(answered);
      return settled();
    },
  };
}

describe('the wake', () => {
  it('comes at the very instant that was foretold, and only then', async () => {
    const ann = crowd.wait({ a: 300 });

    await clock.advance(299);
    expect(ann.triedAtMs).toEqual([]);
    await clock.advance(1);

    expect(ann.triedAtMs).toEqual([300]);
    expect(ann.result).toMatchObject({ id: 'r' });
  });

  it('counts from the refusal, not from when the call came to wait', async () => {
    const refusedAtMs = clock.now();
    await clock.advance(200);
    const ann = crowd.wait({ a: 300 }, ['held'], { refusedAtMs });

    await clock.advance(BOUNDS.waitMs);

    expect(ann.triedAtMs).toEqual([300]);
  });

  it('comes again when a try was refused, at the new instant', async () => {
    const ann = crowd.wait({ a: 300 }, [fullOf({ a: 150 }), 'held']);

    await clock.advance(BOUNDS.waitMs);

    expect(ann.triedAtMs).toEqual([300, 450]);
  });

  it('comes when one of its counters is freed, whatever was foretold', async () => {
    const ann = crowd.wait({ a: 900, b: 0 });

    await free('c');
    expect(ann.triedAtMs).toEqual([]);
    await free('b');

    expect(ann.triedAtMs).toEqual([0]);
  });

  it('never comes for a wait that nobody can foretell, but for what is freed', async () => {
    const ann = crowd.wait({ a: 0 });

    await clock.advance(BOUNDS.waitMs);

    expect(ann.triedAtMs).toEqual([]);
    expect(ann).toMatchObject({ result: 'none', endedAtMs: BOUNDS.waitMs });
  });

  it('needs no more timers than the waiters have', async () => {
    for (let i = 0; i < 10; i++) crowd.wait({ a: 500 });

    expect(clock.timers).toBe(20);
    await clock.advance(BOUNDS.waitMs);
    expect(clock.timers).toBe(0);
  });
});

describe('a wake that might be lost', () => {
  it('is made up for when the counter was freed between the refusal and the wait', async () => {
    const { frees } = line;
    await free('a');
    const ann = crowd.wait({ a: 900 }, ['held'], { frees });

    await settled();

    expect(ann.triedAtMs).toEqual([0]);
  });

  it('is made up for even when ten thousand counters were freed meanwhile', async () => {
    const { frees } = line;
    await free('a');
    await free(...Array.from({ length: 10_001 }, (_, index) => `other-${index}`));
    const ann = crowd.wait({ a: 900 }, ['held'], { frees });

    await settled();

    expect(ann.triedAtMs).toEqual([0]);
  });

  it('is not made up where another counter was freed meanwhile', async () => {
    const { frees } = line;
    await free('b');
    const ann = crowd.wait({ a: 900 }, ['held'], { frees });

    await settled();

    expect(ann.triedAtMs).toEqual([]);
  });

  it('is made up for when whoever stood in the way has left between the refusal and the wait', async () => {
    const ann = crowd.wait({ a: 900 });
    const { frees } = line;
    ann.leaving.abort();
    const bob = crowd.wait({ a: 900 }, ['held'], { frees });

    await settled();

    expect(bob.triedAtMs).toEqual([0]);
  });

  it('is made up for when the counter was freed while the store was asked', async () => {
    const first = later();
    const ann = crowd.wait({ a: 100 }, [first.answer, 'held']);
    await clock.advance(100);
    await free('a');
    expect(ann.triedAtMs).toHaveLength(1);

    await first.give(fullOf({ a: 800 }));

    expect(ann.triedAtMs).toEqual([100, 100]);
    expect(ann.result).toMatchObject({ id: 'r' });
  });

  it('is made up for when that freed a counter which only the new refusal names', async () => {
    const first = later();
    const ann = crowd.wait({ a: 100 }, [first.answer, 'held']);
    await clock.advance(100);
    await free('b');

    await first.give(fullOf({ b: 800 }));

    expect(ann.triedAtMs).toEqual([100, 100]);
  });

  it('is not repeated for counters that it does not wait for', async () => {
    const first = later();
    const ann = crowd.wait({ a: 100 }, [first.answer, 'held']);
    await clock.advance(100);
    await free('b');

    await first.give(fullOf({ a: 800 }));

    expect(ann.triedAtMs).toEqual([100]);
  });
});

describe('the order', () => {
  it('is that of arrival, one try after the other', async () => {
    const [ann, bob, cid] = [crowd.wait({ a: 0 }), crowd.wait({ a: 0 }), crowd.wait({ a: 0 })];

    await free('a');

    expect(crowd.order).toEqual([ann, bob, cid]);
  });

  it('puts runs of visits that already passed before new visits', async () => {
    const ann = crowd.wait({ a: 0 });
    const bob = crowd.wait({ a: 0 }, ['held'], { hasPassed: true });
    const cid = crowd.wait({ a: 0 }, ['held'], { hasPassed: true });

    await free('a');

    expect(crowd.order).toEqual([bob, cid, ann]);
  });

  it('lets nobody try past a head that was refused', async () => {
    const ann = crowd.wait({ a: 0 }, [fullOf({ a: 0 })]);
    const bob = crowd.wait({ a: 0 });

    await free('a');

    expect(ann.triedAtMs).toHaveLength(1);
    expect(bob.triedAtMs).toEqual([]);
  });

  it('lets nobody try whose own wait is over but who is not the first', async () => {
    crowd.wait({ a: 800 });
    const bob = crowd.wait({ a: 100 });

    await clock.advance(799);
    expect(bob.triedAtMs).toEqual([]);
    await clock.advance(1);

    expect(bob.triedAtMs).toEqual([800]);
  });

  it('tries the next one at once when the first was admitted, left or gave up', async () => {
    const ann = crowd.wait({ a: 300 });
    const bob = crowd.wait({ a: 0 }, [fullOf({ a: 0 })]);
    const cid = crowd.wait({ a: 0 }, [fullOf({ a: 0 })], { leftMs: 700 });
    const dan = crowd.wait({ a: 0 });

    await clock.advance(300);
    expect(bob.triedAtMs).toEqual([300]);
    bob.leaving.abort();
    await settled();
    expect(cid.triedAtMs).toEqual([300]);
    await clock.advance(400);

    expect(dan.triedAtMs).toEqual([700]);
    expect(crowd.order).toEqual([ann, bob, cid, dan]);
  });

  it('tries nobody for a waiter that leaves from the middle', async () => {
    const ann = crowd.wait({ a: 0 });
    const bob = crowd.wait({ a: 0 });
    const cid = crowd.wait({ a: 0 });

    bob.leaving.abort();
    await settled();

    expect([ann.triedAtMs, cid.triedAtMs]).toEqual([[], []]);
  });

  it('asks the store for one waiter of a line at a time', async () => {
    const first = later();
    crowd.wait({ a: 0 }, [first.answer]);
    const bob = crowd.wait({ a: 0 });
    await free('a');
    await free('a');
    expect(bob.triedAtMs).toEqual([]);

    await first.give('held');

    expect(bob.triedAtMs).toHaveLength(1);
  });
});

describe('waiters of different budgets', () => {
  it('do not wait for one another', async () => {
    const first = later();
    crowd.wait({ a: 100 }, [first.answer]);
    const bob = crowd.wait({ b: 100 });

    await clock.advance(100);

    expect(bob.result).toMatchObject({ id: 'r' });
  });

  it('do not hold one another up in a line where they will have room before', async () => {
    const ann = crowd.wait({ user: 900, model: 100 });
    const bob = crowd.wait({ model: 100 });

    await clock.advance(100);
    expect(bob.result).toMatchObject({ id: 'r' });
    expect(ann.triedAtMs).toEqual([]);
    await clock.advance(800);

    expect(ann.triedAtMs).toEqual([900]);
  });

  it('move to the line of what refuses them next, and keep their age there', async () => {
    const ann = crowd.wait({ a: 100 }, [fullOf({ b: 0 }), 'held']);
    const bob = crowd.wait({ b: 0 });
    await clock.advance(100);
    expect(line.isWaited('a')).toBe(false);

    await free('b');

    expect(crowd.order).toEqual([ann, bob]);
  });

  it('let those behind them try when they move away', async () => {
    crowd.wait({ a: 100 }, [fullOf({ b: 0 })]);
    const bob = crowd.wait({ a: 0 });

    await clock.advance(100);

    expect(bob.result).toMatchObject({ id: 'r' });
  });

  it('are tried only at the head of every line they stand in', async () => {
    const ann = crowd.wait({ a: 0 }, [fullOf({ a: 0 })]);
    const bob = crowd.wait({ a: 0, b: 0 });
    const cid = crowd.wait({ b: 0 });

    await free('b');
    expect([bob.triedAtMs, cid.triedAtMs]).toEqual([[], []]);
    ann.leaving.abort();
    await settled();

    expect(crowd.order).toEqual([ann, bob, cid]);
  });

  it('are told where they stand, so that admission lets nobody past them', async () => {
    const ann = crowd.wait({ a: 0 });
    const bob = crowd.wait({ b: 0 }, ['held'], { hasPassed: true });
    await free('a', 'b');

    const [place] = ann.places;
    const [before] = bob.places;

    expect(place).toMatchObject({ hasPassed: false });
    expect(before).toMatchObject({ hasPassed: true });
    expect(place?.arrival).toBeLessThan(before?.arrival as number);
  });
});

describe('a waiter that cannot be helped', () => {
  it.each<[string, Refusal]>([
    ['will never fit', { ...fullOf({ a: Infinity }), reason: 'never-fits' }],
    ['finds the store gone', { reason: 'closed', full: [], waitMs: 1_000 }],
    ['would have to wait past its deadline', fullOf({ a: BOUNDS.waitMs })],
  ])('leaves at once when it %s, and blocks nobody', async (_, refusal) => {
    const ann = crowd.wait({ a: 0 }, [refusal]);
    const bob = crowd.wait({ a: 0 });

    await free('a');

    expect(ann.result).toBe('none');
    expect(bob.result).toMatchObject({ id: 'r' });
    expect(line.depth).toBe(0);
  });

  it('passes an error on, and blocks nobody', async () => {
    const failure = new Error('no such plan');
    const ann = crowd.wait({ a: 0 }, [failure]);
    const bob = crowd.wait({ a: 0 });

    await free('a');

    expect(ann.result).toBe(failure);
    expect(bob.result).toMatchObject({ id: 'r' });
  });
});

describe('who may not wait', () => {
  it.each([
    ['a wait past the deadline', { a: 1_001 }, {}],
    ['a wait that is over only at the deadline', { a: 1_000 }, {}],
    ['no patience left', { a: 10 }, { leftMs: 0 }],
    ['less patience left than the wait takes', { a: 500 }, { leftMs: 500 }],
  ])('%s', async (_, waits, given) => {
    const ann = crowd.wait(waits, ['held'], given);

    await settled();

    expect(ann).toMatchObject({ result: 'none', endedAtMs: 0, triedAtMs: [] });
    expect(clock.timers).toBe(0);
  });

  it('one more than the line holds', async () => {
    const bounds = { ...BOUNDS, maxRequests: 2 };
    const [ann, bob, cid] = [1, 2, 3].map(() => crowd.wait({ a: 0 }, ['held'], { bounds }));
    await settled();

    expect([ann?.result, bob?.result, cid?.result]).toEqual([undefined, undefined, 'none']);
    ann?.leaving.abort();
    const dan = crowd.wait({ a: 0 }, [fullOf({ a: 0 })], { bounds });
    await settled();
    expect(dan.result).toBeUndefined();
  });

  it('more tokens than the line holds', async () => {
    const bounds = { ...BOUNDS, maxTokens: 320 };
    const [ann, bob, cid] = [1, 2, 3].map(() => crowd.wait({ a: 0 }, ['held'], { bounds }));
    await settled();

    expect([ann?.result, bob?.result, cid?.result]).toEqual([undefined, undefined, 'none']);
    await free('a');
    const dan = crowd.wait({ a: 0 }, ['held'], { bounds });
    await settled();
    expect(dan.result).toBeUndefined();
  });

  it('somebody who has left', async () => {
    const leaving = AbortSignal.abort();

    expect(crowd.wait({ a: 0 }, ['held'], { signal: leaving })).toMatchObject({ triedAtMs: [] });
    await settled();
    expect(line.depth).toBe(0);
  });
});

describe('the deadline', () => {
  it('ends a wait', async () => {
    const ann = crowd.wait({ a: 0 }, ['held'], { leftMs: 400 });

    await clock.advance(399);
    expect(ann.result).toBeUndefined();
    await clock.advance(1);

    expect(ann).toMatchObject({ result: 'none', endedAtMs: 400 });
    expect(line.depth).toBe(0);
  });

  it('ends a wait whose line is held up by a store that does not answer', async () => {
    crowd.wait({ a: 100 }, [later().answer]);
    const bob = crowd.wait({ a: 0 });

    await clock.advance(BOUNDS.waitMs);

    expect(bob).toMatchObject({ result: 'none', endedAtMs: BOUNDS.waitMs });
  });

  it('does not throw away a try under way', async () => {
    const first = later();
    const ann = crowd.wait({ a: 900 }, [first.answer]);
    await clock.advance(BOUNDS.waitMs + 50);
    expect(ann.result).toBeUndefined();

    await first.give('held');

    expect(ann.result).toMatchObject({ id: 'r' });
    expect(ann.givenBack).toEqual([]);
  });

  it('allows no second try after one that was under way', async () => {
    const first = later();
    const ann = crowd.wait({ a: 900 }, [first.answer]);
    await clock.advance(BOUNDS.waitMs);
    await free('a');

    await first.give(fullOf({ a: 0 }));

    expect(ann).toMatchObject({ result: 'none', triedAtMs: [900] });
  });

  it('holds on a clock that was set back', async () => {
    const ann = crowd.wait({ a: 0 });
    clock.set(clock.now() - 3_600_000);

    await clock.next();

    expect(ann.result).toBe('none');
  });
});

describe('leaving', () => {
  it('ends a wait and costs nothing', async () => {
    const ann = crowd.wait({ a: 500 });
    await clock.advance(100);

    ann.leaving.abort();
    await settled();

    expect(ann).toMatchObject({ result: 'none', endedAtMs: 100, triedAtMs: [] });
    expect(line.depth).toBe(0);
    expect(clock.timers).toBe(0);
  });

  it('during a try ends the wait at once, and gives back what comes of it', async () => {
    const first = later();
    const ann = crowd.wait({ a: 100 }, [first.answer]);
    const bob = crowd.wait({ a: 0 });
    await clock.advance(100);
    ann.leaving.abort();
    await settled();
    expect(ann.result).toBe('none');
    expect(bob.result).toMatchObject({ id: 'r' });

    await first.give('held');

    expect(ann.givenBack).toHaveLength(1);
  });

  it('during a try that is refused changes nothing', async () => {
    const first = later();
    const ann = crowd.wait({ a: 100 }, [first.answer]);
    await clock.advance(100);
    ann.leaving.abort();

    await first.give(fullOf({ b: 0 }));

    expect(ann.givenBack).toEqual([]);
    expect(line.isWaited('b')).toBe(false);
    expect(line.depth).toBe(0);
  });

  it('is no longer listened for once the wait has ended', async () => {
    const ann = crowd.wait({ a: 100 });
    expect(getEventListeners(ann.leaving.signal, 'abort')).toHaveLength(1);

    await clock.advance(100);

    expect(getEventListeners(ann.leaving.signal, 'abort')).toHaveLength(0);
  });
});

describe('what newcomers are told', () => {
  const charge = (counter: string) => chargeOf({ counter, budget: budgetOf({ tokens: 60_000, per: 'minute' }), amount: 500 });
  const newcomer = { hasPassed: false, arrival: Infinity };

  it('is to wait behind whoever waits for one of their counters', () => {
    crowd.wait({ a: 0 });

    expect(line.ahead([charge('a'), charge('b')], newcomer).map((shortage) => shortage.charge.counter)).toEqual(['a']);
    expect(line.ahead([charge('b')], newcomer)).toEqual([]);
    expect(line.isWaited('a')).toBe(true);
    expect(line.isWaited('b')).toBe(false);
  });

  it('is nothing once nobody waits any more', async () => {
    crowd.wait({ a: 100 });
    await clock.advance(100);

    expect(line.ahead([charge('a')], newcomer)).toEqual([]);
    expect(line.isWaited('a')).toBe(false);
  });

  it('is to pass new visits when their own visit has passed', () => {
    crowd.wait({ a: 0 });
    const passed = { hasPassed: true, arrival: Infinity };
    expect(line.ahead([charge('a')], passed)).toEqual([]);

    crowd.wait({ a: 0 }, ['held'], { hasPassed: true });

    expect(line.ahead([charge('a')], passed)).toHaveLength(1);
  });

  it('is to wait only for those who came before them', async () => {
    const ann = crowd.wait({ a: 0 });
    const bob = crowd.wait({ b: 0 });
    await free('a', 'b');
    const [annPlace, bobPlace] = [ann.places[0], bob.places[0]];
    crowd.wait({ c: 0 });

    expect(line.ahead([charge('c')], annPlace ?? newcomer)).toEqual([]);
    expect(line.ahead([charge('c')], bobPlace ?? newcomer)).toEqual([]);
    expect(line.ahead([charge('c')], newcomer)).toHaveLength(1);
  });

  it('is how long it takes the first to get in and the others to get through at the rate of the limit', async () => {
    for (let i = 0; i < 3; i++) crowd.wait({ ...fullOf({ a: 400 }, charge('a')) });
    await clock.advance(100);

    // 300 ms for the first, then three times 500 tokens at one a millisecond.
    expect(line.promisedMs(charge('a'))).toBe(1_800);
    expect(line.ahead([charge('a')], newcomer)).toMatchObject([{ waitMs: 1_800 }]);
    expect(line.promisedMs(charge('b'))).toBe(0);
  });

  it('counts for a passed visit only what stands before it', () => {
    crowd.wait({ ...fullOf({ a: 400 }, charge('a')) }, ['held'], { hasPassed: true });
    crowd.wait({ ...fullOf({ a: 400 }, charge('a')) });

    expect(line.ahead([charge('a')], { hasPassed: true, arrival: Infinity })).toMatchObject([{ waitMs: 900 }]);
  });

  it('is no time where only a settlement can make room', () => {
    const running = chargeOf({ counter: 'a', budget: budgetOf({ concurrent: 2 }), amount: 1 });
    crowd.wait({ ...fullOf({ a: 0 }, running) });

    expect(line.ahead([running], newcomer)).toMatchObject([{ waitMs: 0 }]);
  });
});

describe('closing', () => {
  it('sends everybody away, and lets nobody in any more', async () => {
    const ann = crowd.wait({ a: 100 });
    const bob = crowd.wait({ a: 0 });

    line.close();
    const cid = crowd.wait({ a: 100 });
    await settled();

    expect([ann.result, bob.result, cid.result]).toEqual(['none', 'none', 'none']);
    expect([ann.triedAtMs, bob.triedAtMs]).toEqual([[], []]);
    expect(line.depth).toBe(0);
    expect(clock.timers).toBe(0);
  });

  it('gives back what a try under way comes to', async () => {
    const first = later();
    const ann = crowd.wait({ a: 100 }, [first.answer]);
    await clock.advance(100);
    line.close();

    await first.give('held');

    expect(ann.result).toBe('none');
    expect(ann.givenBack).toHaveLength(1);
  });
});

it('counts the tokens of a waiter as its held input and its expected output', async () => {
  const bounds = { ...BOUNDS, maxTokens: 160 };

  expect(crowd.wait({ a: 0 }, ['held'], { bounds }).result).toBeUndefined();
  await settled();
  expect(line.depth).toBe(1);
  const ann = crowd.wait({ a: 0 }, ['held'], { bounds, call: callOf({ heldInputTokens: 0, expectedOutputTokens: 1 }) });
  await settled();
  expect(ann.result).toBe('none');
});
