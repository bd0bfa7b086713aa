/** Width and height in pixels. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** Characters of base64 that are looked at first, and where the size was not among them: a JPEG may show itself in small before. */
const FIRST_BASE64 = 4_096;
const MOST_BASE64 = 131_072;
/** Stretches of a JPEG that are passed over before its size: cameras write some twenty. */
const MOST_STRETCHES = 1_000;
/** Longest side that is believed, in pixels. */
const LONGEST_SIDE = 65_535;

/** How many images of one body may still be looked at, and how many of them further in. */
export interface ImageLooks {
  heads: number;
  further: number;
}

/** Images of one body that are looked at, twice as many as a provider takes, and those that are looked at further in: each about 2 ms. */
export const createImageLooks = (): ImageLooks => ({ heads: 1_024, further: 32 });

/**
 * Size of an image in a data URL, by the head of a PNG, JPEG, GIF or WebP file; `undefined` for all others, for what is none, and for
 * what may not be looked at any more.
 */
export function imageSize(url: string, looks: ImageLooks = createImageLooks()): ImageSize | undefined {
  if (looks.heads <= 0) return undefined;
  const comma = url.indexOf(',');
  if (!url.startsWith('data:') || comma < 0 || !url.slice(0, comma).endsWith(';base64')) return undefined;
  looks.heads--;
  const head = decoded(url, comma + 1, FIRST_BASE64);
  const size =
    pngSize(head) ?? gifSize(head) ?? webpSize(head) ?? (isJpeg(head) ? jpegSizeIn(url, comma + 1, head, looks) : undefined);
  return size && isSide(size.width) && isSide(size.height) ? size : undefined;
}

function decoded(url: string, from: number, characters: number): Buffer {
  return Buffer.from(url.slice(from, from + characters), 'base64');
}

function jpegSizeIn(url: string, from: number, head: Buffer, looks: ImageLooks): ImageSize | undefined {
  const size = jpegSize(head);
  if (size || url.length <= from + FIRST_BASE64 || looks.further <= 0) return size;
  looks.further--;
  return jpegSize(decoded(url, from, MOST_BASE64));
}

const isSide = (pixels: number): boolean => pixels >= 1 && pixels <= LONGEST_SIDE;

function pngSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 24 || bytes.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n') return undefined;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function gifSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 10 || !/^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6))) return undefined;
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
}

/** Of the three kinds of WebP, each has its size elsewhere. */
function webpSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 30 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP')
    return undefined;
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}

const isJpeg = (bytes: Buffer): boolean => bytes.length >= 4 && bytes.readUInt16BE(0) === 0xffd8;

/** Walks from segment to segment up to the one that begins a frame. */
function jpegSize(bytes: Buffer): ImageSize | undefined {
  let at = 2;
  for (let stretch = 0; stretch < MOST_STRETCHES && at + 9 <= bytes.length; stretch++) {
    const marker = bytes.readUInt16BE(at);
    if (marker === 0xffff) at++;
    else if (isFrame(marker)) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    else if (marker < 0xffc0) return undefined;
    else at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

/** Start of frame; four of the markers among them mean something else. */
const isFrame = (marker: number): boolean =>
  marker >= 0xffc0 && marker <= 0xffcf && marker !== 0xffc4 && marker !== 0xffc8 && marker !== 0xffcc;
