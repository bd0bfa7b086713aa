import fc from 'fast-check';
import cl100k from 'js-tiktoken/ranks/cl100k_base';
import o200k from 'js-tiktoken/ranks/o200k_base';
import r50k from 'js-tiktoken/ranks/r50k_base';
import { beforeAll, describe, expect, it } from 'vitest';
import { blockAt, blockCount, spread } from '../../src/tokens/blocks.js';
import { readKinds } from '../../src/tokens/code-points.js';
import { createRandom, randomText } from '../support/random-texts.js';

beforeAll(() => readKinds(async () => {}));

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

  it('are never much longer or shorter than the others', () => {
    const lengths = blocks('abc '.repeat(5_000)).map(({ length }) => length);

    expect(Math.max(...lengths)).toBeLessThanOrEqual(768);
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(256);
    expect(lengths.length).toBe(Math.round(20_000 / 512));
  });

  it.each([513, 600, 767, 768, 1_023, 1_024, 1_025, 1_279, 1_280, 1_281])(
    'of %i units without a place to cut are all of them',
    (length) => {
      const lengths = blocks('!'.repeat(length)).map((block) => block.length);

      expect(lengths.reduce((sum, next) => sum + next, 0)).toBe(length);
      expect(Math.max(...lengths)).toBeLessThan(1_024);
    },
  );

  it('do not cut a surrogate pair where there is no better place', () => {
    for (const text of ['😀'.repeat(2_000), `x${'😀'.repeat(2_000)}`])
      expect(blocks(text).filter((block) => !block.isWellFormed())).toEqual([]);
  });

  it.each([
    ['before a space after a word', 'word '.repeat(300), /^ word/],
    ['before a mark after a word', 'word,,'.repeat(300), /^,,word/],
    ['before a line break after a number', '7\n'.repeat(600), /^\n7/],
    ['before a number after a word', 'word7'.repeat(300), /^(7word|word7)/],
    ['before a mark after a Chinese word', '漢字漢字。。'.repeat(300), /^。。/],
  ])('begin %s', (_, text, begin) => {
    for (const block of blocks(text).slice(1)) expect(block).toMatch(begin);
  });

  it.each([
    ['o200k_base', o200k.pat_str],
    ['cl100k_base', cl100k.pat_str],
    ['r50k_base', r50k.pat_str],
  ])('have the pieces of the whole text in %s', (_, expression) => {
    const pieces = (text: string): string[] => text.match(new RegExp(expression, 'gu')) ?? [];
    const random = createRandom(11);

    for (let turn = 0; turn < 300; turn++) {
      // Words enough that there always is a place.
      const text = Array.from({ length: 60 }, () => `${randomText(random).slice(0, 60)} word`).join('');

      expect(blocks(text).flatMap(pieces)).toEqual(pieces(text));
    }
  });

  it('do not begin with an apostrophe, which may belong to the word before', () => {
    for (const block of blocks("don't".repeat(300)).slice(1)) expect(block).not.toMatch(/^'/);
  });
});

/** The first numbers. */
function taken(count: number, most = count): number[] {
  const order = spread(count);
  return Array.from({ length: most }, () => order.next());
}

describe('spread', () => {
  it('gives every number once', () => {
    for (const count of [1, 2, 3, 4, 5, 8, 13, 89, 100, 1_000])
      expect(taken(count).sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, index) => index));
  });

  it('leaves no large gap after any beginning', () => {
    for (const count of [100, 1_000, 1_025, 8_192])
      for (const first of [3, 10, 31, 99]) {
        const seen = [...taken(count, first), count].sort((a, b) => a - b);
        const gaps = seen.map((at, index) => at - (seen[index - 1] ?? 0));

        // Equal distances would leave count / taken.
        expect(Math.max(...gaps)).toBeLessThanOrEqual((2 * count) / first + 1);
      }
  });

  it('ends, and stays at its end', () => {
    expect(taken(3, 6)).toEqual([0, 2, 1, -1, -1, -1]);
  });
});
