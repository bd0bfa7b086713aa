import fc from 'fast-check';
import cl100k from 'js-tiktoken/ranks/cl100k_base';
import o200k from 'js-tiktoken/ranks/o200k_base';
import p50k from 'js-tiktoken/ranks/p50k_base';
import { describe, expect, it } from 'vitest';
import { type FindEnd, scannerFor } from '../../src/tokens/scanner.js';
import { CHINESE, CODE, ENGLISH, JSON_TEXT } from './texts.js';

const RUNS = { numRuns: 20_000 };

/** Ends of all pieces as the expression finds them. */
function endsBy(expression: string, text: string): number[] {
  const pieces = new RegExp(expression, 'gu');
  const ends: number[] = [];
  while (pieces.exec(text)) ends.push(pieces.lastIndex);
  return ends;
}

/** The same with the scanner, and how often it had to leave a piece to the expression. */
function endsByScanner(findEnd: FindEnd, expression: string, text: string): { ends: number[]; left: number } {
  const pieces = new RegExp(expression, 'gu');
  const units = Uint16Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
  const ends: number[] = [];
  let left = 0;
  for (let start = 0; start < text.length; ) {
    let end = findEnd(units, start, text.length);
    if (end < 0) {
      left++;
      pieces.lastIndex = start;
      pieces.exec(text);
      end = pieces.lastIndex;
    }
    ends.push(end);
    start = end;
  }
  return { ends, left };
}

describe.each([
  ['o200k_base', o200k.pat_str],
  ['cl100k_base', cl100k.pat_str],
])('the scanner of %s', (_, expression) => {
  const findEnd = scannerFor(expression) as FindEnd;

  const ascii = fc.string({ unit: fc.constantFrom(...Array.from({ length: 128 }, (__, unit) => String.fromCharCode(unit))) });
  const telling = fc.string({ unit: fc.constantFrom(..."aZsStTlLmMrReEvVdD'019 \t\n\r\v\f./-_(") });
  const mixed = fc.string({ unit: fc.constantFrom(..."aZs'1 \n\t./é漢ſ\u00a0\u2028\ufeff٣²ǅ\u0301\ud83d\ude00\ud800") });

  it.each([
    ['any ASCII', ascii],
    ['what its cases turn on', telling],
  ])('cuts %s as the expression does, without asking it', (__, texts) => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(endsByScanner(findEnd, expression, text)).toEqual({ ends: endsBy(expression, text), left: 0 });
      }),
      RUNS,
    );
  });

  it('cuts text beyond ASCII as the expression does, which it asks', () => {
    fc.assert(
      fc.property(mixed, (text) => {
        expect(endsByScanner(findEnd, expression, text).ends).toEqual(endsBy(expression, text));
      }),
      RUNS,
    );
  });

  it.each([
    ['English', ENGLISH],
    ['code', CODE],
    ['JSON', JSON_TEXT],
    ['Chinese', CHINESE],
  ])('cuts %s as the expression does', (__, text) => {
    expect(endsByScanner(findEnd, expression, text).ends).toEqual(endsBy(expression, text));
  });
});

it('is not trusted with an expression that it was not written for', () => {
  expect(scannerFor(p50k.pat_str)).toBeUndefined();
  expect(scannerFor(`${o200k.pat_str} `)).toBeUndefined();
});
