import { baseName } from './encodings.js';

interface ImageRule {
  readonly family: RegExp;
  /** Tokens of the largest image that the model looks at; larger ones are scaled down first. */
  readonly most: number;
  /** Tokens with `detail: 'low'`, where that is a figure of its own. */
  readonly low?: number;
}

/** Tiles of 512 pixels that an image has at most after it was scaled to 2,048 pixels, and 768 on its short side. */
const TILES = 8;
/** Patches of 32 pixels at most. */
const PATCHES = 1_536;

const tiled = (base: number, tile: number) => ({ most: base + TILES * tile, low: base });
const patched = (factor: number, patches = PATCHES) => ({ most: Math.ceil(factor * patches) + 1 });

/**
 * By family, the first match counts. Constants measured on recorded usage of 2023 to 2026, but for o1, o3 and computer-use,
 * which are from the provider's documentation of 2025.
 */
const RULES: readonly ImageRule[] = [
  { family: /^gpt-4o-mini/, ...tiled(2_833, 5_667) },
  { family: /^gpt-4\.1-mini/, ...patched(1.62) },
  { family: /^gpt-4\.1-nano/, ...patched(2.46) },
  { family: /^o4-mini/, ...patched(1.72) },
  { family: /^gpt-5-mini/, ...patched(1.2) },
  { family: /^gpt-5-nano/, ...patched(1.5) },
  { family: /^gpt-5\.[2-4]/, ...patched(1.2) },
  { family: /^gpt-(?:5\.[5-9]|[6-9])/, ...patched(1.2, 10_000) },
  { family: /^gpt-5/, ...tiled(70, 140) },
  { family: /^computer-use/, ...tiled(65, 129) },
  { family: /^o\d/, ...tiled(75, 150) },
];

const DEFAULT_RULE = tiled(85, 170);

/**
 * Tokens of one image: the most that the model's family charges, for the size is not looked at. Most photographs cost less, half of
 * it or so.
 * @param detail - as the body gives it
 */
export function imageTokens(model: string, detail: string | undefined): number {
  const name = baseName(model);
  const { most, low } = RULES.find(({ family }) => family.test(name)) ?? DEFAULT_RULE;
  return detail === 'low' ? (low ?? most) : most;
}
