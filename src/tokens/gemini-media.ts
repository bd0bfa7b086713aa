import type { FilePart } from '../dialects/dialect.js';
import type { ImageSize } from './image-size.js';
import { pdfPages, wavSeconds } from './media-length.js';

/** What media take with models of one generation, in tokens. */
export interface GeminiMedia {
  /** An image, for each resolution that may be asked for, and where none is. @defaultValue by its size */
  readonly images: Readonly<Record<string, number>>;
  /** An image that no resolution tells of. `undefined`: its size is not known. */
  imageTokens(size: ImageSize | undefined): number;
  readonly page: number;
  readonly pages: Readonly<Record<string, number>>;
  /** One frame of a film, of which each second is one. */
  readonly frame: number;
  readonly frames: Readonly<Record<string, number>>;
  /** A second of sound, films' too. */
  readonly second: number;
}

const TILE = 258;
/** Side of a tile in pixels, and longest side of an image: larger ones are scaled down. */
const TILE_SIDE = 768;
const SMALLEST_TILE = 256;
const LONGEST_SIDE = 3_072;
/** An image up to this many pixels wide and high is one tile. */
const SMALL_SIDE = 384;

/** Tiles of the larger part of a shorter side, and the whole image beside them. */
function cropped(size: ImageSize | undefined): number {
  const { width, height } = scaled(size);
  if (width <= SMALL_SIDE && height <= SMALL_SIDE) return TILE;
  const side = Math.min(TILE_SIDE, Math.max(SMALLEST_TILE, Math.floor(Math.min(width, height) / 1.5)));
  return TILE * (Math.ceil(width / side) * Math.ceil(height / side) + 1);
}

function tiled(size: ImageSize | undefined): number {
  const { width, height } = scaled(size);
  return TILE * Math.ceil(width / TILE_SIDE) * Math.ceil(height / TILE_SIDE);
}

/** An image that is elsewhere is taken for a photo as the web has them. */
function scaled({ width, height }: ImageSize = { width: 1_536, height: 1_024 }): ImageSize {
  const scale = Math.min(1, LONGEST_SIDE / Math.max(width, height));
  return { width: width * scale, height: height * scale };
}

/**
 * By reported usage of 2024 to Oct 2026 where that is known: images of all sizes for Gemini 3, to 640 x 480 pixels for those
 * before; pages; sound. All else by the guides to tokens and to media resolution of 2025 and 2026.
 */
export const GEMINI_MEDIA = {
  first: { images: { low: 64 }, imageTokens: cropped, page: 1_290, pages: {}, frame: TILE, frames: { low: 66 }, second: 25 },
  second: {
    images: { low: 64, medium: TILE },
    imageTokens: tiled,
    page: TILE,
    pages: { low: 64 },
    frame: TILE,
    frames: { low: 66 },
    second: 32,
  },
  third: {
    images: { low: 280, medium: 560, ultra_high: 2_240 },
    imageTokens: () => 1_095,
    page: 540,
    pages: { low: 280, high: 1_120 },
    frame: 70,
    frames: { high: 280 },
    second: 32,
  },
} as const satisfies Readonly<Record<string, GeminiMedia>>;

/** Bytes of a page, of a second of sound (common MP3) and of a second of film (1 Mbit/s), where nothing else tells the length. */
const PAGE_BYTES = 50_000;
const SOUND_BYTES = 16_000;
const FILM_BYTES = 125_000;
/** What is elsewhere is taken for a page, or for as many seconds as these. */
const SOUND_SECONDS = 10;
const FILM_SECONDS = 60;
/** No file counts as more: the largest prompt that any Gemini takes. */
const MOST_TOKENS = 2_000_000;

/** Tokens of one image; its size counts only where no resolution is asked for. */
export function geminiImageTokens(
  { images, imageTokens }: GeminiMedia,
  detail: string | undefined,
  size: ImageSize | undefined,
): number {
  return at(images, detail) ?? imageTokens(size);
}

/** Tokens of a file: by its length where the body or the file's head tells it, else by its size. */
export function geminiFileTokens(model: GeminiMedia, file: FilePart): number {
  return Math.min(MOST_TOKENS, Math.ceil(fileTokens(model, file)));
}

function fileTokens(model: GeminiMedia, { media, base64Length, data = '', seconds, detail }: FilePart): number {
  const bytes = base64Length * 0.75;
  switch (media) {
    case 'document':
      return (at(model.pages, detail) ?? model.page) * (pdfPages(data) ?? Math.max(1, bytes / PAGE_BYTES));
    case 'audio':
      return model.second * (seconds ?? wavSeconds(data) ?? (bytes > 0 ? bytes / SOUND_BYTES : SOUND_SECONDS));
    case 'video': {
      const frame = at(model.frames, detail) ?? model.frame;
      return (frame + model.second) * (seconds ?? (bytes > 0 ? Math.max(1, bytes / FILM_BYTES) : FILM_SECONDS));
    }
    default:
      return media satisfies never;
  }
}

/** Resolutions are the caller's text. */
const at = (table: Readonly<Record<string, number>>, name: string | undefined): number | undefined =>
  name !== undefined && Object.hasOwn(table, name) ? table[name] : undefined;
