/** What Claude's models of one generation have in common. */
export interface Generation {
  /** The first version it begins with, as `major.minor`. */
  readonly since: number;
  /** Which of the generation; the first row that fits counts. @defaultValue all */
  readonly names?: RegExp;
  /** Tokens for each token of cl100k_base, in Latin script and in others: Claude's own vocabularies are not published. */
  readonly factor: number;
  readonly otherFactor: number;
  /** What comes with tools, whatever they are, when the model may call one and when it must. */
  readonly mayCall: number;
  readonly mustCall: number;
  /** What comes with thinking. */
  readonly thinking: number;
  /** Longest side of an image, in pixels, and most patches of it: larger ones are scaled down. And what surrounds it. */
  readonly longestSide: number;
  readonly patches: number;
  readonly imageTokens: number;
  /** Where the row is from, and of when. */
  readonly source: string;
}

const SMALL_IMAGES = { longestSide: 1_568, patches: 1_568, imageTokens: 4 };
const LARGE_IMAGES = { longestSide: 2_576, patches: 4_784, imageTokens: 3 };
const FIRST = {
  since: 0,
  factor: 1.1,
  otherFactor: 1.1,
  thinking: 29,
  ...SMALL_IMAGES,
  source: 'reported usage, May 2024 to Mar 2026',
};

/**
 * Claude's generations, newest first. Factors for scripts other than Latin are derived from comparisons that were published in Apr
 * 2026 (sol.ava.dev): only Latin ones took more tokens from 4.7 on.
 */
export const GENERATIONS: readonly Generation[] = [
  {
    since: 4.7,
    factor: 1.3,
    otherFactor: 1.15,
    mayCall: 370,
    mustCall: 520,
    thinking: 0,
    ...LARGE_IMAGES,
    source: 'reported usage, Jul and Aug 2026; vision guide, 2026',
  },
  {
    since: 4.5,
    factor: 1.15,
    otherFactor: 1.15,
    mayCall: 495,
    mustCall: 595,
    thinking: 29,
    ...SMALL_IMAGES,
    source: 'reported usage, Dec 2025 to Aug 2026',
  },
  {
    since: 4,
    factor: 1.15,
    otherFactor: 1.15,
    mayCall: 315,
    mustCall: 335,
    thinking: 29,
    ...SMALL_IMAGES,
    source: 'reported usage, Jul 2025 to May 2026',
  },
  { ...FIRST, names: /opus/, mayCall: 530, mustCall: 300 },
  { ...FIRST, mayCall: 275, mustCall: 365 },
];

/** `claude-3-5-haiku-20241022`, `claude-opus-4-1`, `claude-sonnet-4@20250514`, `claude-haiku-4.5`, `claude-v2`. */
const VERSION = /claude-(?:[a-z]+-)?v?(\d)(?:[-.](\d)(?!\d))?/;

/** By a name without what is put around it, in lower case; one that tells no version is taken for a new one. */
export function generationOf(name: string): Generation {
  const [, major, minor = '0'] = VERSION.exec(name) ?? [];
  const version = major === undefined ? Infinity : Number(`${major}.${minor}`);
  const found = GENERATIONS.find(({ since, names }) => version >= since && (names?.test(name) ?? true));
  return found as Generation;
}
