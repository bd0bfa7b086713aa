import { beforeEach, describe, expect, it } from 'vitest';
import type { Counted } from '../../../src/stores/counters.js';
import type { Adopted, Exact } from '../../../src/stores/redis/exact.js';
import { Link } from '../../../src/stores/redis/link.js';
import { Mender, type Own } from '../../../src/stores/redis/mender.js';
import { createShares, type Shares } from '../../../src/stores/redis/shares.js';
import type { Item, ReserveHow } from '../../../src/stores/store.js';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.js';
import { HOW, running, tokens } from './rig.js';

let clock: VirtualClock;
let shares: Shares;
let mender: Mender;
/** What Redis was told, in words. */
let told: string[];
let isDead: boolean;
beforeEach(() => {
  clock = createVirtualClock();
  shares = createShares(clock, 100_000);
  told = [];
  isDead = false;
  const link = new Link({ clock, timeoutMs: 50, onLoss() {}, onFailure() {} });
  const tell = async (words: string) => {
    if (isDead) throw new Error('dead');
    told.push(words);
    return { seq: 1, atMs: clock.now() };
  };
  const exact = {
    nowMs: () => clock.now(),
    adopt: ({ id, held }: Adopted) => tell(`adopt ${id} ${held}`),
    settle: (id: string, amounts: readonly number[]) => tell(`settle ${id} ${amounts}`),
    merge: (name: string, counted: readonly Counted[]) =>
      tell(`merge ${name} ${counted.map(({ counter, parts }) => `${counter}=${parts.map(([, amount]) => amount)}`)}`),
    reserve: (id: string, items: readonly Item[], { from }: ReserveHow) =>
      tell(`draw ${id} ${items.map(({ amount }) => amount)} from ${from}`),
    renew: (ids: readonly string[]) => tell(`renew ${ids}`),
  } as unknown as Exact;
  mender = new Mender(exact, link, shares, 'me');
});

function keep(id: string, isThere: Own['isThere'], amount = 10, from?: string): void {
  const items = [tokens(amount)];
  shares.hold(id, items, { ...HOW, from });
  const lease = { leaseMs: HOW.leaseMs, leaseEndMs: clock.now() + HOW.leaseMs, atMs: clock.now() };
  mender.keep({ id, items, held: [amount], ...lease, from, isThere });
}

function settle(id: string, amount: number): void {
  const ended = mender.end(id, [amount]);
  shares.settle(id, [amount]);
  if (ended) mender.owe(ended);
}

async function mend(): Promise<string[]> {
  await mender.mend();
  return told.splice(0);
}

describe('the mender', () => {
  it('tells reservations by themselves, and what came and went without Redis in one sum', async () => {
    keep('there', 'yes');
    keep('alone', 'no');
    keep('unsure', 'unsure');
    keep('gone', 'no');
    keep('gone too', 'no');
    settle('gone', 3);
    settle('gone too', 4);
    settle('there', 5);

    expect(await mend()).toEqual(['merge me-0 tokens=7', 'adopt alone 10', 'adopt unsure 10', 'settle there 5']);
    expect(await mend()).toEqual([]);
    expect(mender.hasMore).toBe(false);
  });

  it('tells nothing of a reservation that came to nothing but that it is settled', async () => {
    keep('unsure', 'unsure');
    keep('cancelled', 'unsure');
    settle('unsure', 3);
    settle('cancelled', 0);

    expect((await mend()).sort()).toEqual(['adopt unsure 10', 'settle cancelled 0', 'settle unsure 3']);
  });

  it('tells the same merge again until Redis confirms it', async () => {
    keep('gone', 'no');
    settle('gone', 3);
    isDead = true;
    await expect(mender.mend()).rejects.toThrow('dead');
    isDead = false;
    keep('next', 'no');
    settle('next', 4);

    expect(await mend()).toEqual(['merge me-0 tokens=3', 'merge me-1 tokens=4']);
  });

  it('draws in Redis what was drawn without it, where Redis has the outer reservation', async () => {
    keep('outer', 'yes', 30);
    keep('inner', 'no', 20, 'outer');
    keep('innermost', 'no', 5, 'inner');
    keep('own outer', 'no', 30);
    keep('own inner', 'no', 20, 'own outer');

    expect(await mend()).toEqual([
      'draw inner 15 from outer',
      'draw innermost 5 from outer',
      'adopt own outer 10',
      'adopt own inner 20',
    ]);
  });

  it('tells everything anew when all is lost, nothing of it twice', async () => {
    keep('settled', 'yes', 100);
    const ended = mender.end('settled', [70]);
    shares.settle('settled', [70]);
    if (ended) mender.told(ended);
    keep('outer', 'yes', 30);
    keep('inner', 'yes', 20, 'outer');
    keep('alone', 'no');
    keep('owed', 'yes');
    settle('owed', 5);
    keep('gone', 'no');
    settle('gone', 3);

    mender.lost('all');

    expect(await mend()).toEqual(['merge me-0 tokens=78', 'adopt outer 10', 'adopt inner 20', 'adopt alone 10', 'settle owed 0']);
  });

  it('tells the last moments anew when those are lost: reservations, settlements and merges', async () => {
    keep('old', 'yes');
    settle('old', 1);
    await mend();
    clock.set(clock.now() + 31_000);
    keep('live', 'yes');
    keep('settled', 'yes');
    settle('settled', 5);
    keep('gone', 'no');
    settle('gone', 3);
    await mend();

    mender.lost('recent');

    expect(await mend()).toEqual(['merge me-0 tokens=3', 'adopt live 10', 'adopt settled 10', 'settle settled 5']);
    expect(await mend()).toEqual([]);
  });

  it('renews what Redis holds and nobody gave up', async () => {
    keep('left', 'yes');
    await clock.advance(HOW.leaseMs);
    keep('live', 'yes');
    keep('alone', 'no');

    expect(mender.renewed(['live', 'alone', 'of another'], 5_000)).toEqual(['live', 'of another']);
    await mender.renewAll();

    expect(told).toEqual(['renew live']);
  });

  it('forgets reservations that are never settled, as stores do; what they hold stays charged', async () => {
    for (let i = 0; i < 100; i++) keep(`there${i}`, 'yes');
    for (let i = 0; i < 10; i++) keep(`alone${i}`, 'no', 7);
    await clock.advance(HOW.leaseMs + 61_000);

    for (let i = 0; i < 200; i++) {
      keep(`next${i}`, 'yes');
      const ended = mender.end(`next${i}`, [0]);
      shares.settle(`next${i}`, [0]);
      if (ended) mender.told(ended);
    }

    expect(mender.size).toBe(0);
    expect(await mend()).toEqual(['merge me-0 tokens=70']);
  });

  it('remembers so many settlements; those given up are charged in any case', async () => {
    for (let i = 0; i < 10_100; i++) {
      keep(`${i}`, 'unsure');
      settle(`${i}`, 2);
    }

    expect(mender.size).toBe(10_000);
    const [first, ...rest] = await mend();
    expect(first).toBe('merge me-0 tokens=200');
    expect(rest.length).toBe(20_000);
  });

  it('holds no lease for what holds no more', () => {
    shares.hold('a', [running()], HOW);
    shares.settle('a', [0]);
    mender.keep({ id: 'a', items: [running()], held: [1], ...HOW, leaseEndMs: 0, atMs: 0, from: undefined, isThere: 'yes' });

    expect(mender.size).toBe(0);
  });
});
