import { describe, expect, it } from 'vitest';
import type { FilePart } from '../../src/dialects/dialect.js';
import { createLooks } from '../../src/tokens/looks.js';

const file = (media: FilePart['media'], data?: string): FilePart => ({ kind: 'file', media, base64Length: 4, data });

describe('files that are looked into', () => {
  it('are the first 8 documents that have content', () => {
    const lookInto = createLooks();

    const found = Array.from({ length: 10 }, () => [lookInto(file('document')), lookInto(file('document', 'AAAA'))]).flat();

    expect(found.filter(({ data }) => data !== undefined)).toHaveLength(8);
    expect(found.slice(16).every(({ data }) => data === undefined)).toBe(true);
    expect(found.every(({ base64Length }) => base64Length === 4)).toBe(true);
  });

  it('are sound and films, of which only the head is looked at, always', () => {
    const lookInto = createLooks();

    const found = Array.from({ length: 100 }, () => [lookInto(file('audio', 'AAAA')), lookInto(file('video', 'AAAA'))]).flat();

    expect(found.every(({ data }) => data === 'AAAA')).toBe(true);
  });
});
