import { describe, expect, it } from 'vitest';
import { pieces } from '../../src/dialects/writing.js';

describe('pieces', () => {
  it.each([
    ['an empty text', '', 0],
    ['a short text', 'Hello', 1],
    ['a text of 240 characters', 'x'.repeat(240), 1],
    ['a text of 241 characters', 'x'.repeat(241), 2],
    ['a long text', 'One line.\n'.repeat(100), 5],
  ])('cut %s into as many as a model might send', (_, text, count) => {
    expect(pieces(text).join('')).toBe(text);
    expect(pieces(text)).toHaveLength(count);
  });

  it('never cut a surrogate pair', () => {
    for (const text of ['😀'.repeat(500), `x${'😀'.repeat(500)}`]) {
      expect(pieces(text).join('')).toBe(text);
      expect(pieces(text).every((piece) => piece.isWellFormed())).toBe(true);
    }
  });

  it('cut a text of lone surrogates too', () => {
    const text = '\ud800'.repeat(1_000);

    expect(pieces(text).join('')).toBe(text);
  });
});
