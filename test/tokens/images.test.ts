import { describe, expect, it } from 'vitest';
import { imageTokens } from '../../src/tokens/images.js';

describe('imageTokens', () => {
  it.each([
    ['gpt-4o', 1_445],
    ['gpt-4.1', 1_445],
    ['gpt-4-vision-preview', 1_445],
    ['gpt-4o-mini', 48_169],
    ['gpt-4.1-mini', 2_490],
    ['gpt-4.1-nano', 3_780],
    ['o4-mini', 2_643],
    ['o3', 1_275],
    ['o1-pro', 1_275],
    ['computer-use-preview', 1_097],
    ['gpt-5', 1_190],
    ['gpt-5-chat-latest', 1_190],
    ['gpt-5.1', 1_190],
    ['gpt-5-mini', 1_845],
    ['gpt-5-nano', 2_305],
    ['gpt-5.4-mini', 1_845],
    ['gpt-5.5', 12_001],
    ['gpt-6', 12_001],
    ['openai/gpt-4o-mini', 48_169],
    ['ft:gpt-4.1-nano:team::1', 3_780],
    ['another-model', 1_445],
  ])('takes the most that %s charges: %i', (model, tokens) => {
    expect(imageTokens(model, undefined)).toBe(tokens);
    expect(imageTokens(model, 'high')).toBe(tokens);
    expect(imageTokens(model, 'junk')).toBe(tokens);
  });

  it.each([
    ['gpt-4o', 85],
    ['gpt-4o-mini', 2_833],
    ['gpt-5', 70],
    ['o3', 75],
  ])('takes the base of %s with detail low: %i', (model, tokens) => {
    expect(imageTokens(model, 'low')).toBe(tokens);
  });

  it('knows no figure for detail low where patches are counted', () => {
    expect(imageTokens('gpt-5-mini', 'low')).toBe(imageTokens('gpt-5-mini', undefined));
  });
});

describe('an image whose size is known', () => {
  it.each([
    ['gpt-4o', 640, 480, 425],
    ['gpt-4o', 1, 1, 255],
    ['gpt-4o', 2_560, 1_669, 1_105],
    ['gpt-4o', 60_000, 100, 765],
    ['gpt-4o-mini', 640, 480, 14_167],
    ['gpt-5', 640, 480, 350],
    ['gpt-4.1-mini', 640, 480, 488],
    ['gpt-5-mini', 640, 480, 361],
    ['gpt-5-nano', 10_000, 10_000, 2_305],
  ])('takes on %s at %i x %i pixels %i tokens', (model, width, height, tokens) => {
    expect(imageTokens(model, undefined, { width, height })).toBe(tokens);
  });

  it('costs no more than one of unknown size, however large', () => {
    for (const model of ['gpt-4o', 'gpt-4o-mini', 'gpt-5', 'gpt-5-mini', 'gpt-4.1-nano', 'o4-mini'])
      expect(imageTokens(model, undefined, { width: 65_535, height: 65_535 })).toBeLessThanOrEqual(imageTokens(model, undefined));
  });
});
