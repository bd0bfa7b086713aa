import { describe, expect, it } from 'vitest';
import { createExact } from '../../../src/stores/redis/exact.js';

const START_MS = Date.UTC(2026, 5, 15);

/** Counts over a server whose clock is ahead by so much, and whose answers take their time. */
function counts(aheadMs: number) {
  const way = { nowMs: START_MS, thereMs: 0, backMs: 0 };
  const client = {
    async evalsha() {
      way.nowMs += way.thereMs;
      const serverMs = way.nowMs + aheadMs;
      way.nowMs += way.backMs;
      return [1, serverMs, 7, 1, 0];
    },
    eval: () => Promise.reject(new Error('never')),
  };
  const exact = createExact({ client, readClient: client, prefix: 'a', newEpoch: () => 1, now: () => way.nowMs });
  return { way, hear: () => exact.beat('me', 1_000), errorMs: () => exact.nowMs() - (way.nowMs + aheadMs) };
}

describe("the server's time", () => {
  it.each([0, 10_000, -10_000])('is known from quick answers (%i ms ahead)', async (aheadMs) => {
    const { hear, errorMs } = counts(aheadMs);

    await hear();

    expect(errorMs()).toBe(0);
  });

  it.each([
    ['there', 4_000, 0],
    ['back', 0, 4_000],
    ['both ways', 2_000, 2_000],
  ])('is not forgotten for an answer that was long on its way %s', async (_, thereMs, backMs) => {
    const { way, hear, errorMs } = counts(10_000);
    await hear();

    Object.assign(way, { thereMs, backMs });
    await hear();

    expect(errorMs()).toBe(0);
  });

  it('is corrected as far as an answer proves it wrong', async () => {
    const { way, hear, errorMs } = counts(10_000);
    await hear();
    way.nowMs -= 60_000;

    Object.assign(way, { thereMs: 10, backMs: 10 });
    await hear();

    expect(Math.abs(errorMs())).toBeLessThanOrEqual(10);
  });
});
