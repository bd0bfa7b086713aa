import { Tiktoken } from 'js-tiktoken/lite';
import o200k from 'js-tiktoken/ranks/o200k_base';
import { beforeAll, describe, expect, it } from 'vitest';
import { createAllowance } from '../../src/tokens/bounded-count.js';
import { createTokenizer } from '../../src/tokens/tokenizer.js';
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

describe('time', () => {
  const tokenizer = createTokenizer();
  beforeAll(() => tokenizer.ready(['o200k_base', 'cl100k_base']));

  /** Least time of the processor for three texts that differ: what the work takes, not what else the machine is doing. */
  function leastMs(texts: readonly string[], count: (text: string) => number): number {
    const times = texts.map((text) => {
      const start = process.cpuUsage();
      count(text);
      const { user, system } = process.cpuUsage(start);
      return (user + system) / 1_000;
    });
    return Math.min(...times);
  }
  /** Written out, so that no measurement includes putting a text together. */
  const write = (unit: () => string, length: number): string[] =>
    ['x', 'y', 'z'].map((first) => {
      let text = first;
      while (text.length < length) text += unit();
      return Buffer.from(text, 'utf16le').toString('utf16le');
    });

  it.each(Object.keys(HOSTILE))('100,000 characters of %s hold the event loop for less than 25 ms', (kind) => {
    for (const encoding of ['o200k_base', 'cl100k_base'] as const) {
      const texts = write(HOSTILE[kind] as () => string, 100_000);

      expect(leastMs(texts, (text) => tokenizer.count(text, encoding))).toBeLessThan(25);
    }
  });

  it('does not grow with longer texts', () => {
    for (const unit of [HOSTILE['common Han characters'], HOSTILE.base64] as (() => string)[]) {
      const texts = write(unit, 2_000_000);

      expect(leastMs(texts, (text) => tokenizer.count(text, 'o200k_base'))).toBeLessThan(50);
    }
  });

  it('does not grow with the number of texts that share an allowance', () => {
    const texts = write(HOSTILE['common Han characters'] as () => string, 1_000_000).map((text) => text.match(/.{500}/gsu) ?? []);

    const ms = leastMs(['0', '1', '2'], (index) => {
      const allowance = createAllowance();
      return (texts[Number(index)] ?? []).reduce((sum, text) => sum + tokenizer.count(text, 'o200k_base', allowance), 0);
    });

    expect(texts[0]?.length).toBeGreaterThan(1_900);
    expect(ms).toBeLessThan(50);
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
    spent.work.left = 0;
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
    const nothing = () => ({ work: { left: 0 }, guesses: 0, isExact: true });

    expect(tokenizer.count('x', 'o200k_base', nothing())).toBe(1);
    expect(tokenizer.count('', 'o200k_base', nothing())).toBe(0);
    expect(tokenizer.count(ENGLISH, 'o200k_base', nothing())).toBe(Math.round(ENGLISH.length * 0.3));
  });
});
