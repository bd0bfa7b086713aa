import { describe, expect, it, vi } from 'vitest';
import type { ImageSize } from '../../src/tokens/image-size.js';
import { createSizes, type TellImageSize } from '../../src/tokens/told-sizes.js';

const SIZE = { width: 800, height: 600 };

describe('sizes of images', () => {
  it('are asked for by address and model', () => {
    const tell = vi.fn((): ImageSize => SIZE);

    expect(createSizes('gpt-4o', tell)('https://x.test/a.png')).toEqual(SIZE);
    expect(createSizes('gpt-4o', tell)('file-1')).toEqual(SIZE);
    expect(tell.mock.calls).toEqual([
      ['https://x.test/a.png', 'gpt-4o'],
      ['file-1', 'gpt-4o'],
    ]);
  });

  it('are read from data URLs, about which nobody is asked', () => {
    const tell = vi.fn((): ImageSize => SIZE);
    const gif = Buffer.from('GIF89a\x07\x00\x05\x00', 'latin1').toString('base64');

    expect(createSizes('gpt-4o', tell)(`data:image/gif;base64,${gif}`)).toEqual({ width: 7, height: 5 });
    expect(createSizes('gpt-4o', tell)('data:image/gif;base64,AAAA')).toBeUndefined();
    expect(tell).not.toHaveBeenCalled();
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['no size', 'large'],
    ['one side', { width: 5 }],
    ['a side of 0', { width: 0, height: 5 }],
    ['a side that is no number', { width: '5', height: 5 }],
    ['not a number', { width: Number.NaN, height: 5 }],
    ['an endless side', { width: Infinity, height: 5 }],
    ['a promise', Promise.resolve(SIZE)],
  ])('are unknown when %s is told', (_, told) => {
    expect(createSizes('gpt-4o', (() => told) as TellImageSize)('https://x.test/a.png')).toBeUndefined();
  });

  it('are unknown when telling fails, or nobody tells', () => {
    const failing: TellImageSize = () => {
      throw new Error('no');
    };

    expect(createSizes('gpt-4o', failing)('https://x.test/a.png')).toBeUndefined();
    expect(createSizes('gpt-4o', undefined)('https://x.test/a.png')).toBeUndefined();
  });

  it('are unknown when they are promised and the promise fails, which is nothing to end a process for', async () => {
    const failing = (() => Promise.reject(new Error('no'))) as unknown as TellImageSize;
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);

    expect(createSizes('gpt-4o', failing)('https://x.test/a.png')).toBeUndefined();
    await new Promise((resolve) => setTimeout(resolve, 5));
    process.off('unhandledRejection', unhandled);

    expect(unhandled).not.toHaveBeenCalled();
  });

  it('are asked for 1,000 images of a call, and not by addresses that are empty or endless', () => {
    const tell = vi.fn((): ImageSize => SIZE);
    const sizeOf = createSizes('gpt-4o', tell);

    expect(sizeOf('')).toBeUndefined();
    expect(sizeOf(`https://x.test/${'a'.repeat(8_192)}`)).toBeUndefined();
    for (let image = 0; image < 2_000; image++) sizeOf(`https://x.test/${image}.png`);
    expect(tell).toHaveBeenCalledTimes(1_000);
  });
});
