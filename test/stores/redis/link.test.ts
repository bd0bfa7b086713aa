import { beforeEach, describe, expect, it } from 'vitest';
import { Link } from '../../../src/stores/redis/link.js';
import { createVirtualClock, settled, type VirtualClock } from '../../support/virtual-clock.js';

const EPOCH = 2 ** 32;
const OLD = 5 * EPOCH;
const NEW = 3 * EPOCH;

let clock: VirtualClock;
let link: Link;
let heard: string[];
beforeEach(() => {
  clock = createVirtualClock();
  heard = [];
  link = new Link({
    clock,
    timeoutMs: 50,
    onLoss: (loss) => heard.push(loss),
    onFailure: (_, isLast) => heard.push(isLast ? 'last' : 'failed'),
  });
});

const answer = (seq: number) => ({ seq, atMs: 0 });
const hear = (seq: number) => link.ask(async () => answer(seq));

/** A command whose answer comes when told. */
function later(): { asked: Promise<unknown>; answer(seq: number): Promise<void> } {
  let reply: (value: { seq: number; atMs: number }) => void = () => {};
  const asked = link.ask(() => new Promise<{ seq: number; atMs: number }>((resolve) => (reply = resolve)));
  return {
    asked,
    async answer(seq) {
      reply(answer(seq));
      await settled();
    },
  };
}

describe('the link to Redis', () => {
  it('waits for an answer so long and no longer, and leaves no timer', async () => {
    const asking = link.ask(() => new Promise<undefined>(() => {})).catch((error: Error) => error.message);

    await clock.advance(49);
    expect(heard).toEqual([]);
    await clock.advance(1);

    expect(await asking).toMatch('within 50 ms');
    await hear(OLD + 1);
    expect([heard, clock.timers]).toEqual([['failed'], 0]);
  });

  it('is shut by the fifth failure in a row, until it is told to resume', async () => {
    for (let i = 0; i < 5; i++) await link.ask(() => Promise.reject(new Error('gone'))).catch(() => {});

    expect(heard).toEqual(['failed', 'failed', 'failed', 'failed', 'last']);
    expect(link.isOpen).toBe(false);
    link.resume();
    expect(link.isOpen).toBe(true);
  });

  it('hears nothing of a loss from numbers that grow or stay', async () => {
    for (const seq of [OLD + 7, OLD + 7, OLD + 9]) await hear(seq);

    expect(heard).toEqual([]);
  });

  it.each([
    ['of counts that begin anew', NEW + 1, 'all'],
    ['of counts that went back', OLD + 6, 'recent'],
  ])('hears once %s, whatever was under way', async (_, seq, loss) => {
    await hear(OLD + 7);
    const underWay = [later(), later(), later()];

    await underWay[0]?.answer(seq);
    await underWay[1]?.answer(seq + 1);
    await underWay[2]?.answer(seq + 2);
    await hear(seq + 2);

    expect(heard).toEqual([loss]);
    expect([link.isOfNow(seq + 2), link.isOfNow(seq + 3)]).toEqual([true, false]);
  });

  it('takes no late answer of the counts before for a loss, nor for one of these', async () => {
    await hear(OLD + 7);
    const [slow, quick] = [later(), later()];

    await quick.answer(NEW + 1);
    await slow.answer(OLD + 8);
    await hear(NEW + 2);

    expect(heard).toEqual(['all']);
    expect([link.isOfNow(OLD + 8), link.isOfNow(NEW + 2)]).toEqual([false, true]);
  });

  it('hears of each loss', async () => {
    for (const seq of [OLD + 7, NEW + 1, OLD + 1, OLD + 9, OLD + 3]) await hear(seq);

    expect(heard).toEqual(['all', 'all', 'recent']);
  });

  it('hears of another server process, unless the numbers have told already', async () => {
    const beat = (seq: number, run: number) => link.beat(async () => ({ ...answer(seq), run }));

    for (const [seq, run] of [
      [OLD + 7, 1],
      [OLD + 8, 1],
      [OLD + 90, 2],
      [NEW + 1, 3],
      [NEW + 1, 0],
      [NEW + 1, 3],
    ] as const)
      await beat(seq, run);

    expect(heard).toEqual(['recent', 'all']);
  });

  it('tells a thing up to three times, always for the same counts', async () => {
    await hear(OLD + 7);
    const epochs: number[] = [];

    const telling = link.tell(async (epoch) => {
      epochs.push(epoch);
      if (epochs.length < 3) throw new Error('no answer');
      return answer(OLD + 8);
    });

    expect(await telling).toEqual(answer(OLD + 8));
    expect(epochs).toEqual([5, 5, 5]);
    await expect(link.tell(() => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
    // Nobody waits for it: it says nothing of how callers fare.
    expect([heard, link.isOpen]).toEqual([[], true]);
  });

  it('tells nothing as done that was told to other counts, or to some that are lost since', async () => {
    await hear(OLD + 7);
    await expect(link.tell(async () => answer(NEW + 1))).rejects.toThrow('lost its counts');
    expect(heard).toEqual(['all']);

    const telling = link.tell(async () => {
      await hear(OLD + 1);
      return answer(NEW + 2);
    });

    await expect(telling).rejects.toThrow('lost its counts');
    expect(heard).toEqual(['all', 'all']);
  });
});
