import fc from 'fast-check';
import { Tiktoken } from 'js-tiktoken/lite';
import cl100k from 'js-tiktoken/ranks/cl100k_base';
import o200k from 'js-tiktoken/ranks/o200k_base';
import p50k from 'js-tiktoken/ranks/p50k_base';
import r50k from 'js-tiktoken/ranks/r50k_base';
import { beforeAll, describe, expect, it } from 'vitest';
import { createAllowance } from '../../src/tokens/allowance.js';
import type { EncodingName } from '../../src/tokens/encodings.js';
import { createTokenizer } from '../../src/tokens/tokenizer.js';
import { CHINESE, CODE, ENGLISH, JSON_TEXT } from './texts.js';

const ENCODINGS: readonly EncodingName[] = ['o200k_base', 'cl100k_base', 'p50k_base', 'r50k_base'];
const PUBLISHED = { o200k_base: o200k, cl100k_base: cl100k, p50k_base: p50k, r50k_base: r50k };
const oracles = new Map<EncodingName, Tiktoken>();

/** Tokens as js-tiktoken itself counts them. Slow on long pieces: for short texts only. */
function real(text: string, encoding: EncodingName): number {
  const oracle = oracles.get(encoding) ?? new Tiktoken(PUBLISHED[encoding]);
  oracles.set(encoding, oracle);
  return oracle.encode(text, [], []).length;
}

describe('a tokenizer without vocabularies', () => {
  it('judges text by its characters, and says that it did', () => {
    const tokenizer = createTokenizer();
    const allowance = createAllowance();

    const guess = tokenizer.count(ENGLISH, 'r50k_base', allowance);

    expect(tokenizer.isReady('r50k_base')).toBe(false);
    expect(allowance.isExact).toBe(false);
    expect(Math.abs(guess / real(ENGLISH, 'r50k_base') - 1)).toBeLessThan(0.15);
  });

  it('loads the vocabulary that it was asked for', async () => {
    const tokenizer = createTokenizer();
    tokenizer.count(ENGLISH, 'r50k_base');

    await expect.poll(() => tokenizer.isReady('r50k_base'), { timeout: 10_000 }).toBe(true);
  });

  it('forgets its guesses once it can count', async () => {
    const tokenizer = createTokenizer();
    const text = 'qzxjv '.repeat(40);

    const guess = tokenizer.count(text, 'p50k_base');
    await tokenizer.ready(['p50k_base']);

    expect(tokenizer.isReady('p50k_base')).toBe(true);
    expect(tokenizer.count(text, 'p50k_base')).toBe(real(text, 'p50k_base'));
    expect(guess).not.toBe(real(text, 'p50k_base'));
  });
});

describe('loading', () => {
  it('lets other work go on in between', async () => {
    let turns = 0;
    let isLoading = true;
    const turn = (): void => {
      turns++;
      if (isLoading) setImmediate(turn);
    };
    setImmediate(turn);

    await createTokenizer().ready(['cl100k_base']);
    isLoading = false;

    // 100,000 tokens, 4,096 at a time, and the warming up.
    expect(turns).toBeGreaterThan(30);
  });

  it('is shared: what one tokenizer loaded, another has', async () => {
    await createTokenizer().ready(['cl100k_base']);

    expect(createTokenizer().isReady('cl100k_base')).toBe(true);
  });

  it('costs nothing when everything is there, or when it is under way', async () => {
    const tokenizer = createTokenizer();
    await Promise.all([tokenizer.ready(ENCODINGS), tokenizer.ready(ENCODINGS), createTokenizer().ready(ENCODINGS)]);

    const startMs = performance.now();
    for (let i = 0; i < 100; i++) await tokenizer.ready(ENCODINGS);

    expect(performance.now() - startMs).toBeLessThan(100);
  });

  it('of nothing resolves', async () => {
    await expect(createTokenizer().ready([])).resolves.toBeUndefined();
  });
});

const SHORT: Readonly<Record<string, string>> = {
  nothing: '',
  'two words': 'hello world',
  contractions: "They'll say it's DON'T, I'd've thought",
  identifiers: 'camelCase HTTPServer2 snake_case kebab-case',
  numbers: '1234567 3.14159 0xff 1e9',
  'white space': '   leading\n\n\n  \t trailing   \r\n',
  rulers: `${'-'.repeat(80)}\n${'='.repeat(79)}\n${' '.repeat(100)}x`,
  'the names of special tokens': '<|endoftext|> <|im_start|>system<|endofprompt|>',
  'letters in other shapes': 'ﷺ ﬁ ½ ①② ℌ ﷽',
  'scripts of Asia': 'नमस्ते दुनिया, สวัสดีชาวโลก, שלום עולם, مرحبا بالعالم',
  'Chinese, Japanese and Korean': '你好，世界。こんにちは世界！안녕하세요 세계',
  'emoji and marks that join': '👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 e\u0301 \u200b\ufeff',
  'lone surrogates': '\ud800 \udc00x\ud800\ud800',
  'control characters': '\u0000\u0001\u007f\u0085\u2028',
  'names of built-in members': '__proto__ constructor hasOwnProperty toString',
  English: ENGLISH,
  code: CODE,
  JSON: JSON_TEXT,
  Chinese: CHINESE.slice(0, 200),
};

describe.each(ENCODINGS)('counting in %s', (encoding) => {
  const tokenizer = createTokenizer();
  beforeAll(() => tokenizer.ready([encoding]));

  it.each(Object.keys(SHORT))('agrees with js-tiktoken on %s', (kind) => {
    const text = SHORT[kind] as string;

    expect(tokenizer.count(text, encoding)).toBe(real(text, encoding));
  });

  it('agrees with js-tiktoken on any short text, of any script', () => {
    const units = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 12 }),
      fc.string({ unit: 'binary', maxLength: 12 }),
      fc.string({ unit: 'grapheme-ascii', maxLength: 12 }),
      fc.array(fc.nat(0xffff), { maxLength: 6 }).map((codes) => String.fromCharCode(...codes)),
      fc.array(fc.integer({ min: 0x1f300, max: 0x1faff }), { maxLength: 4 }).map((codes) => String.fromCodePoint(...codes)),
      fc.constantFrom('<|endoftext|>', '<|fim_prefix|>', "'ll", ' \n ', '\r\n', 'ing', ' the'),
    );

    fc.assert(
      fc.property(fc.array(units, { maxLength: 5 }), (parts) => {
        const text = parts.join('');

        expect(tokenizer.count(text, encoding)).toBe(real(text, encoding));
      }),
      { numRuns: 300 },
    );
  });

  it('agrees with js-tiktoken on long text that has places to cut', () => {
    const text = `${ENGLISH}\n\n${JSON_TEXT}\n${CODE}`.repeat(12);

    expect(text.length).toBeGreaterThan(20_000);
    expect(tokenizer.count(text, encoding)).toBe(real(text, encoding));
  });

  it('adds at most one token for each 64 characters of a piece without a break', () => {
    const piece = 'qzxjvkwpt'.repeat(30);

    const [whole, counted] = [real(piece, encoding), tokenizer.count(piece, encoding)];

    expect(counted).toBeGreaterThanOrEqual(whole);
    expect(counted).toBeLessThanOrEqual(whole + Math.ceil(piece.length / 64));
  });

  it.each(['😀', '🜁', '𠀀'])('cuts no character of two code units in a long piece of %s', (character) => {
    const text = `!${character.repeat(120)}`;

    expect(tokenizer.count(text, encoding)).toBe(real(text, encoding));
  });
});
