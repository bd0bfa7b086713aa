import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ascending, median, upperQuantile } from '../../src/learning/quantile.js';

describe('upperQuantile', () => {
  it.each([
    [[7], 0.9, 7],
    [[1, 2], 0.9, 2],
    [[1, 2, 3, 4, 5, 6, 7, 8, 9], 0.9, 9],
    [[1, 2, 3, 4, 5, 6, 7, 8, 9], 0.5, 5],
    [[1, 2, 3, 4], 0.5, 2.5],
    [[1, 2, 3, 4], 0.01, 1],
  ])('of %j at %d is %d', (values, ratio, expected) => {
    expect(upperQuantile(ascending(values), ratio)).toBeCloseTo(expected, 12);
  });

  it('lies within the sample, grows with the share, and leaves that share of the sample below it', () => {
    const values = fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 200 });
    const ratio = fc.double({ min: 0.01, max: 0.99, noNaN: true });

    fc.assert(
      fc.property(values, ratio, ratio, (given, one, other) => {
        const sorted = ascending(given);
        const [low, high] = [Math.min(one, other), Math.max(one, other)];
        const found = upperQuantile(sorted, high);

        expect(found).toBeGreaterThanOrEqual(sorted[0] as number);
        expect(found).toBeLessThanOrEqual(sorted.at(-1) as number);
        expect(upperQuantile(sorted, low)).toBeLessThanOrEqual(found + Math.abs(found) * 1e-12);
        expect(given.filter((value) => value <= found).length).toBeGreaterThanOrEqual(Math.floor(high * given.length));
      }),
    );
  });
});

describe('median', () => {
  it.each([
    [[3], 3],
    [[9, 1], 5],
    [[9, 1, 2], 2],
  ])('of %j is %d', (values, expected) => {
    expect(median(ascending(values))).toBe(expected);
  });

  it('leaves what was given in its order', () => {
    const values = [3, 1, 2];

    ascending(values);

    expect(values).toEqual([3, 1, 2]);
  });
});
