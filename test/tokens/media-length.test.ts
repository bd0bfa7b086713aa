import { describe, expect, it } from 'vitest';
import { pdfPages, wavSeconds } from '../../src/tokens/media-length.js';

/** A WAV file of silence. */
function wav(seconds: number, bytesPerSecond = 16_000): Buffer {
  const bytes = Buffer.alloc(44 + seconds * bytesPerSecond);
  bytes.write('RIFF', 0, 'latin1');
  bytes.write('WAVEfmt ', 8, 'latin1');
  bytes.writeUInt32LE(bytesPerSecond, 28);
  return bytes;
}

describe('the length of a WAV file', () => {
  it.each([
    [1, 16_000],
    [30, 8_000],
    [2, 176_400],
  ])('of %i s at %i bytes a second is found', (seconds, bytesPerSecond) => {
    expect(wavSeconds(wav(seconds, bytesPerSecond).toString('base64'))).toBeCloseTo(seconds, 1);
  });

  it.each([
    ['nothing', ''],
    ['another file', Buffer.alloc(100).toString('base64')],
    ['a short head', wav(1).subarray(0, 40).toString('base64')],
    ['no speed', wav(0, 0).toString('base64')],
    ['no base64', '\ud800'.repeat(200)],
  ])('is not found in %s', (_, data) => {
    expect(wavSeconds(data)).toBeUndefined();
  });

  it('is never longer than a day', () => {
    const bytes = wav(1);
    bytes.writeUInt32LE(1, 28);

    expect(wavSeconds(bytes.toString('base64').repeat(20))).toBe(86_400);
  });
});

describe('the pages of a PDF', () => {
  const pdf = (text: string) => Buffer.from(`%PDF-1.7\n${text}`, 'latin1').toString('base64');

  it.each([
    ['each by itself', '/Type /Page \n/Type/Page>> /Type /Pages', 2],
    ['by their number', '<< /Type /Pages /Count 12 >>', 12],
    ['by the larger of both', '/Type /Page /Type /Pages /Count 1 /Type /Page', 2],
    ['no more than 1,000', '/Count 999999', 1_000],
    ['at the end of a long file', `${'x'.repeat(300_001)}<< /Type /Pages /Count 7 >>`, 7],
  ])('are counted %s', (_, text, pages) => {
    expect(pdfPages(pdf(text))).toBe(pages);
  });

  it.each([
    ['nothing', ''],
    ['another file', Buffer.from('/Type /Page').toString('base64')],
    ['a packed file', pdf('/Type /ObjStm')],
    ['a number of nothing', pdf('/Count 0')],
  ])('are not found in %s', (_, data) => {
    expect(pdfPages(data)).toBeUndefined();
  });
});
