import { SpillwayError } from '../errors.js';
import { anthropicMessages } from './anthropic.js';
import type { Dialect, Draft } from './dialect.js';
import { geminiContent } from './gemini.js';
import { openaiChat } from './openai-chat.js';
import { openaiCompletions } from './openai-completions.js';
import { openaiEmbeddings } from './openai-embeddings.js';
import { openaiResponses } from './openai-responses.js';

/** The wire formats that a gate knows. */
export interface Registry {
  /** The first dialect that reads the body, and what it read; `undefined`: none does. */
  detect(body: unknown, path?: string): { readonly dialect: Dialect; readonly draft: Draft } | undefined;
  /** The first dialect of that name. */
  byName(name: string): Dialect | undefined;
  readonly names: readonly string[];
  /** Writes errors where no dialect read the body. */
  readonly fallback: Dialect;
}

/** Messages come before chat completions, which take every body with a model and messages that is sent to no other endpoint. */
const BUILT_IN: readonly Dialect[] = [
  anthropicMessages,
  openaiChat,
  openaiResponses,
  openaiEmbeddings,
  openaiCompletions,
  geminiContent,
];

const TRUSTED = new Set(BUILT_IN.map(({ read }) => read));

/**
 * What a dialect reads from a body.
 * @throws {@link SpillwayError} `SPILLWAY_BAD_CALL` when an application's own dialect returns something that is no draft
 */
export function readDraft(dialect: Dialect, body: unknown, path: string | undefined): Draft | undefined {
  const draft = dialect.read(body, path) ?? undefined;
  if (draft !== undefined && !TRUSTED.has(dialect.read)) checkDraft(dialect.name, draft);
  return draft;
}

function checkDraft(name: string, given: unknown): void {
  const { model, sections, choices, maximumOutputTokens: maximum } = (given ?? {}) as Partial<Record<keyof Draft, unknown>>;
  const fault =
    typeof model !== 'string' || model === ''
      ? 'its model must be a text'
      : !Array.isArray(sections) ||
          !sections.every((section) => Array.isArray((section as Partial<Draft['sections'][number]> | null)?.parts))
        ? 'its sections must be a list, each with a list of parts'
        : typeof choices !== 'number' || !(choices >= 1)
          ? 'its choices must be a number from 1 on'
          : maximum !== undefined && !(typeof maximum === 'number' && maximum >= 0)
            ? 'its maximumOutputTokens must be a number or undefined'
            : undefined;
  if (fault !== undefined)
    throw new SpillwayError(
      'SPILLWAY_BAD_CALL',
      `read of the dialect ${JSON.stringify(name)} gave no draft: ${fault}; return undefined for a body that is not its own`,
    );
}

/** @param own - the application's dialects, asked before the built-in ones, in their order */
export function createRegistry(own: readonly Dialect[]): Registry {
  const dialects = [...own, ...BUILT_IN];

  return {
    detect(body, path) {
      for (const dialect of dialects) {
        const draft = readDraft(dialect, body, path);
        if (draft) return { dialect, draft };
      }
      return undefined;
    },
    byName: (name) => dialects.find((dialect) => dialect.name === name),
    names: dialects.map(({ name }) => name),
    fallback: openaiChat,
  };
}
