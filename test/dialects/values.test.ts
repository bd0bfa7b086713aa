import { describe, expect, it } from 'vitest';
import { countOf, fieldsOf, listOf, maximumOf, modelOf, nestsDeeper, textOf } from '../../src/dialects/values.js';

const NUMBERS: readonly (readonly [unknown, number | undefined])[] = [
  [7, 7],
  [7.9, 7],
  [11, 10],
  [1e308, 10],
  [-1, undefined],
  [Number.NaN, undefined],
  [Number.POSITIVE_INFINITY, undefined],
  ['7', undefined],
  [7n, undefined],
  [null, undefined],
  [[7], undefined],
];

describe('numbers of a body', () => {
  it.each(NUMBERS)('%s is taken as %s', (value, expected) => {
    expect(countOf(value, 10)).toBe(expected);
    expect(maximumOf(value, 10)).toBe(expected);
  });

  it.each([0, 0.9, -0])('%s is a count but no maximum', (value) => {
    expect(countOf(value, 10)).toBeCloseTo(0);
    expect(maximumOf(value, 10)).toBeUndefined();
  });

  it('are at most ten million tokens when no other bound is given', () => {
    expect(countOf(1e12)).toBe(10_000_000);
  });
});

describe('other values of a body', () => {
  it('are objects only when they are neither lists nor null', () => {
    const value = {};

    expect(fieldsOf(value)).toBe(value);
    expect([[], null, undefined, 'x', 7].map(fieldsOf)).toEqual([undefined, undefined, undefined, undefined, undefined]);
  });

  it('are an empty list or text when they are none', () => {
    expect([{ length: 3 }, 'abc', null].map(listOf)).toEqual([[], [], []]);
    expect([['abc'], 7, null, { toString: () => 'x' }].map(textOf)).toEqual(['', '', '', '']);
  });

  it('are a model name of 1 to 256 characters', () => {
    expect([modelOf('m'), modelOf('m'.repeat(256))]).toEqual(['m', 'm'.repeat(256)]);
    expect([modelOf(''), modelOf('m'.repeat(257)), modelOf(['m'])]).toEqual([undefined, undefined, undefined]);
  });
});

describe('nestsDeeper', () => {
  const nested = (depth: number): unknown => {
    let value: unknown = 1;
    for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value, b: value };
    return value;
  };

  it.each([
    [0, false],
    [63, false],
    [64, false],
    [65, true],
    [10_000, true],
  ])('of %i levels with 64 allowed is %s', (depth, expected) => {
    expect(nestsDeeper(nested(depth), 64)).toBe(expected);
  });

  it('takes long lists as one level', () => {
    expect(
      nestsDeeper(
        Array.from({ length: 100_000 }, () => []),
        1,
      ),
    ).toBe(false);
  });
});
