import type { Measure } from './rules.js';

/** Counts texts of one prompt as Gemini's vocabulary cuts them. */
export interface GeminiText {
  tokens(text: string): number;
  /** Of its JSON text; `bare`: of the names and values in it alone. */
  jsonTokens(value: unknown, how?: 'bare'): number;
}

/** Characters of a prompt that are looked at; beyond them the rest is like those before. About 1 ms. */
const MOST_CHARACTERS = 250_000;

/**
 * Gemini's vocabulary is not published, but is of the kind of Gemma's: about that of o200k_base, where that one does not put
 * together what the other takes apart. Digits stand alone; an apostrophe and what follows it are no part of the word before; marks
 * join neither each other nor the end of a line, and an indentation joins no word.
 */
export function createGeminiText(measure: Pick<Measure, 'count' | 'writeJson'>): GeminiText {
  let left = MOST_CHARACTERS;
  let seen = 0;
  let found = 0;

  function apart(text: string): number {
    const length = Math.min(left, text.length);
    const here = takenApart(text, length);
    left -= length;
    seen += length;
    found += here;
    return text.length > length ? here + ((text.length - length) * found) / Math.max(1, seen) : here;
  }

  const tokens = (text: string): number => (text === '' ? 0 : measure.count(text) + apart(text));
  return {
    tokens,
    jsonTokens(value, how) {
      const { text, restLength } = measure.writeJson(value);
      return tokens(how === 'bare' ? text.replace(/["{}[\],:]+/g, ' ') : text) * (1 + restLength / text.length);
    },
  };
}

const OTHER = 0;
const DIGIT = 1;
const MARK = 2;
const SPACE = 3;
const BREAK = 4;
const LETTER = 5;

const APOSTROPHE = 0x27;
const CLASSES = new Uint8Array(128).map((_, code) => {
  const unit = String.fromCharCode(code);
  if (/[0-9]/.test(unit)) return DIGIT;
  if (/[a-z]/i.test(unit)) return LETTER;
  if (unit === ' ' || unit === '\t') return SPACE;
  if (unit === '\n') return BREAK;
  return /[!-~]/.test(unit) ? MARK : OTHER;
});

/** Digits that o200k_base has in one token. */
const DIGITS = 3;
/** A contraction takes three tokens in place of one. */
const CONTRACTION_TOKENS = 2;
/** Half of all neighbours of marks are in one token with them there. */
const NEIGHBOUR_TOKENS = 0.5;

/** Tokens more than o200k_base has for the beginning of a text. Fitted to usage of 2025 and 2026. */
function takenApart(text: string, length: number): number {
  let tokens = 0;
  let before = OTHER;
  let digits = 0;
  let isLineStart = false;
  for (let at = 0; at < length; at++) {
    const code = text.charCodeAt(at);
    const kind = code < 128 ? (CLASSES[code] as number) : OTHER;
    if (kind === DIGIT) {
      if (digits++ % DIGITS !== 0) tokens++;
    } else digits = 0;
    if (kind === MARK && before === LETTER && code === APOSTROPHE && isContraction(text, at)) tokens += CONTRACTION_TOKENS;
    if (before === MARK && (kind === BREAK || (kind === MARK && code !== text.charCodeAt(at - 1)))) tokens += NEIGHBOUR_TOKENS;
    if (isLineStart && kind === SPACE) tokens++;
    isLineStart = kind === BREAK;
    before = kind;
  }
  return tokens;
}

/** `'s`, `'t`, `'re` and the like, with nothing of a word behind. */
function isContraction(text: string, at: number): boolean {
  const one = lower(text, at + 1);
  const two = lower(text, at + 2);
  if (!isLetter(two)) return one === 's' || one === 't' || one === 'm' || one === 'd';
  return (
    ((one === 'r' && two === 'e') || (one === 'v' && two === 'e') || (one === 'l' && two === 'l')) &&
    !isLetter(lower(text, at + 3))
  );
}

const lower = (text: string, at: number): string => (text[at] ?? '').toLowerCase();
const isLetter = (unit: string): boolean => unit >= 'a' && unit <= 'z';
