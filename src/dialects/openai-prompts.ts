import type { Part, Section } from './dialect.js';
import { createLeft, readParts } from './parts.js';

/** What completions go on with and embeddings are made of. */
export interface Prompts {
  readonly section: Section;
  /** How many prompts there are: 1 for a text or a list of tokens. A whole number, 1 or more. */
  readonly count: number;
}

/** Reads a text, a list of tokens, or a list of either. */
export function readPrompts(given: unknown): Prompts {
  const list = promptsOf(given);
  return { section: { kind: 'prompt', parts: readParts(list, createLeft(), readPrompt) }, count: list.length };
}

/** How many prompts are given; see {@link Prompts.count}. */
export const promptCount = (given: unknown): number => promptsOf(given).length;

const promptsOf = (given: unknown): readonly unknown[] => (isTokens(given) || !Array.isArray(given) ? [given] : given);

function readPrompt(value: unknown): Part[] {
  if (value === undefined || value === null) return [];
  if (typeof value === 'string') return [{ kind: 'text', text: value }];
  return [isTokens(value) ? { kind: 'tokens', count: value.length } : { kind: 'json', value }];
}

function isTokens(value: unknown): value is number[] {
  if (!Array.isArray(value)) return false;
  // Bodies may hold millions of them: a callback for each would take ten times as long.
  for (let at = 0; at < value.length; at++) if (typeof value[at] !== 'number') return false;
  return true;
}
