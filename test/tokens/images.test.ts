import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { familyOf } from '../../src/tokens/encodings.js';
import { patched, tiled, USUAL_SIZE } from '../../src/tokens/images.js';

const imageTokens = (model: string, width: number, height: number, detail?: string) =>
  familyOf(model).image.tokensOf({ width, height }, detail);

describe('an image', () => {
  it.each([
    ['gpt-4o', 1, 1, 255],
    ['gpt-4o', 640, 480, 425],
    ['gpt-4o', 2_560, 1_669, 1_105],
    ['gpt-4o', 60_000, 100, 765],
    ['gpt-4-vision-preview', 640, 480, 425],
    ['gpt-4.1', 640, 480, 425],
    ['gpt-4o-mini', 1, 1, 8_500],
    ['gpt-4o-mini', 640, 480, 14_167],
    ['gpt-4o-mini', 2_560, 1_669, 36_835],
    ['gpt-4.1-mini', 640, 480, 487],
    ['gpt-41-mini', 640, 480, 487],
    ['gpt-4.1-mini', 2_400, 1_800, 2_354],
    ['gpt-4.1-nano', 540, 360, 503],
    ['o4-mini', 640, 480, 517],
    ['o3', 640, 480, 375],
    ['o1-pro', 640, 480, 375],
    ['computer-use-preview', 640, 480, 323],
    ['gpt-5', 640, 480, 350],
    ['gpt-5.1', 640, 480, 350],
    ['gpt-5-chat-latest', 640, 480, 350],
    ['gpt-5-mini', 640, 480, 361],
    ['gpt-5-mini', 1_600, 1_600, 1_827],
    ['gpt-5-nano', 640, 480, 451],
    ['gpt-5-nano', 16, 16, 3],
    ['gpt-5.2', 1_600, 1_600, 1_827],
    ['gpt-5.4', 60, 30, 4],
    ['gpt-5.4-nano', 1_600, 1_600, 3_001],
    ['gpt-5.5', 1_600, 3_200, 6_001],
    ['gpt-6', 4_032, 3_024, 14_365],
    ['openai/gpt-4o-mini', 640, 480, 14_167],
    ['ft:gpt-4.1-nano:team::1', 540, 360, 503],
    ['another-model', 640, 480, 425],
  ])('takes on %s at %i x %i pixels %i tokens', (model, width, height, tokens) => {
    expect(imageTokens(model, width, height)).toBe(tokens);
    expect(imageTokens(model, width, height, 'auto')).toBe(tokens);
    expect(imageTokens(model, width, height, 'junk')).toBe(tokens);
  });

  it.each([
    ['gpt-4o', 85],
    ['gpt-4o-mini', 2_833],
    ['gpt-5', 70],
    ['o3', 75],
  ])('takes the base of %s with low detail: %i', (model, tokens) => {
    expect(imageTokens(model, 5_000, 5_000, 'low')).toBe(tokens);
  });

  it('costs no less with low detail where patches are counted', () => {
    expect(imageTokens('gpt-5-mini', 640, 480, 'low')).toBe(imageTokens('gpt-5-mini', 640, 480));
  });

  it.each([
    ['gpt-6', 2_560, 1_440, 2_932],
    ['gpt-6', 3_840, 2_160, 2_932],
    ['gpt-6', 4_032, 3_024, 2_943],
    ['gpt-5.5', 4_032, 3_024, 2_943],
  ])('of %s is shrunk until whole patches fit with high detail: %i x %i to %i', (model, width, height, tokens) => {
    expect(imageTokens(model, width, height, 'high')).toBe(tokens);
  });

  const sides = fc.integer({ min: 1, max: 65_535 });

  it('never takes more than the most of its family, nor less than one tile or patch', () => {
    fc.assert(
      fc.property(sides, sides, fc.constantFrom(undefined, 'high', 'low'), (width, height, detail) => {
        const ofTiles = tiled(85, 170).tokensOf({ width, height }, detail);
        const ofPatches = patched(1.2, 1_536).tokensOf({ width, height }, detail);

        expect(ofTiles).toBeGreaterThanOrEqual(85);
        expect(ofTiles).toBeLessThanOrEqual(85 + 8 * 170);
        expect(ofPatches).toBeGreaterThanOrEqual(3);
        expect(ofPatches).toBeLessThanOrEqual(Math.ceil(1.2 * 1_536) + 1);
        expect(Number.isInteger(ofTiles) && Number.isInteger(ofPatches)).toBe(true);
      }),
    );
  });

  it('takes as much lying as standing', () => {
    fc.assert(
      fc.property(sides, sides, (width, height) => {
        for (const model of ['gpt-4o', 'gpt-5-mini', 'gpt-6'])
          expect(imageTokens(model, width, height)).toBe(imageTokens(model, height, width));
      }),
    );
  });
});

it('is taken for a square of 1,024 pixels where nobody tells its size', () => {
  expect(USUAL_SIZE).toEqual({ width: 1_024, height: 1_024 });
});
