import { describe, expect, it } from 'vitest';
import { OutputExpectation } from '../../src/learning/output-expectation.js';
import { normal, randomOf } from './simulated-route.js';

const longTail = (random: () => number) => Math.ceil(200 * Math.exp(0.6 * normal(random)));

/** Share of answers that were no longer than expected, once something was. */
function coveredRatio(seed: number, coveredOutputRatio: number): number {
  const random = randomOf(seed);
  const output = new OutputExpectation(10, coveredOutputRatio);
  let [covered, calls] = [0, 0];
  for (let call = 0; call < 3_000; call++) {
    const tokens = longTail(random);
    const expected = output.expected(0);
    if (expected !== undefined) {
      calls++;
      if (tokens <= expected) covered++;
    }
    output.add(0, tokens);
  }
  return covered / calls;
}

describe('expected output', () => {
  it('is not known before there are enough answers', () => {
    const output = new OutputExpectation(10, 0.9);
    for (let call = 0; call < 9; call++) output.add(0, 200);
    expect(output.expected(0)).toBeUndefined();

    output.add(0, 200);

    expect(output.expected(0)).toBe(200);
    expect(output.expected(1)).toBe(200);
  });

  it.each([0.5, 0.75, 0.9, 0.99])('covers %d of the answers of a route with a long tail', (ratio) => {
    for (const seed of [1, 2, 3]) expect(Math.abs(coveredRatio(seed, ratio) - ratio)).toBeLessThan(0.02);
  });

  it('follows longer answers within 20 calls, and shorter ones once the sample is theirs', () => {
    const output = new OutputExpectation(10, 0.9);
    const add = (tokens: number, calls: number) => {
      for (let call = 0; call < calls; call++) output.add(0, tokens);
      return output.expected(0);
    };
    expect(add(200, 300)).toBe(200);

    expect(add(900, 30)).toBe(900);
    expect(add(150, 128)).toBe(150);
  });

  it('is never so little that many calls at once pass for nothing, however short the answers were', () => {
    const output = new OutputExpectation(10, 0.9);

    for (let call = 0; call < 200; call++) output.add(0, call % 2);

    expect(output.expected(0)).toBe(128);
    expect(output.expected(1)).toBe(128);
  });

  it('is what a tenant has a record of, whatever longer answers others get', () => {
    const output = new OutputExpectation(10, 0.9);
    for (let round = 0; round < 40; round++) {
      for (let tenant = 0; tenant < 8; tenant++) output.add(tenant, 150);
      for (const heavy of [100, 101]) output.add(heavy, 25_000);
    }

    expect(output.expected(3)).toBe(150);
    expect(output.expected(100)).toBe(25_000);
  });

  it('is bounded for whoever has no record, so that a flood of strangers with long answers shuts nobody out', () => {
    const output = new OutputExpectation(10, 0.9);
    for (let call = 0; call < 20; call++) output.add(1, 150);
    for (let stranger = 1_000; stranger < 4_000; stranger++) output.add(stranger, 10_000_000);

    expect(output.expected(1)).toBe(150);
    expect(output.expected(999_999)).toBe(4_096);
  });

  describe('beside a tenant with ten times the traffic', () => {
    function beside(tenants: number, busy: number | undefined) {
      const random = randomOf(tenants);
      const output = new OutputExpectation(10, 0.9);
      for (let round = 0; round < 100; round++) {
        for (let tenant = 1; tenant <= tenants; tenant++) output.add(tenant, longTail(random));
        if (busy !== undefined) for (let call = 0; call < 10; call++) output.add(0, busy);
      }
      return output;
    }

    it.each([1, 2, 5, 20])('whose answers are very long, is what it was for %i others, and long for that one', (tenants) => {
      const [alone, output] = [beside(tenants, undefined), beside(tenants, 50_000)];

      for (let tenant = 1; tenant <= tenants; tenant++)
        expect(output.expected(tenant)).toBeLessThan(1.3 * (alone.expected(tenant) as number));
      expect(output.expected(999)).toBeLessThan(1.3 * (alone.expected(999) as number));
      expect(output.expected(0)).toBe(50_000);
    });

    it.each([2, 5, 20])('whose answers are very short, is hardly less for %i others', (tenants) => {
      const [alone, output] = [beside(tenants, undefined), beside(tenants, 1)];

      for (let tenant = 1; tenant <= tenants; tenant++)
        expect(output.expected(tenant)).toBeGreaterThan(0.7 * (alone.expected(tenant) as number));
    });
  });
});
