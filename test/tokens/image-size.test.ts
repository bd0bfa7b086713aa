import { describe, expect, it } from 'vitest';
import { imageSize } from '../../src/tokens/image-size.js';

const dataUrl = (bytes: Buffer, type = 'image/png') => `data:${type};base64,${bytes.toString('base64')}`;
const u16 = (value: number) => [value >> 8, value & 255];
const ascii = (text: string) => [...Buffer.from(text, 'latin1')];

const png = (width: number, height: number) => {
  const bytes = Buffer.alloc(33);
  bytes.set(ascii('\x89PNG\r\n\x1a\n'));
  bytes.set(ascii('IHDR'), 12);
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes;
};
const gif = (width: number, height: number, version = '89') => {
  const bytes = Buffer.alloc(13);
  bytes.set(ascii(`GIF${version}a`));
  bytes.writeUInt16LE(width, 6);
  bytes.writeUInt16LE(height, 8);
  return bytes;
};
const webp = (kind: string, at: number, ...rest: number[]) => {
  const bytes = Buffer.alloc(40);
  bytes.set(ascii('RIFF'));
  bytes.set(ascii(`WEBP${kind}`), 8);
  bytes.set(rest, at);
  return bytes;
};
const segment = (marker: number, length: number) => [...u16(marker), ...u16(length), ...Array<number>(length - 2).fill(0)];
const frame = (marker: number, width: number, height: number) => [
  ...u16(marker),
  ...u16(17),
  8,
  ...u16(height),
  ...u16(width),
  3,
];
const jpeg = (...segments: number[][]) => Buffer.from([0xff, 0xd8, ...segments.flat(), ...Array<number>(20).fill(0)]);

describe('imageSize', () => {
  it.each([
    ['a PNG', png(640, 480)],
    ['a GIF of 1989', gif(640, 480)],
    ['a GIF of 1987', gif(640, 480, '87')],
    ['a WebP with losses', webp('VP8 ', 26, 0x80, 0x02, 0xe0, 0x01)],
    ['a scaled WebP', webp('VP8 ', 26, 0x80, 0x42, 0xe0, 0x81)],
    ['a WebP without losses', webp('VP8L', 21, 0x7f, 0xc2, 0x77, 0x00)],
    ['an extended WebP', webp('VP8X', 24, 0x7f, 0x02, 0x00, 0xdf, 0x01, 0x00)],
    ['a JPEG', jpeg(segment(0xffe0, 16), frame(0xffc0, 640, 480))],
    ['a progressive JPEG', jpeg(segment(0xffdb, 67), segment(0xffc4, 30), frame(0xffc2, 640, 480))],
    ['a JPEG with a long preface', jpeg(segment(0xffe1, 60_000), segment(0xffe2, 3_000), frame(0xffc0, 640, 480))],
    ['a JPEG with bytes that fill up', jpeg(segment(0xffe0, 16), [0xff, 0xff], frame(0xffc0, 640, 480))],
  ])('finds width and height of %s', (_, bytes) => {
    expect(imageSize(dataUrl(bytes))).toEqual({ width: 640, height: 480 });
  });

  it('goes by what a file is, not by what it is called', () => {
    expect(imageSize(dataUrl(png(3, 2), 'image/jpeg'))).toEqual({ width: 3, height: 2 });
    expect(imageSize(dataUrl(png(3, 2), ''))).toEqual({ width: 3, height: 2 });
  });

  it.each([
    ['an address', 'https://x.test/a.png'],
    ['nothing', ''],
    ['no data', 'data:'],
    ['empty data', 'data:image/png;base64,'],
    ['data that is no base64', `data:image/png,${png(3, 2).toString('latin1')}`],
    ['an SVG', dataUrl(Buffer.from('<svg width="3" height="2"/>'.repeat(3)))],
    ['a PNG cut off', dataUrl(png(3, 2).subarray(0, 20))],
    ['a GIF cut off', dataUrl(gif(3, 2).subarray(0, 9))],
    ['a WebP of another kind', dataUrl(webp('ABCD', 24, 1))],
    ['a JPEG without a frame', dataUrl(jpeg(segment(0xffe0, 16)))],
    ['a JPEG whose segments are none', dataUrl(jpeg([0xff, 0x00]))],
    ['a JPEG whose frame comes too late', dataUrl(jpeg(segment(0xffe1, 65_000), segment(0xffe1, 65_000), frame(0xffc0, 3, 2)))],
    ['a side of 0', dataUrl(png(0, 2))],
    ['a side that cannot be', dataUrl(png(3, 70_000))],
  ])('finds none in %s', (_, url) => {
    expect(imageSize(url)).toBeUndefined();
  });

  it('reads no more than the head of a long file', () => {
    const url = `${dataUrl(png(640, 480))}${'A'.repeat(20_000_000)}`;
    imageSize(url);
    const startMs = performance.now();

    for (let turn = 0; turn < 20; turn++) imageSize(url);

    expect(performance.now() - startMs).toBeLessThan(200);
  });

  it.each([0, 3_000, 4_000, 60_000])('finds the size of a JPEG that shows %d bytes of something else before', (length) => {
    const before = length === 0 ? [] : [segment(0xffe1, length)];

    expect(imageSize(dataUrl(jpeg(...before, frame(0xffc0, 640, 480))))).toEqual({ width: 640, height: 480 });
  });

  it.each([
    ['fill bytes', Array<number>(2_000).fill(0xff)],
    ['empty segments', Array<number[]>(2_000).fill([0xff, 0xe0, 0, 2]).flat()],
  ])('gives up on a JPEG of %s without end', (_, filling) => {
    expect(imageSize(dataUrl(jpeg(filling, frame(0xffc0, 640, 480))))).toBeUndefined();
  });

  it('walks a JPEG of empty segments once', () => {
    const startMs = performance.now();

    imageSize(dataUrl(jpeg(Array<number[]>(30_000).fill([0xff, 0xe0, 0, 0]).flat())));

    expect(performance.now() - startMs).toBeLessThan(200);
  });
});
