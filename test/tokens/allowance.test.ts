import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { add, createAllowance, grant, granted, unseenRate, WORK } from '../../src/tokens/allowance.js';

describe('an allowance', () => {
  it('without a length grants everything to the first text', () => {
    const allowance = createAllowance();
    grant(allowance, 1);

    expect(granted(allowance.work)).toBe(WORK);
  });

  it('grants each text its share of the length', () => {
    const allowance = createAllowance(1_000);

    const grants = [100, 400, 500].map((length) => {
      grant(allowance, length);
      const share = granted(allowance.work);
      allowance.work.left -= share;
      return Math.round(share);
    });

    expect(grants).toEqual([0.1 * WORK, 0.4 * WORK, 0.5 * WORK]);
  });

  it('hands on what a text leaves over, and takes back what it used too much', () => {
    const allowance = createAllowance(1_000);
    grant(allowance, 500);
    grant(allowance, 250);
    expect(granted(allowance.work)).toBe(0.75 * WORK);

    allowance.work.left -= WORK;
    grant(allowance, 250);

    expect(granted(allowance.work)).toBe(0);
  });

  it('has granted everything once all texts have come, and more than that never', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(10_000), { minLength: 1 }), fc.nat(20_000), (lengths, more) => {
        const total = lengths.reduce((sum, length) => sum + length, 0);
        const allowance = createAllowance(total);
        for (const length of lengths) grant(allowance, length);
        expect(granted(allowance.work)).toBeCloseTo(WORK, 6);

        grant(allowance, more);

        expect(granted(allowance.work)).toBeCloseTo(WORK, 6);
      }),
    );
  });

  it('speaks for what is not looked at by what was looked at last', () => {
    const allowance = createAllowance();
    expect(unseenRate(allowance)).toBe(0.3);

    add(allowance.seen, 200_000, 1_000_000);
    expect(unseenRate(allowance)).toBe(0.2);
    for (let text = 0; text < 30; text++) add(allowance.seen, 200, 100);

    expect(unseenRate(allowance)).toBeCloseTo(2, 1);
  });
});
