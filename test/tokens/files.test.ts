import { describe, expect, it } from 'vitest';
import type { FilePart } from '../../src/dialects/dialect.js';
import { documentTokens, soundTokens } from '../../src/tokens/files.js';

const file = (media: FilePart['media'], more: Partial<FilePart> = {}): FilePart => ({
  kind: 'file',
  media,
  base64Length: 0,
  ...more,
});
const holding = (media: FilePart['media'], bytes: Buffer): FilePart => {
  const data = bytes.toString('base64');
  return file(media, { base64Length: data.length, data });
};

describe('a document', () => {
  it.each([
    ['that is elsewhere', file('document'), 1_000, 2_500],
    ['of few bytes', file('document', { base64Length: 2_000 }), 1_000, 2_500],
    ['of 100,000 bytes', file('document', { base64Length: 133_333.34 }), 2_001, 5_001],
    ['of any size', file('document', { base64Length: 1e9 }), 100_000, 100_000],
    ['of an impossible size', file('document', { base64Length: -5 }), 1_000, 2_500],
    ['that is no PDF', holding('document', Buffer.from('/Type /Page /Type /Page')), 1_000, 2_500],
    [
      'of three pages',
      holding('document', Buffer.from('%PDF-1.4 /Type /Pages /Type/Page /Type /Page /Type /Page ')),
      3_000,
      7_500,
    ],
    ['that claims a million pages', holding('document', Buffer.from('%PDF-1.4 /Count 999999')), 100_000, 100_000],
  ])('%s takes a default for its pages, for Claude another one', (_, given, openai, claude) => {
    expect(documentTokens(given, 'openai')).toBe(openai);
    expect(documentTokens(given, 'claude')).toBe(claude);
  });
});

describe('sound', () => {
  const wav = (seconds: number, bytesPerSecond: number): FilePart => {
    const bytes = Buffer.alloc(44 + seconds * bytesPerSecond);
    bytes.write('RIFF', 0, 'latin1');
    bytes.write('WAVEfmt ', 8, 'latin1');
    bytes.writeUInt32LE(bytesPerSecond, 28);
    return holding('audio', bytes);
  };

  it.each([
    ['that is elsewhere', file('audio'), 100],
    ['of 10 s as MP3', file('audio', { base64Length: 213_333 }), 100],
    ['of a minute as MP3', file('audio', { base64Length: 1_280_000 }), 600],
    ['of any length', file('audio', { base64Length: 1e9 }), 100_000],
    ['of an impossible length', file('audio', { seconds: -5 }), 0],
    ['whose length the body tells', file('audio', { seconds: 2.5, base64Length: 1e6 }), 25],
    ['of a film', file('video', { base64Length: 213_333 }), 100],
    ['of 5 s as WAV', wav(5, 48_000), 51],
    ['of 5 s as WAV of telephones', wav(5, 8_000), 51],
    ['as WAV that says nothing of its speed', wav(0, 0), 1],
  ])('%s takes 10 tokens a second', (_, given, tokens) => {
    expect(soundTokens(given)).toBe(tokens);
  });
});
