import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FairSample, MOST_KEPT, MOST_OF_ONE } from '../../src/learning/fair-sample.js';

const sizeOf = (sample: FairSample, tenant: number) => sample.tenants.get(tenant)?.values.length ?? 0;

function filled(calls: number, tenantOf: (call: number) => number): FairSample {
  const sample = new FairSample();
  for (let call = 0; call < calls; call++) sample.add(tenantOf(call), call);
  return sample;
}

describe('a fair sample', () => {
  it('keeps the latest of a tenant that is alone', () => {
    const sample = filled(1_000, () => 1);

    expect(sample.tenants.get(1)?.values).toEqual(Array.from({ length: MOST_OF_ONE }, (_, index) => 1_000 - MOST_OF_ONE + index));
    expect([sample.size, sample.added]).toEqual([MOST_OF_ONE, 1_000]);
  });

  it('gives a tenant with ten times the traffic no more than the others', () => {
    const sample = filled(20_000, (call) => (call % 20 < 10 ? 0 : call % 20));

    const sizes = [0, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19].map((tenant) => sizeOf(sample, tenant));
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
    expect(sample.size).toBe(MOST_KEPT);
    // The busy one's are all from the last few calls.
    expect(Math.min(...(sample.tenants.get(0)?.values ?? []))).toBeGreaterThan(19_800);
  });

  it('keeps half for those who are known, however many come but once', () => {
    const sample = filled(600, (call) => call % 10);

    for (let stranger = 100; stranger < 3_100; stranger++) sample.add(stranger, 0);

    const known = Array.from({ length: 10 }, (_, tenant) => sizeOf(sample, tenant));
    expect(known.reduce((sum, size) => sum + size, 0)).toBe(MOST_KEPT / 2);
    expect(Math.min(...known)).toBeGreaterThanOrEqual(25);
  });

  it('forgets who has not been heard of for 4,096 observations, and what is older', () => {
    const sample = filled(100, (call) => call % 2);

    for (let call = 0; call < 3_990; call++) sample.add(2, 0);
    sample.add(1, 7);
    for (let call = 0; call < 103; call++) sample.add(2, 0);
    expect(sizeOf(sample, 0)).toBe(50);
    sample.add(2, 0);
    sample.add(1, 8);

    expect(sizeOf(sample, 0)).toBe(0);
    expect(sample.tenants.get(1)?.values).toEqual([7, 8]);
  });

  it('lets one tenant speak for all no more than the next one can, unless it is alone', () => {
    expect(filled(100, () => 1).mostOfOne).toBe(100);
    expect(filled(100, (call) => (call === 50 ? 2 : 1)).mostOfOne).toBe(4);
    expect(filled(100, (call) => (call % 5 === 0 ? 2 : 1)).mostOfOne).toBe(20);
    expect(new FairSample().mostOfOne).toBe(0);
  });

  it('keeps of a tenant what is wanted of its latest', () => {
    const sample = filled(20, (call) => call % 2);

    sample.keepLatest(0, 5, (value) => value !== 14);
    sample.keepLatest(1, 3, () => false);
    sample.keepLatest(7, 3, () => true);

    expect(sample.tenants.get(0)).toEqual({ values: [10, 12, 16, 18], atCalls: [11, 13, 17, 19] });
    expect([...sample.tenants.keys()]).toEqual([0]);
    expect(sample.size).toBe(4);
  });

  it('counts right and stays within its bounds, whoever comes', () => {
    const tenants = fc.array(
      fc.integer({ min: 0, max: 700 }).map((tenant) => (tenant > 650 ? 0 : tenant)),
      {
        minLength: 500,
        maxLength: 3_000,
      },
    );

    fc.assert(
      fc.property(tenants, (given) => {
        const sample = new FairSample();
        given.forEach((tenant, call) => {
          sample.add(tenant, call);
        });

        const kept = [...sample.tenants.values()];
        expect(sample.size).toBe(kept.reduce((sum, { values }) => sum + values.length, 0));
        expect(sample.size).toBe(Math.min(MOST_KEPT, sample.size));
        for (const { values, atCalls } of kept) {
          expect(values.length).toBeGreaterThan(0);
          expect(values.length).toBeLessThanOrEqual(MOST_OF_ONE);
          // The observations are the numbers of the calls, counted from 0.
          expect(atCalls.map((at) => at - 1)).toEqual(values);
        }
      }),
      { numRuns: 30 },
    );
  });
});
