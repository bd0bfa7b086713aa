import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { blockAt, blockCount, spread } from '../../src/tokens/blocks.js';

const blocks = (text: string): string[] => Array.from({ length: blockCount(text) }, (_, index) => blockAt(text, index));

describe('blocks', () => {
  it('are the whole text, in order, whatever it is', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 4_000, size: 'max' }),
      fc
        .array(fc.constantFrom('word ', '漢字。', '\n', '😀', '\ud800', 'x', ' 7'), { maxLength: 2_000, size: 'max' })
        .map((parts) => parts.join('')),
    );

    fc.assert(
      fc.property(text, (given) => {
        expect(blocks(given).join('')).toBe(given);
      }),
    );
  });

  it('are never much longer than the others', () => {
    const lengths = blocks('abc '.repeat(5_000)).map(({ length }) => length);

    expect(Math.max(...lengths)).toBeLessThanOrEqual(640);
    expect(lengths.length).toBe(Math.ceil(20_000 / 512));
  });

  it('do not cut a surrogate pair where there is no better place', () => {
    for (const text of ['😀'.repeat(2_000), `x${'😀'.repeat(2_000)}`])
      expect(blocks(text).filter((block) => !block.isWellFormed())).toEqual([]);
  });

  it.each([
    ['before a space between words', 'word '.repeat(300), /^ word/],
    ['before a mark after a word', 'word,7'.repeat(300), /^,7/],
    ['after a line break before a word', '77\nword7'.repeat(300), /^word/],
    ['before a mark after a Chinese word', '漢字漢字。7'.repeat(300), /^。7/],
  ])('begin %s', (_, text, begin) => {
    for (const block of blocks(text).slice(1)) expect(block).toMatch(begin);
  });

  it('do not begin with an apostrophe, which may belong to the word before', () => {
    for (const block of blocks("don't".repeat(300)).slice(1)) expect(block).not.toMatch(/^'/);
  });
});

describe('spread', () => {
  it('gives every number once', () => {
    for (const count of [1, 2, 3, 4, 5, 8, 13, 89, 100, 1_000])
      expect([...spread(count)].sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, index) => index));
  });

  it('leaves no large gap after any beginning', () => {
    for (const count of [100, 1_000, 1_025, 8_192])
      for (const taken of [3, 10, 31, 99]) {
        const seen = [...[...spread(count)].slice(0, taken), count].sort((a, b) => a - b);
        const gaps = seen.map((at, index) => at - (seen[index - 1] ?? 0));

        // Equal distances would leave count / taken.
        expect(Math.max(...gaps)).toBeLessThanOrEqual((2 * count) / taken + 1);
      }
  });
});
