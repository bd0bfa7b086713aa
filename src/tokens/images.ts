import type { ImageSize } from './image-size.js';

/** How a family of models charges for images. */
export interface ImageRule {
  /** Of an image of that size, with a level of detail as the body gives it. A whole number. */
  tokensOf(size: ImageSize, detail?: string): number;
}

/**
 * What an image is taken for whose size nobody tells, like one at a remote address: 1,024 x 1,024 pixels. Those met in recorded
 * calls cost between a third of that and one and a half times as much; `imageSize` of the gate's options tells the real one.
 */
export const USUAL_SIZE: ImageSize = Object.freeze({ width: 1_024, height: 1_024 });

/** Side of a tile, and of the square that an image is scaled down to fit before it is cut; then its short side is scaled. */
const TILE = 512;
const LARGEST_SQUARE = 2_048;
const SHORT_SIDE = 768;
const PATCH = 32;

/**
 * Tiles of 512 pixels: `base` and so many for each; with low detail the base alone. Images are scaled down to fit 2,048
 * pixels, then to 768 on their short side; never up.
 */
export function tiled(base: number, tile: number): ImageRule {
  return { tokensOf: (size, detail) => (detail === 'low' ? base : base + tile * tilesOf(size)) };
}

/**
 * Patches of 32 pixels, times a factor, at most so many: larger images are scaled down until they fit. Low detail costs no
 * less.
 * @param highPatches - most of them with high detail, where that is another figure
 */
export function patched(factor: number, patches: number, highPatches = patches): ImageRule {
  return {
    tokensOf: (size, detail) => 1 + Math.ceil(rounded(factor * patchesOf(size, detail === 'high' ? highPatches : patches))),
  };
}

function tilesOf({ width, height }: ImageSize): number {
  const fits = Math.min(1, LARGEST_SQUARE / Math.max(width, height));
  const scale = fits * Math.min(1, SHORT_SIDE / (Math.min(width, height) * fits));
  const tilesAlong = (side: number) => Math.max(1, Math.ceil(Math.round(side * scale) / TILE));
  return tilesAlong(width) * tilesAlong(height);
}

/** By the provider's formula: an image that has too many is shrunk until it fits, then until one side is whole patches. */
function patchesOf({ width, height }: ImageSize, most: number): number {
  const patches = Math.ceil(width / PATCH) * Math.ceil(height / PATCH);
  if (patches <= most) return patches;
  const shrunk = Math.sqrt((most * PATCH * PATCH) / (width * height)) / PATCH;
  const [across, down] = [width * shrunk, height * shrunk];
  // The side of a very long image may be less than one patch, which it fills all the same.
  const fits = Math.min(Math.max(1, Math.floor(across)) / across, Math.max(1, Math.floor(down)) / down);
  return Math.min(most, Math.ceil(rounded(across * fits)) * Math.ceil(rounded(down * fits)));
}

/** Without the small difference 300 * 1.2 or a whole side would be one more. */
const rounded = (value: number): number => Math.round(value * 1e6) / 1e6;
