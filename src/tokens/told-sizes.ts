import { isThenable } from '../thenable.js';
import { createImageLooks, type ImageSize, imageSize } from './image-size.js';

/**
 * Tells the size of an image that a body only refers to, by its address or the id of an uploaded file. It is asked while the
 * call waits, so it must know the answer. `undefined`, a throw or a size that cannot be: the usual size counts.
 */
export type TellImageSize = (address: string, model: string) => ImageSize | undefined;

/** Images of one call that the application is asked about, and longest address, in characters. */
const MOST_ASKED = 1_000;
const LONGEST_ADDRESS = 8_192;
const LONGEST_SIDE = 65_535;

/** Sizes of one call's images: by the head of a data URL, else as the application tells them. */
export function createSizes(model: string, tell: TellImageSize | undefined): (url: string) => ImageSize | undefined {
  const looks = createImageLooks();
  let left = MOST_ASKED;
  return (url) => {
    if (url.startsWith('data:')) return imageSize(url, looks);
    if (!tell || url === '' || url.length > LONGEST_ADDRESS || --left < 0) return undefined;
    return told(() => tell(url, model));
  };
}

function told(ask: () => ImageSize | undefined): ImageSize | undefined {
  try {
    const answer: unknown = ask() ?? {};
    // Whoever promises a size comes too late with it; that the promise fails is no reason to end the process.
    if (isThenable(answer)) void Promise.resolve(answer).catch(() => {});
    const { width, height } = answer as Partial<ImageSize>;
    return isSide(width) && isSide(height) ? { width, height } : undefined;
  } catch {
    return undefined;
  }
}

const isSide = (pixels: unknown): pixels is number => typeof pixels === 'number' && pixels >= 1 && pixels <= LONGEST_SIDE;
