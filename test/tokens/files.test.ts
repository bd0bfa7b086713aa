import { describe, expect, it } from 'vitest';
import { fileTokens } from '../../src/tokens/files.js';

describe('fileTokens', () => {
  it.each([
    ['a document that is elsewhere', 'document', 0, 1_000],
    ['a small document', 'document', 2_000, 1_000],
    ['a document of 100,000 bytes', 'document', 133_333.34, 2_001],
    ['a document of any size', 'document', 1e9, 100_000],
    ['audio that is elsewhere', 'audio', 0, 100],
    ['audio of 10 s', 'audio', 213_333, 100],
    ['audio of a minute', 'audio', 1_280_000, 600],
    ['audio of any length', 'audio', 1e9, 100_000],
    ['an impossible size', 'document', -5, 1_000],
  ] as const)('takes a default for %s', (_, media, base64Length, tokens) => {
    expect(fileTokens(media, base64Length)).toBe(tokens);
  });
});
