import { describe, expect, it } from 'vitest';
import { PieceMemo } from '../../src/tokens/piece-memo.js';

const HASH = 12_345;
const find = (memo: PieceMemo, piece: string, hash = HASH): number => {
  const bytes = Buffer.from(piece);
  return memo.find(bytes, 0, bytes.length, hash);
};

describe('a memo of pieces', () => {
  it('knows what was kept, by its bytes and by the hash that came with them', () => {
    const memo = new PieceMemo(7);
    expect(find(memo, 'spillway')).toBe(0);
    memo.keep(3);

    expect([find(memo, 'spillway'), find(memo, 'spillwaz'), find(memo, 'spillway', HASH + 1)]).toEqual([3, 0, 0]);
  });

  it('does not keep long pieces', () => {
    const memo = new PieceMemo(7);
    const long = 'x'.repeat(97);
    find(memo, long);
    memo.keep(50);

    expect(find(memo, long)).toBe(0);
  });

  it('forgets some of more pieces than it has places, and is never wrong about the others', () => {
    const memo = new PieceMemo(9);
    const pieces = Array.from({ length: 60_000 }, (_, index) => `piece ${index}`);
    pieces.forEach((piece, index) => {
      find(memo, piece, index);
      memo.keep(index + 1);
    });

    const known = pieces.map((piece, index) => [find(memo, piece, index), index + 1] as const).filter(([found]) => found > 0);

    expect(known.length).toBeGreaterThan(15_000);
    expect(known.length).toBeLessThanOrEqual(32_768);
    for (const [found, kept] of known) expect(found).toBe(kept);
  });
});
