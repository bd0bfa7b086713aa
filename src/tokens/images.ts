import { baseName } from './encodings.js';
import type { ImageSize } from './image-size.js';

interface ImageRule {
  readonly family: RegExp;
  /** Tokens of the largest image that the model looks at; larger ones are scaled down first. */
  readonly most: number;
  /** Tokens with `detail: 'low'`, where that is a figure of its own. */
  readonly low?: number;
  tokensOf(size: ImageSize): number;
}

/** Tiles of 512 pixels that an image has at most after it was scaled to 2,048 pixels, and 768 on its short side. */
const TILES = 8;
/** Patches of 32 pixels at most. */
const PATCHES = 1_536;

function tiled(base: number, tile: number) {
  const tokensOf = (size: ImageSize) => base + tile * Math.min(TILES, tilesOf(size));
  return { most: base + TILES * tile, low: base, tokensOf };
}

function patched(factor: number, patches = PATCHES) {
  const tokensOf = (size: ImageSize) => Math.ceil(factor * Math.min(patches, patchesOf(size))) + 1;
  return { most: Math.ceil(factor * patches) + 1, tokensOf };
}

/** Images are scaled down to fit 2,048 pixels, then to 768 on their short side; never up. */
function tilesOf({ width, height }: ImageSize): number {
  const fits = Math.min(1, 2_048 / Math.max(width, height));
  const scale = fits * Math.min(1, 768 / (Math.min(width, height) * fits));
  const tilesAlong = (side: number) => Math.max(1, Math.ceil(Math.round(side * scale) / 512));
  return tilesAlong(width) * tilesAlong(height);
}

const patchesOf = ({ width, height }: ImageSize): number => Math.ceil(width / 32) * Math.ceil(height / 32);

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
 * Tokens of one image by the rule of the model's family; the most that the family charges where the size is not known.
 * @param detail - as the body gives it
 * @param size - `undefined` for remote images and forms that are not read
 */
export function imageTokens(model: string, detail: string | undefined, size?: ImageSize): number {
  const name = baseName(model);
  const { most, low, tokensOf } = RULES.find(({ family }) => family.test(name)) ?? DEFAULT_RULE;
  if (detail === 'low' && low !== undefined) return low;
  return size ? tokensOf(size) : most;
}
