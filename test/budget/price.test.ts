import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { priceOf } from '../../src/budget/price.js';

const usage = (inputTokens?: number, outputTokens?: number, cachedInputTokens?: number, cacheWriteTokens?: number) => ({
  inputTokens,
  outputTokens,
  cachedInputTokens,
  cacheWriteTokens,
});

describe('the price of a call', () => {
  it('is dollars per million tokens, in micro-dollars', () => {
    expect(priceOf(usage(1_000_000, 0), { input: 2.5, output: 10 })).toBe(2_500_000);
    expect(priceOf(usage(1_000, 200), { input: 2.5, output: 10 })).toBe(4_500);
  });

  it('adds what each request costs', () => {
    expect(priceOf(usage(0, 0), { input: 1, output: 1, perRequest: 0.01 })).toBe(10_000);
  });

  it('rounds up to a whole micro-dollar', () => {
    expect(priceOf(usage(1, 0), { input: 0.15, output: 0.6 })).toBe(1);
    expect(priceOf(usage(7, 0), { input: 0.15, output: 0.6 })).toBe(2);
  });

  it('does not round up the dust of binary fractions', () => {
    expect(0.1 * 3).toBeGreaterThan(0.3);
    expect(priceOf(usage(30, 0), { input: 0.1, output: 0 })).toBe(3);
    expect(priceOf(usage(3_000, 0), { input: 0.15, output: 0 })).toBe(450);
  });

  it('prices cached and cache-write tokens apart', () => {
    const price = { input: 3, cachedInput: 0.3, cacheWrite: 3.75, output: 15 };

    expect(priceOf(usage(1_000, 0, 600, 200), price)).toBe(200 * 3 + 600 * 0.3 + 200 * 3.75);
  });

  it('takes the price of input for cached tokens without one of their own', () => {
    expect(priceOf(usage(1_000, 0, 600, 200), { input: 3, output: 15 })).toBe(3_000);
  });

  it('believes no more cached tokens than there is input', () => {
    const price = { input: 3, cachedInput: 1, cacheWrite: 2, output: 15 };

    expect(priceOf(usage(100, 0, 500, 500), price)).toBe(100);
    expect(priceOf(usage(100, 0, 60, 500), price)).toBe(60 + 40 * 2);
  });

  it('counts what was not reported as nothing', () => {
    expect(priceOf(usage(), { input: 3, output: 15 })).toBe(0);
  });

  it('stays a whole number that can be counted with, whatever the figures', () => {
    const tokens = fc.option(fc.integer({ min: 0, max: 10_000_000 }), { nil: undefined });
    const dollars = fc.double({ min: 0, max: 1e9, noNaN: true });

    fc.assert(
      fc.property(tokens, tokens, tokens, dollars, dollars, (input, output, cached, inputPrice, outputPrice) => {
        const price = priceOf(usage(input, output, cached), { input: inputPrice, output: outputPrice, perRequest: inputPrice });

        expect(Number.isSafeInteger(price)).toBe(true);
        expect(price).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});
