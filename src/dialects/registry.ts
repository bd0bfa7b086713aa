import { anthropicMessages } from './anthropic.js';
import type { Dialect, Draft } from './dialect.js';
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
const BUILT_IN: readonly Dialect[] = [anthropicMessages, openaiChat, openaiResponses, openaiEmbeddings, openaiCompletions];

/** @param own - the application's dialects, asked before the built-in ones, in their order */
export function createRegistry(own: readonly Dialect[]): Registry {
  const dialects = [...own, ...BUILT_IN];

  return {
    detect(body, path) {
      for (const dialect of dialects) {
        const draft = dialect.read(body, path);
        if (draft) return { dialect, draft };
      }
      return undefined;
    },
    byName: (name) => dialects.find((dialect) => dialect.name === name),
    names: dialects.map(({ name }) => name),
    fallback: openaiChat,
  };
}
