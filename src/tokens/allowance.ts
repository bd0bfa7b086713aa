import type { Work } from './vocabulary.js';

/** Something that is used up, shared out evenly over the texts of a body. */
interface Purse extends Work {
  /** Not yet granted to any text. */
  pool: number;
}

/** Tokens and length of texts; what was added last weighs most. */
export interface Seen {
  tokens: number;
  length: number;
}

/** How much counting may still be done for one body, and how it went so far. */
export interface Allowance {
  readonly work: Purse;
  /** Characters that may still be judged by class, in UTF-16 units. */
  readonly guesses: Purse;
  /** Length of the texts that are still to come, as far as it is known. In UTF-16 units. */
  expected: number;
  /** What was looked at last, for what will not be. */
  readonly seen: Seen;
  /** Whether everything so far was counted whole, by its vocabulary. */
  isExact: boolean;
}

/**
 * At most about 7 ms of counting. It covers 450,000 characters of English whose words were met before and 110,000 of words that never
 * were, 12,000 to 80,000 of Chinese, 7,000 of lone surrogates, the most expensive text that was found.
 */
export const WORK = 12_000;
/** About 1 ms of judging by character class. */
const GUESSES = 65_536;
/** Share of what was found before that a further text leaves. */
const FADING = 0.8;
/** How many times as much as the new may what was found before weigh. */
const MOST_EARLIER = 4;
/** Tokens per character of what is not even looked at, when nothing was. */
const UNSEEN_RATE = 0.3;

/**
 * An allowance for the texts of one body: about 10 ms of the event loop at most for all of them together. Measured: 7 ms for 1 MB of each
 * of sixteen hostile kinds and for 10 MB of English, 11 ms for 100,000 texts, half of it for walking from one to the next.
 * @param length - of those texts, in UTF-16 units. Each then gets its share, so that whatever comes first leaves enough for the
 * rest; without it the first that needs everything takes it.
 */
export function createAllowance(length = 0): Allowance {
  return {
    work: { left: WORK, pool: WORK },
    guesses: { left: GUESSES, pool: GUESSES },
    expected: length,
    seen: { tokens: 0, length: 0 },
    isExact: true,
  };
}

/** Work granted to a text however short it is beside the others, out of half of all: names of functions must not be judged by class. */
const LEAST_GRANTED = 64;

/** Grants the next text its share. What it leaves over goes to those that follow. */
export function grant(allowance: Allowance, length: number): void {
  const { work, guesses, expected } = allowance;
  const least = work.pool > WORK / 2 ? LEAST_GRANTED / work.pool : 0;
  const share = length < expected ? Math.max(least, length / expected) : 1;
  allowance.expected = Math.max(0, expected - length);
  work.pool -= work.pool * share;
  guesses.pool -= guesses.pool * share;
}

/** What the texts so far were granted and have not used; negative when they used more. */
export const granted = ({ left, pool }: Purse): number => left - pool;

/** Adds a text that was looked at; what was found before fades, so that texts speak for those near them. */
export function add(seen: Seen, tokens: number, length: number): void {
  const share = seen.length > 0 ? Math.min(FADING, (MOST_EARLIER * length) / seen.length) : 0;
  seen.tokens = seen.tokens * share + tokens;
  seen.length = seen.length * share + length;
}

/** Tokens per character of what cannot be looked at. */
export const unseenRate = ({ seen }: Allowance): number => (seen.length > 0 ? seen.tokens / seen.length : UNSEEN_RATE);
