import { Tiktoken } from 'js-tiktoken/lite';
import cl100k from 'js-tiktoken/ranks/cl100k_base';
import o200k from 'js-tiktoken/ranks/o200k_base';
import p50k from 'js-tiktoken/ranks/p50k_base';
import r50k from 'js-tiktoken/ranks/r50k_base';
import { describe, expect, it } from 'vitest';
import { createAllowance } from '../../src/tokens/allowance.js';
import { createTokenizer } from '../../src/tokens/tokenizer.js';
import { createRandom, randomText } from '../support/random-texts.js';

/** Always the same: `scripts/count-strings.ts` takes others, and a million of them. */
const SEED = 5;

describe('counts of generated strings', () => {
  it.each([
    ['o200k_base', 9_000, o200k],
    ['cl100k_base', 8_000, cl100k],
    ['p50k_base', 1_500, p50k],
    ['r50k_base', 1_500, r50k],
  ] as const)(
    'are those of js-tiktoken in %s, %i times',
    async (encoding, count, published) => {
      const tokenizer = createTokenizer();
      await tokenizer.ready([encoding]);
      const oracle = new Tiktoken(published);
      const random = createRandom(SEED);

      const different: string[] = [];
      for (let done = 0; done < count; done++) {
        const text = randomText(random);
        const counted = tokenizer.count(text, encoding, createAllowance());
        const real = oracle.encode(text, [], []).length;
        if (counted !== real) different.push(`${counted} instead of ${real}: ${JSON.stringify(text)}`);
      }

      expect(different).toEqual([]);
    },
    60_000,
  );
});
