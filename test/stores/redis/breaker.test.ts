import { describe, expect, it } from 'vitest';
import { createBreaker } from '../../../src/stores/redis/breaker.js';

const fail = (breaker: ReturnType<typeof createBreaker>, times: number, atMs: number) =>
  Array.from({ length: times }, () => breaker.failed(atMs));

describe('the breaker', () => {
  it('opens at the fifth failure in a row, and says so once', () => {
    const breaker = createBreaker();

    expect(fail(breaker, 4, 0)).toEqual([false, false, false, false]);
    expect(breaker.isOpen).toBe(false);
    expect(fail(breaker, 2, 60_000)).toEqual([true, false]);
    expect(breaker.isOpen).toBe(true);
  });

  it('begins its row anew after a success', () => {
    const breaker = createBreaker();

    fail(breaker, 4, 0);
    breaker.succeeded(1);

    expect(fail(breaker, 4, 2)).not.toContain(true);
  });

  it('opens when more than half of twenty within a second fail', () => {
    const breaker = createBreaker();
    for (let i = 0; i < 9; i++) {
      breaker.failed(i);
      breaker.succeeded(i);
    }

    expect([breaker.failed(500), breaker.failed(600)]).toEqual([false, true]);
  });

  it.each([
    ['fewer than twenty calls', 18, 0],
    ['failures of another second', 40, 100],
    ['a clock that runs backwards', 40, -100],
  ])('stays shut for half and more of %s', (_, calls, stepMs) => {
    const breaker = createBreaker();

    for (let i = 0; i < calls; i += 3) {
      breaker.failed(i * stepMs);
      breaker.failed(i * stepMs);
      breaker.succeeded(i * stepMs);
    }

    expect(breaker.isOpen).toBe(false);
  });

  it('stays open whatever succeeds, until it is closed, and has then forgotten', () => {
    const breaker = createBreaker();
    fail(breaker, 5, 0);

    breaker.succeeded(0);
    expect(breaker.isOpen).toBe(true);
    breaker.close();

    expect(breaker.isOpen).toBe(false);
    expect(fail(breaker, 4, 1)).not.toContain(true);
    breaker.open();
    expect(breaker.isOpen).toBe(true);
  });
});
