/** Strings for comparing counts: all scripts, emoji, marks, broken text, names of special tokens. The same seed makes the same ones. */

export type Random = () => number;

/** Numbers from 0 to 1 that depend on the seed alone. */
export function createRandom(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

const below = (random: Random, end: number): number => Math.floor(random() * end);
export const pick = <T>(random: Random, items: readonly T[]): T => items[below(random, items.length)] as T;

/** First and last code point of stretches of Unicode, from Latin to the rarest planes. */
const SCRIPTS: readonly (readonly [first: number, last: number])[] = [
  [0x20, 0x7e],
  [0x80, 0xff],
  [0x100, 0x24f],
  [0x250, 0x2ff],
  [0x370, 0x3ff],
  [0x400, 0x52f],
  [0x530, 0x5ff],
  [0x600, 0x6ff],
  [0x700, 0x8ff],
  [0x900, 0x97f],
  [0x980, 0xdff],
  [0xe00, 0xeff],
  [0xf00, 0xfff],
  [0x1000, 0x10ff],
  [0x1100, 0x11ff],
  [0x1200, 0x139f],
  [0x13a0, 0x16ff],
  [0x1700, 0x1cff],
  [0x1d00, 0x1fff],
  [0x2000, 0x206f],
  [0x2070, 0x2bff],
  [0x2c00, 0x2fff],
  [0x3000, 0x303f],
  [0x3040, 0x30ff],
  [0x3100, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xabff],
  [0xac00, 0xd7af],
  [0xe000, 0xf8ff],
  [0xf900, 0xfdff],
  [0xfe00, 0xffff],
  [0x10000, 0x10fff],
  [0x11000, 0x12fff],
  [0x13000, 0x16fff],
  [0x17000, 0x1cfff],
  [0x1d000, 0x1efff],
  [0x1f000, 0x1faff],
  [0x20000, 0x323af],
  [0xe0000, 0xe01ef],
  [0xf0000, 0x10ffff],
];

const SPECIAL = ['<|endoftext|>', '<|fim_prefix|>', '<|im_start|>', '<|endofprompt|>', '<|', '|>'];
const BLANK = [
  ' ',
  '  ',
  '\t',
  '\n',
  '\r\n',
  '\r',
  '\n\n',
  '\v',
  '\f',
  '\u00a0',
  '\u2003',
  '\u3000',
  '\u2028',
  '\ufeff',
  '\u0085',
];
const ENDINGS = ["'s", "'S", "'re", "'RE", "'vE", "'ll", "'d", "'T", "'m", "'", '’s', "'x", "''", "'ſ"];
const WORDS =
  'the of and to in Water GATE camelCase HTTPServer snake_case naïve straße İstanbul ǅ ﬁ ſ größer Привет МИР мир שלום مرحبا नमस्ते สวัสดี 世界 日本語 こんにちは カタカナ 안녕 Ⅷ ½ ² ٣ ৪ ᾳ ʰ 𝐀𝐛 𐐀𐐨'.split(
    ' ',
  );
const MARKS = '. , ; : ! ? - -- --- _ / // \\ ( ) { } [ ] {" ": "," => <= == && || @ # $ % ^ & * + ~ ` | 。 、 … — « »'.split(
  ' ',
);
const JOINERS = ['\u200d', '\ufe0f', '\u{1f3fd}', '\u0301', '\u0323', '\u20e3', '\u3099', '\u094d', '\u0e31', '\u{e0101}'];
const SURROGATES = [0xd800, 0xdbff, 0xdc00, 0xdfff, 0xd83d, 0xde00];

type Make = (random: Random) => string;

function fromRange(random: Random, [first, last]: readonly [number, number]): string {
  return String.fromCodePoint(first + below(random, last - first + 1));
}

function repeated(random: Random, most: number, make: Make): string {
  let text = '';
  for (let left = 1 + below(random, most); left > 0; left--) text += make(random);
  return text;
}

const emoji: Make = (random) => fromRange(random, [0x1f300, 0x1faff]);

/** What a string is put together from. */
const MAKERS: readonly Make[] = [
  (random) => {
    const script = pick(random, SCRIPTS);
    return repeated(random, 8, () => fromRange(random, script));
  },
  (random) => pick(random, WORDS) + (random() < 0.2 ? pick(random, ENDINGS) : ''),
  (random) => ` ${pick(random, WORDS)}`,
  (random) => repeated(random, 6, () => pick(random, BLANK)),
  (random) => ' '.repeat(1 + below(random, 40)) + (random() < 0.5 ? '\n' : ''),
  (random) => repeated(random, 4, () => pick(random, MARKS)) + (random() < 0.2 ? pick(random, BLANK) : ''),
  (random) => pick(random, MARKS).repeat(1 + below(random, 20)),
  (random) => repeated(random, 12, () => String(below(random, 10))),
  (random) => emoji(random) + (random() < 0.5 ? pick(random, JOINERS) + emoji(random) : ''),
  (random) => fromRange(random, pick(random, SCRIPTS)) + repeated(random, 3, () => pick(random, JOINERS)),
  (random) => String.fromCharCode(pick(random, SURROGATES)),
  (random) => pick(random, SPECIAL),
  (random) => repeated(random, 10, () => fromRange(random, [0, 0x7f])),
  (random) => repeated(random, 20, () => fromRange(random, [0x61, 0x7a])),
  (random) => repeated(random, 20, () => pick(random, [...'ABCDEFGHabcdefgh01234567+/'])),
  (random) => String.fromCharCode(below(random, 0x10000)),
  (random) => String.fromCodePoint(below(random, 0x110000)),
];

/** A string of up to 12 such parts, mostly of several kinds. */
export function randomText(random: Random): string {
  const only = random() < 0.3 ? pick(random, MAKERS) : undefined;
  return repeated(random, 12, (of) => (only ?? pick(of, MAKERS))(of));
}
