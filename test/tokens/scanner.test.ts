import fc from 'fast-check';
import cl100k from 'js-tiktoken/ranks/cl100k_base';
import o200k from 'js-tiktoken/ranks/o200k_base';
import p50k from 'js-tiktoken/ranks/p50k_base';
import r50k from 'js-tiktoken/ranks/r50k_base';
import { beforeAll, describe, expect, it } from 'vitest';
import { readKinds } from '../../src/tokens/code-points.js';
import { type FindEnd, scannerFor } from '../../src/tokens/scanner.js';
import { CHINESE, CODE, ENGLISH, JSON_TEXT } from './texts.js';

const RUNS = { numRuns: 8_000 };

/** Ends of all pieces as the expression finds them. */
function endsBy(expression: string, text: string): number[] {
  const pieces = new RegExp(expression, 'gu');
  const ends: number[] = [];
  while (pieces.exec(text)) ends.push(pieces.lastIndex);
  return ends;
}

/** The same with the scanner, which reads bytes; a lone surrogate is a symbol either way. */
function endsByScanner(findEnd: FindEnd, text: string): number[] {
  const bytes = Buffer.from(text);
  const ends: number[] = [];
  for (let start = 0, units = 0; start < bytes.length; ) {
    const end = findEnd(bytes, start, bytes.length);
    units += bytes.toString('utf8', start, end).length;
    ends.push(units);
    start = end;
  }
  return ends;
}

beforeAll(() => readKinds(async () => {}));

describe.each([
  ['o200k_base', o200k.pat_str],
  ['cl100k_base', cl100k.pat_str],
  ['p50k_base', p50k.pat_str],
  ['r50k_base', r50k.pat_str],
])('the scanner of %s', (_, expression) => {
  const findEnd = scannerFor(expression) as FindEnd;

  const ascii = fc.string({ unit: fc.constantFrom(...Array.from({ length: 128 }, (__, unit) => String.fromCharCode(unit))) });
  const telling = fc.string({ unit: fc.constantFrom(..."aZsStTlLmMrReEvVdD'019 \t\n\r\v\f./-_(") });
  const mixed = fc.string({ unit: fc.constantFrom(..."aZs'1 \n\t./é漢ſ\u00a0\u2028\ufeff٣²ǅʰ\u0301\ud83d\ude00\ud800𝐀𐐨𝟗") });
  const cased = fc.string({ unit: fc.constantFrom(..."aAǅʰ漢\u0301'S !") });
  const any = fc.string({ unit: 'binary' });

  it.each([
    ['any ASCII', ascii],
    ['what its cases turn on', telling],
    ['characters of every kind', mixed],
    ['capitals, marks and letters without case', cased],
    ['any characters', any],
  ])('cuts %s as the expression does', (__, texts) => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(endsByScanner(findEnd, text)).toEqual(endsBy(expression, text));
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
    expect(endsByScanner(findEnd, text)).toEqual(endsBy(expression, text));
  });
});

it('is not trusted with an expression that it was not written for', () => {
  expect(scannerFor('.')).toBeUndefined();
  expect(scannerFor(`${o200k.pat_str} `)).toBeUndefined();
});
