import { describe, expect, it } from 'vitest';
import { createGeminiText } from '../../src/tokens/gemini-text.js';
import { jsonText } from '../../src/tokens/json-text.js';

/** What is added to a vocabulary that knows nothing. */
const added = (text: string) => createGeminiText({ count: () => 0, writeJson: jsonText }).tokens(text);

describe('what the vocabulary takes apart', () => {
  it.each([
    ['nothing of words', 'Where does the water go', 0],
    ['nothing of other scripts', '你好，世界 — наводнение', 0],
    ['digits', '7 42 123 1234 12345', 0 + 1 + 2 + 2 + 3],
    ['digits beside letters', 'v12a34', 2],
    ['contractions', "it's they're we'll", 6],
    ['no name in quotes', "the 'river' and rock'n'roll", 0],
    ['no apostrophe at an end', "rivers'", 0],
    ['marks beside others', '":', 0.5],
    ['marks before the end of a line', 'a,\nb;\n', 1],
    ['no mark that is repeated', '----', 0],
    ['indentation', 'a\n  b\n\tc', 2],
    ['nothing of an empty text', '', 0],
    ['a contraction at the end', "it'", 0],
  ])('is %s: %j', (_, text, tokens) => {
    expect(added(text)).toBe(tokens);
  });

  it('is extrapolated beyond 250,000 characters of a prompt', () => {
    const counter = createGeminiText({ count: () => 0, writeJson: jsonText });
    const text = '12 '.repeat(200_000);

    expect(counter.tokens(text)).toBeCloseTo(200_000, -2);
    expect(counter.tokens(text)).toBeCloseTo(200_000, -2);
  });
});

describe('JSON text', () => {
  const counted: string[] = [];
  const counter = createGeminiText({ count: (text) => counted.push(text) && text.length, writeJson: jsonText });

  it('is counted as it is, or bare', () => {
    counter.jsonTokens({ city: 'New York', days: [1, 2] });
    counter.jsonTokens({ city: 'New York', days: [1, 2] }, 'bare');

    expect(counted).toEqual(['{"city":"New York","days":[1,2]}', ' city New York days 1 2 ']);
  });
});
