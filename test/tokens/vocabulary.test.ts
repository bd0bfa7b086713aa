import fc from 'fast-check';
import { Tiktoken } from 'js-tiktoken/lite';
import o200k from 'js-tiktoken/ranks/o200k_base';
import { beforeAll, describe, expect, it } from 'vitest';
import { MOST_WORK_PER_UNIT, readVocabulary, type Vocabulary } from '../../src/tokens/vocabulary.js';
import { createRandom, randomText } from '../support/random-texts.js';

const work = () => ({ left: 0 });

describe('a vocabulary', () => {
  const oracle = new Tiktoken(o200k);
  const real = (text: string): number => oracle.encode(text, [], []).length;
  let vocabulary: Vocabulary;
  beforeAll(async () => {
    vocabulary = await readVocabulary(o200k);
  });

  it.each([95, 96, 97, 98, 128, 129, 400, 1_000])('counts pieces of %i bytes, by either way of merging', (length) => {
    for (const unit of ['a', 'qzxjvkwpt', '-', '=-', ' ', '漢', '😀', '\n', '\u0301', 'ก', '\ud800']) {
      const piece = unit.repeat(Math.ceil(length / Buffer.byteLength(unit)));

      expect([unit, vocabulary.count(piece, work())]).toEqual([unit, real(piece)]);
    }
  });

  it('counts long pieces of random letters, in which many unions rank alike', () => {
    const piece = fc.string({ unit: fc.constantFrom('a', 'b', 'e', 'n'), minLength: 60, maxLength: 300 });

    fc.assert(
      fc.property(piece, (text) => {
        expect(vocabulary.count(text, work())).toBe(real(text));
      }),
      { numRuns: 100 },
    );
  });

  it.each([
    ['one letter', 'a'],
    ['emoji', '😀🜁'],
    ['halves of characters', '\ud800'],
  ])(
    'is within 2 percent for pieces longer than it merges at once, of %s',
    (_, unit) => {
      const piece = unit.repeat(Math.ceil(4_200 / Buffer.byteLength(unit)));

      const [counted, whole] = [vocabulary.count(piece, work()), real(piece)];

      expect(counted).toBeGreaterThanOrEqual(whole);
      expect(counted).toBeLessThanOrEqual(whole * 1.02);
    },
    60_000,
  );

  it('counts the same again when it remembers the pieces', () => {
    const random = createRandom(21);
    const texts = Array.from({ length: 500 }, () => randomText(random));
    const count = () => texts.map((text) => vocabulary.count(text, work()));

    expect(count()).toEqual(count());
  });

  it('takes no more work than its bound, whatever the text', () => {
    const random = createRandom(23);
    const texts = [
      ...Array.from({ length: 2_000 }, () => randomText(random)),
      '\ud800'.repeat(3_000),
      'a1'.repeat(2_000),
      '\u0301漢'.repeat(999),
    ];

    for (const text of texts) {
      const left = work();
      vocabulary.count(text, left);

      // A text takes something by itself.
      expect(-left.left).toBeLessThanOrEqual(text.length * MOST_WORK_PER_UNIT + 2);
      expect(-left.left).toBeGreaterThan(text.length / 64);
    }
  });

  it('takes work that grows with the length of the text and no faster', () => {
    const spent = (text: string): number => {
      const left = work();
      vocabulary.count(text, left);
      return -left.left;
    };

    for (const unit of ['a', ' ', '漢', '\ud800', '!', '😀', 'ab1 '])
      expect(spent(unit.repeat(40_000)) / spent(unit.repeat(10_000))).toBeLessThan(4.2);
  });

  it('cuts by the expression itself when nobody wrote a scanner for it', async () => {
    const other = await readVocabulary({ ...o200k, pat_str: `${o200k.pat_str}|never{9}` });
    const random = createRandom(22);

    for (let turn = 0; turn < 500; turn++) {
      const text = randomText(random);
      expect(other.count(text, work())).toBe(vocabulary.count(text, work()));
    }
  });
});

describe('a table of tokens', () => {
  /** All bytes, then these. */
  const publish = (...tokens: readonly string[]) => {
    const bytes = Array.from({ length: 256 }, (_, byte) => Buffer.from([byte]).toString('base64'));
    const line = [...bytes, ...tokens.map((token) => Buffer.from(token).toString('base64'))].join(' ');
    return { pat_str: '[^]+', bpe_ranks: `\n! 0 ${line}\n` };
  };

  it('joins what ranks first, the left one of equals', async () => {
    const vocabulary = await readVocabulary(publish('ab', 'bc', 'aa', 'aab'));

    // ab|c, a|ab -> aab, aa|a, bc
    expect(['abc', 'aab', 'aaa', 'bc', 'xyz', ''].map((text) => vocabulary.count(text, work()))).toEqual([2, 1, 2, 1, 3, 0]);
  });

  it('reads several lines of ranks, which may leave some out', async () => {
    const { pat_str, bpe_ranks } = publish('ab');
    const vocabulary = await readVocabulary({ pat_str, bpe_ranks: `${bpe_ranks}! 300 ${Buffer.from('cd').toString('base64')}` });

    expect(['ab', 'cd', 'abcd', 'ac'].map((text) => vocabulary.count(text, work()))).toEqual([1, 1, 2, 2]);
  });
});
