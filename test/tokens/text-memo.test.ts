import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTextMemo } from '../../src/tokens/text-memo.js';

describe('a memo of texts', () => {
  it('gives what was kept for the same text, however it came about', () => {
    const memo = createTextMemo<number>(100_000);
    memo.set('x'.repeat(500), 7);

    expect(memo.get(JSON.parse(JSON.stringify('x'.repeat(500))) as string)).toBe(7);
    expect(memo.get('x'.repeat(499))).toBeUndefined();
  });

  it('never gives the value of another text, even one that shares its key', () => {
    const texts = fc.string({ unit: fc.constantFrom('a', 'b', '漢'), minLength: 60, maxLength: 64 });
    const memo = createTextMemo<string>(100_000);

    fc.assert(
      fc.property(texts, (text) => {
        const known = memo.get(text);
        memo.set(text, text);

        expect([undefined, text]).toContain(known);
        expect(memo.get(text)).toBe(text);
      }),
      { numRuns: 2_000 },
    );
  });

  it('has one place for texts that differ only where the key does not look', () => {
    const memo = createTextMemo<number>(100_000);
    const [first, second] = ['1', '2'].map((digit) => `${'x'.repeat(40)}${digit}${'x'.repeat(200)}`) as [string, string];

    memo.set(first, 1);
    memo.set(second, 2);

    expect([memo.get(first), memo.get(second)]).toEqual([undefined, 2]);
  });

  it('keeps no more than its bytes, and forgets what was not asked for longest', () => {
    const memo = createTextMemo<number>(10_000);
    const texts = Array.from({ length: 20 }, (_, index) => `${index} `.repeat(500).slice(0, 1_000));

    texts.forEach((text, index) => {
      memo.set(text, index);
      memo.get(texts[0] as string);
    });
    memo.set('y'.repeat(5_001), 0);

    expect(texts.filter((text) => memo.get(text) !== undefined)).toEqual([texts[0], ...texts.slice(-3)]);
    expect(memo.get('y'.repeat(5_001))).toBeUndefined();
  });
});
