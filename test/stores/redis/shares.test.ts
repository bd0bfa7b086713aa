import { beforeEach, describe, expect, it } from 'vitest';
import { createShares, type Shares } from '../../../src/stores/redis/shares.js';
import type { Item } from '../../../src/stores/store.js';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.js';
import { HOW, money, running, tokens } from './rig.js';

let clock: VirtualClock;
let shares: Shares;
let sent = 0;
beforeEach(() => {
  clock = createVirtualClock();
  shares = createShares(clock, 1_000);
});

const reserve = (items: readonly Item[], instances = 3) => shares.reserve(`${sent++}`, items, HOW, instances);
const kindOf = async (items: readonly Item[], instances?: number) => (await reserve(items, instances))?.kind;

describe('local-share', () => {
  it('grants the part of the limit that falls to one instance', async () => {
    expect(await kindOf([tokens(333)])).toBe('held');
    expect(await kindOf([tokens(1)])).toBe('full');
  });

  it('counts what was granted before by all together', async () => {
    shares.hold('before', [tokens(300)], HOW);

    expect(await kindOf([tokens(34)])).toBe('full');
    expect(await kindOf([tokens(33)])).toBe('held');
    shares.settle('before', [200]);
    expect(await kindOf([tokens(100)])).toBe('held');
  });

  it('grants at least one of whatever is limited, and nothing of what is closed', async () => {
    expect(await kindOf([running(2)], 10)).toBe('held');
    expect(await kindOf([running(2)], 10)).toBe('full');
    expect(await kindOf([tokens(1, 'local-share', 0)])).toBe('full');
  });

  it('says how much is left of the share, as if the others had used the rest', async () => {
    const decision = await reserve([tokens(100)]);

    expect(decision).toMatchObject({ kind: 'held', used: [1_000 - 233] });
  });

  it('lets what fits the limit and not the share wait for Redis, and not for ever', async () => {
    expect(await reserve([tokens(400)])).toMatchObject({ full: [{ index: 0, waitMs: 1_000 }] });
    expect(await reserve([tokens(1_001)])).toMatchObject({ full: [{ index: 0, waitMs: Infinity }] });
  });

  it('lets a window pass', async () => {
    await reserve([tokens(333)]);
    await clock.advance(61_000);

    expect(await kindOf([tokens(333)])).toBe('held');
  });
});

describe('open and closed', () => {
  it('only counts what is open', async () => {
    expect(await reserve([tokens(5_000, 'open')])).toMatchObject({ kind: 'held', used: [5_000] });
    expect(await kindOf([{ ...tokens(5_000), refuseAt: Infinity }])).toBe('held');
  });

  it('decides nothing that is closed, and holds nothing of the rest', async () => {
    expect(await reserve([tokens(100), { ...money(1), onStoreError: 'closed' }])).toBeUndefined();
    expect(await shares.peek([tokens(0)])).toEqual([0]);
  });
});

describe('last-seen', () => {
  it('grants nothing where nothing was seen', async () => {
    expect(await reserve([money(1)])).toBeUndefined();
  });

  it('grants half the share of what was left', async () => {
    shares.hold('before', [money(50)], HOW);
    shares.see([money(0)], [400]);

    // (1000 - 400) / 3 / 2, beside the 50 of before.
    expect(await kindOf([money(101)])).toBe('full');
    expect(await kindOf([money(100)])).toBe('held');
    expect(await kindOf([money(1)])).toBe('full');
  });

  it('goes by each new look', async () => {
    shares.see([money(0)], [400]);
    await reserve([money(100)]);
    shares.see([money(0)], [940]);

    expect(await kindOf([money(10)])).toBe('held');
    expect(await kindOf([money(1)])).toBe('full');
  });

  it('grants less and less when outage follows outage without a look between them', async () => {
    shares.see([money(0)], [400]);
    let granted = 0;
    for (let outage = 0; outage < 20; outage++) {
      while ((await kindOf([money(5)], 1)) === 'held') granted += 5;
      shares.endGrants();
      await Promise.resolve();
    }

    expect(granted).toBeLessThanOrEqual(600);
    expect(granted).toBeGreaterThan(570);
  });

  it('tells apart one counter in two windows', async () => {
    const month: Item = { ...money(1), window: { kind: 'calendar', unit: 'month', timeZone: 'UTC' } };
    shares.see([money(0)], [0]);

    expect(await reserve([month])).toBeUndefined();
    expect(await kindOf([money(1)])).toBe('held');
  });

  it('forgets the counter that was seen longest ago, when there are too many', async () => {
    shares.see([money(0)], [0]);
    shares.see([{ ...money(0), counter: 'old' }], [0]);
    for (let i = 0; i < 9_999; i++) {
      shares.see([{ ...money(0), counter: `${i}` }], [0]);
      shares.see([money(0)], [0]);
    }

    expect(await kindOf([money(1)])).toBe('held');
    expect(await reserve([{ ...money(1), counter: 'old' }])).toBeUndefined();
  });
});

describe('what this instance has spent', () => {
  it('is told by where it is dated, without reservations that are told by themselves', async () => {
    shares.hold('settled', [tokens(100), money(100)], HOW);
    shares.settle('settled', [70, 60]);
    shares.hold('apart', [tokens(30), money(30), running()], HOW);
    shares.hold('drawing', [tokens(20)], { ...HOW, from: 'apart' });

    expect(shares.holding('apart')).toEqual([10, 30, 1]);
    expect(shares.holding('settled')).toBeUndefined();
    const [slot, day] = [clock.now() / 1_000, clock.now()];
    expect([...shares.counted((id) => id === 'apart')]).toMatchObject([
      { counter: 'tokens', parts: [[slot, 90]] },
      { counter: 'money', parts: [[day, 60]] },
    ]);
  });
});
