import type { EncodingName } from './encodings.js';
import { unitsOf } from './units.js';

/** Letters of a word that still tend to be one token, and how many more make each further one. */
const WORD_LETTERS = 12;
const FURTHER_LETTERS = 4;

/**
 * Tokens per character of everything that is not ASCII: last code unit of a range, then the rate of o200k_base and of the
 * older vocabularies. Measured on prose of each script; rare and unassigned characters cost their UTF-8 bytes.
 */
const SCRIPTS: readonly (readonly [last: number, rate: number, olderRate: number])[] = [
  [0x024f, 0.55, 0.85], // accented Latin
  [0x036f, 1, 1],
  [0x03ff, 0.33, 0.92], // Greek
  [0x052f, 0.23, 0.42], // Cyrillic
  [0x05ff, 0.5, 1], // Armenian, Hebrew
  [0x06ff, 0.4, 0.8], // Arabic
  [0x08ff, 1, 2],
  [0x0dff, 0.45, 1.2], // Indic
  [0x0e7f, 0.45, 1], // Thai
  [0x10ff, 0.9, 2.5], // Lao, Tibetan, Burmese, Georgian
  [0x1dff, 0.9, 2.5], // Ethiopic, Khmer, Mongolian
  [0x1eff, 0.25, 0.6], // Vietnamese
  [0x2bff, 0.9, 1.1], // general punctuation, arrows, symbols
  [0x2fff, 1.5, 2.5],
  [0x303f, 0.65, 0.85], // CJK punctuation
  [0x30ff, 0.65, 0.85], // kana
  [0x33ff, 1.5, 2],
  [0x9fff, 0.72, 1.08], // Han
  [0xabff, 2, 3],
  [0xd7ff, 0.54, 0.9], // Hangul
  [0xdfff, 1, 1.4], // surrogate halves: emoji and rare Han
  [0xfeff, 1.5, 2],
  [0xffef, 0.65, 0.85], // full-width forms
  [0xffff, 1.5, 2],
];

/** Rates by code unit / 16: every range above ends where such a block does. */
const RATES = Float64Array.from({ length: 4096 }, (_, block) => rateOf(block, 1));
const OLDER_RATES = Float64Array.from({ length: 4096 }, (_, block) => rateOf(block, 2));

function rateOf(block: number, column: 1 | 2): number {
  return SCRIPTS.find(([last]) => block << 4 <= last)?.[column] ?? 1;
}

const OTHER = 0;
const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const SPACE = 4;
const BREAK = 5;
const MARK = 6;

const ASCII = new Uint8Array(128).map((_, code) => {
  if (code >= 0x61 && code <= 0x7a) return LOWER;
  if (code >= 0x41 && code <= 0x5a) return UPPER;
  if (code >= 0x30 && code <= 0x39) return DIGIT;
  if (code === 0x0a || code === 0x0d) return BREAK;
  return code === 0x20 || code === 0x09 ? SPACE : MARK;
});

/**
 * Tokens of `text` judged by its characters alone, in linear time: for when its vocabulary is not there. Within about 15 %
 * on English, source code, JSON and Chinese; further off for text that no vocabulary was made for.
 */
export function guessTokens(text: string, encoding: EncodingName): number {
  const rates = encoding === 'o200k_base' ? RATES : OLDER_RATES;
  const units = unitsOf(text);
  const { length } = text;
  let tokens = 0;
  let before = OTHER;
  for (let at = 0; at < length; ) {
    const kind = classOf(units, at, length);
    if (kind === OTHER) {
      tokens += rates[(units[at] as number) >> 4] as number;
      before = OTHER;
      at++;
      continue;
    }
    const isWord = kind === LOWER || kind === UPPER;
    let end = at;
    while (end < length && classOf(units, end, length) === kind) end++;
    const letters = end;
    // Capitals and what follows in lower case are one word.
    if (kind === UPPER) while (end < length && classOf(units, end, length) === LOWER) end++;
    const run = end - at;
    const after = classOf(units, end, length);
    if (isWord) tokens += wordTokens(run, end === letters && kind === UPPER);
    else if (kind === DIGIT) tokens += Math.ceil(run / 3);
    else if (kind === MARK) tokens += markTokens(run, run === 1 && before !== SPACE && isLetter(after));
    else if (kind === BREAK) tokens += before === MARK ? 0.3 : 1;
    else tokens += spaceTokens(run, after);
    before = kind;
    at = end;
  }
  return Math.ceil(tokens);
}

/** `OTHER` past the end too: nothing there joins what came before. */
function classOf(units: Uint16Array, at: number, length: number): number {
  if (at >= length) return OTHER;
  const unit = units[at] as number;
  return unit < 128 ? (ASCII[unit] as number) : OTHER;
}

const isLetter = (kind: number): boolean => kind === LOWER || kind === UPPER;

function wordTokens(length: number, isCapitals: boolean): number {
  if (isCapitals) return Math.max(1, length / 3);
  return length <= WORD_LETTERS ? 1.06 : 1.06 + (length - WORD_LETTERS) / FURTHER_LETTERS;
}

/** A single mark before a word is mostly one token with it; long rows of marks repeat. */
function markTokens(length: number, joinsWord: boolean): number {
  if (joinsWord) return 0.3;
  return length <= 3 ? 1 : 1 + Math.min(length - 3, 13) * 0.5 + Math.max(0, length - 16) / 8;
}

/** The last space joins a word or a mark that follows; all of them join a line break. */
function spaceTokens(length: number, after: number): number {
  if (after === BREAK) return 0;
  const own = isLetter(after) || after === MARK ? length - 1 : length;
  return own > 0 ? 1 + own / 64 : 0;
}
