import { Tiktoken } from 'js-tiktoken/lite';
import o200k from 'js-tiktoken/ranks/o200k_base';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Allowance, createAllowance, WORK } from '../../src/tokens/allowance.js';
import { createTokenizer } from '../../src/tokens/tokenizer.js';
import { MOST_WORK_PER_UNIT } from '../../src/tokens/vocabulary.js';
import { CHINESE, ENGLISH, JSON_TEXT } from './texts.js';

const oracle = new Tiktoken(o200k);
const real = (text: string): number => oracle.encode(text, [], []).length;

/** Always the same numbers, so that no run depends on chance. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x80000000;
  };
}
const random = createRandom(7);
const anyOf = (characters: string) => () => characters[Math.floor(random() * characters.length)] as string;
const between = (first: number, last: number) => () => String.fromCodePoint(first + Math.floor(random() * (last - first)));
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

const HOSTILE: Readonly<Record<string, () => string>> = {
  "a's": () => 'a',
  spaces: () => ' ',
  'line breaks': () => '\n',
  'one Han character': () => '漢',
  'common Han characters': between(0x4e00, 0x5a00),
  'rare Han characters': between(0x20000, 0x2a000),
  punctuation: anyOf('!@#$%^&*()_+{}[]|:;<>,./?~`'),
  'one emoji': () => '😀',
  emoji: between(0x1f300, 0x1f5ff),
  base64: anyOf(ALPHABET),
  'small letters': anyOf('abcdefghijklmnopqrstuvwxyz'),
  digits: anyOf('0123456789'),
  'lone surrogates': () => '\ud800',
  Thai: between(0xe01, 0xe2e),
  Tibetan: between(0xf40, 0xf6c),
  'combining marks': between(0x300, 0x36f),
  'a mixture': anyOf('a漢 1!é\n'),
  English: () => `${ENGLISH} `,
  Chinese: () => CHINESE,
};

/** Written out, so that it is one stretch of memory like any text that was parsed. */
const write = (unit: () => string, length: number): string => {
  const parts: string[] = [];
  for (let written = 0; written < length; written += parts.at(-1)?.length ?? 0) parts.push(unit());
  return parts.join('');
};
const unlimited = (): Allowance => {
  const allowance = createAllowance();
  allowance.work.left = allowance.work.pool = Number.MAX_SAFE_INTEGER;
  return allowance;
};

describe('work', () => {
  const tokenizer = createTokenizer();
  beforeAll(() => tokenizer.ready(['o200k_base', 'cl100k_base']));

  /** A block is not left before it is counted. */
  const LEAST_WORK = -1_024 * MOST_WORK_PER_UNIT;
  /** What was granted is judged, then the sample that it is compared with. */
  const LEAST_GUESSES = -20_000;
  function expectSpent({ work, guesses }: Allowance): void {
    expect(work.left).toBeGreaterThan(LEAST_WORK);
    expect(guesses.left).toBeGreaterThan(LEAST_GUESSES);
  }

  it.each(Object.keys(HOSTILE))('is bounded and the estimate within 3 percent for 300,000 characters of %s', (kind) => {
    const text = write(HOSTILE[kind] as () => string, 300_000);
    for (const encoding of ['o200k_base', 'cl100k_base'] as const) {
      const allowance = createAllowance();

      const counted = createTokenizer().count(text, encoding, allowance);

      expectSpent(allowance);
      expect(Math.abs(counted / tokenizer.count(text, encoding, unlimited()) - 1)).toBeLessThan(0.03);
    }
  });

  it('does not grow with longer texts', () => {
    for (const length of [1_000_000, 4_000_000]) {
      const allowance = createAllowance();
      tokenizer.count(
        write(() => CHINESE, length),
        'o200k_base',
        allowance,
      );

      expectSpent(allowance);
      expect(allowance.work.left).toBeLessThan(0);
    }
  });

  it.each([
    ['many', 2_000, 500],
    ['very many', 50_000, 20],
    ['few', 3, 300_000],
  ])('does not grow with the number of texts of a body: %s', (_, count, length) => {
    const texts = Array.from({ length: count }, () => write(between(0x4e00, 0x5a00), length));
    const allowance = createAllowance(count * length);

    const counted = texts.reduce((sum, text) => sum + tokenizer.count(text, 'o200k_base', allowance), 0);

    expectSpent(allowance);
    const whole = texts.reduce((sum, text) => sum + tokenizer.count(text, 'o200k_base', unlimited()), 0);
    expect(Math.abs(counted / whole - 1)).toBeLessThan(0.03);
  });

  it('is taken by looking texts up too', () => {
    const text = `${ENGLISH} `.repeat(8);
    tokenizer.count(text, 'o200k_base');
    const allowance = createAllowance(text.length);

    tokenizer.count(text, 'o200k_base', allowance);

    expect(WORK - allowance.work.left).toBeGreaterThan(1);
    expect(WORK - allowance.work.left).toBeLessThan(10);
  });

  it('is left for what comes after a long text: nobody hides rare characters behind common ones', () => {
    const texts = [`${ENGLISH} `.repeat(1_000), ...Array.from({ length: 40 }, () => write(between(0x20000, 0x2a000), 10_000))];
    const allowance = createAllowance(texts.reduce((sum, { length }) => sum + length, 0));

    const counted = texts.reduce((sum, text) => sum + tokenizer.count(text, 'o200k_base', allowance), 0);

    const whole = texts.reduce((sum, text) => sum + tokenizer.count(text, 'o200k_base', unlimited()), 0);
    expect(Math.abs(counted / whole - 1)).toBeLessThan(0.15);
  });
});

describe('what an allowance does not cover', () => {
  const tokenizer = createTokenizer();
  beforeAll(() => tokenizer.ready(['o200k_base']));

  const shuffled = (parts: readonly string[], times: number): string => {
    const pieces = Array.from({ length: times }, () => parts[Math.floor(random() * parts.length)] as string);
    return pieces.join(' ');
  };
  const sentences = (text: string): string[] => text.split(/(?<=[.,。，：])\s*/u);

  const mixtures: Readonly<Record<string, string>> = {
    English: shuffled(sentences(ENGLISH), 8_000),
    Chinese: shuffled(sentences(CHINESE), 2_000),
    JSON: shuffled(JSON_TEXT.split('\n'), 6_000),
    'English, then Chinese': shuffled(sentences(ENGLISH), 4_000) + shuffled(sentences(CHINESE), 1_500),
    'a little Chinese inside English': [ENGLISH, CHINESE, ENGLISH].map((text) => shuffled(sentences(text), 900)).join(' '),
  };

  it.each(Object.keys(mixtures))('is extrapolated with an error under 3 percent for %s', (kind) => {
    const text = mixtures[kind] as string;
    const allowance = createAllowance();
    // What was counted before costs little: a share of what is granted, so that most is left over.
    allowance.work.left /= 8;

    const counted = tokenizer.count(text, 'o200k_base', allowance);

    expect(allowance.isExact).toBe(false);
    expect(Math.abs(counted / real(text) - 1)).toBeLessThan(0.03);
  });

  it('is counted when the text was counted before: a conversation that grows costs its new messages only', () => {
    const spent = createAllowance();
    spent.work.left = 1.5;
    const text = CHINESE.repeat(2);
    const other = CHINESE.repeat(3);

    const first = tokenizer.count(text, 'o200k_base');
    const again = tokenizer.count(text, 'o200k_base', spent);
    const wasExact = spent.isExact;
    tokenizer.count(other, 'o200k_base', spent);

    expect([again, wasExact]).toEqual([first, true]);
    expect(spent.isExact).toBe(false);
  });

  it('is not remembered when hardly anything of it was counted', () => {
    const spent = createAllowance();
    spent.work.left = 0;
    const text = `${CHINESE}。${CHINESE}`;

    tokenizer.count(text, 'o200k_base', spent);

    expect(tokenizer.count(text, 'o200k_base')).toBe(real(text));
  });

  it('is at least one token, of any text but an empty one', () => {
    const nothing = (): Allowance => {
      const allowance = createAllowance();
      allowance.work.left = allowance.guesses.left = 0;
      return allowance;
    };

    expect(tokenizer.count('x', 'o200k_base', nothing())).toBe(1);
    expect(tokenizer.count('', 'o200k_base', nothing())).toBe(0);
    expect(tokenizer.count(ENGLISH, 'o200k_base', nothing())).toBe(Math.round(ENGLISH.length * 0.3));
  });
});
