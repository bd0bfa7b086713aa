import { Tiktoken } from 'js-tiktoken/lite';
import cl100k from 'js-tiktoken/ranks/cl100k_base';
import o200k from 'js-tiktoken/ranks/o200k_base';
import { describe, expect, it } from 'vitest';
import { guessTokens } from '../../src/tokens/character-classes.js';
import { CHINESE, CODE, ENGLISH, JSON_TEXT } from './texts.js';

const oracles = { o200k_base: new Tiktoken(o200k), cl100k_base: new Tiktoken(cl100k) };

describe.each(['o200k_base', 'cl100k_base'] as const)('guessing tokens of %s', (encoding) => {
  it.each([
    ['English', ENGLISH],
    ['JSON', JSON_TEXT],
    ['Chinese', CHINESE],
    ['source code', CODE],
  ])('comes within 15 percent of the real count for %s', (_, text) => {
    const real = oracles[encoding].encode(text, [], []).length;

    const guess = guessTokens(text, encoding);

    expect(real).toBeGreaterThan(150);
    expect(Math.abs(guess - real) / real).toBeLessThan(0.15);
  });
});

describe('guessTokens', () => {
  it.each([
    ['', 0],
    ['a', 1],
    ['12345', 2],
    ['one two', 2],
  ])('of %j is a whole number near the truth', (text, about) => {
    const guess = guessTokens(text, 'o200k_base');

    expect(Number.isInteger(guess)).toBe(true);
    expect(Math.abs(guess - about)).toBeLessThanOrEqual(1);
  });

  it('takes every code unit there is', () => {
    const all = Array.from({ length: 65_536 }, (_, code) => String.fromCharCode(code)).join('');

    const guess = guessTokens(all, 'o200k_base');

    expect(guess).toBeGreaterThan(20_000);
    expect(guess).toBeLessThan(200_000);
  });
});
