import { describe, expect, it } from 'vitest';
import { otherScriptShare } from '../../src/tokens/script-share.js';

describe('the share of scripts other than Latin', () => {
  it.each([
    ['', 0],
    ['Hello — “world” 12 €', 0],
    ['Žluťoučký kůň', 0],
    ['漢字漢字', 1],
    ['ab漢字', 0.5],
    ['Привет', 1],
    ['नमस्ते', 1],
  ])('in %j is %f', (text, share) => {
    expect(otherScriptShare(text)).toBe(share);
  });

  it('is judged by samples of a long text, its beginning and its end among them', () => {
    expect(otherScriptShare('a'.repeat(1_000_000))).toBe(0);
    expect(otherScriptShare('漢'.repeat(1_000_000))).toBe(1);
    expect(otherScriptShare('a'.repeat(100_000) + '漢'.repeat(100_000))).toBeCloseTo(0.5, 1);
    expect(otherScriptShare(`${'a'.repeat(100_000)}${'漢'.repeat(256)}`)).toBe(1 / 8);
  });
});
