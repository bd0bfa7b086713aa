import { beforeAll, describe, expect, it } from 'vitest';
import {
  CASELESS,
  COMBINING,
  kindAt,
  kindOf,
  LINE_BREAK,
  LOWER,
  NUMBER,
  readKinds,
  SPACE,
  SYMBOL,
  UPPER,
  widthOf,
} from '../../src/tokens/code-points.js';

const KINDS: readonly (readonly [kind: number, expression: RegExp])[] = [
  [UPPER, /[\p{Lu}\p{Lt}]/u],
  [LOWER, /\p{Ll}/u],
  [CASELESS, /[\p{Lm}\p{Lo}]/u],
  [COMBINING, /\p{M}/u],
  [NUMBER, /\p{N}/u],
  [LINE_BREAK, /[\r\n]/],
  [SPACE, /\s/],
];
const isSurrogate = (point: number): boolean => point >= 0xd800 && point < 0xe000;

describe('kinds of code points', () => {
  let turns = 0;
  beforeAll(() =>
    readKinds(async () => {
      turns++;
    }),
  );

  it('are what the expressions of the engine say, for all of Unicode', () => {
    const wrong: string[] = [];
    const bytes = Buffer.alloc(4);
    for (let point = 0; point < 0x110000; point++) {
      if (isSurrogate(point)) continue;
      const character = String.fromCodePoint(point);
      const width = bytes.write(character);
      const expected = KINDS.find(([, expression]) => expression.test(character))?.[0] ?? SYMBOL;
      if (kindAt(bytes, 0) !== expected || widthOf(bytes[0] as number) !== width) wrong.push(point.toString(16));
    }

    expect(wrong).toEqual([]);
  }, 30_000);

  it('of half a character are none but symbols', () => {
    for (let unit = 0xd800; unit < 0xe000; unit++) expect(kindOf(unit)).toBe(SYMBOL);
  });

  it('are read in stretches between which other work goes on', () => {
    expect(turns).toBeGreaterThan(10);
  });
});
