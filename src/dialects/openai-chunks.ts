import { usageFields } from './openai-usage.js';
import { type Fields, fieldsOf, listOf } from './values.js';

/** What the chunks of one wire format are called. */
export interface ChunkKind {
  /** The id of an answer that has none of its own. */
  readonly id: string;
  readonly object: string;
  writeChoice(choice: Fields): readonly Fields[];
}

/** The chunks of an answer as a stream, choice by choice; the first one carries the mark, and usage has one of its own. */
export function writeChunks(kind: ChunkKind, body: Fields, spillway: Fields, wantsUsage: boolean): string {
  const { id, created, model } = body;
  const head = { id: id ?? kind.id, object: kind.object, created: created ?? 0, model };
  const usage = wantsUsage ? { usage: null } : {};
  const chunks: Fields[] = listOf(body.choices)
    .flatMap((choice) => kind.writeChoice(fieldsOf(choice) ?? {}))
    .map((choice, at) => ({ ...head, choices: [choice], ...usage, ...(at === 0 ? { spillway } : {}) }));
  if (wantsUsage) chunks.push({ ...head, choices: [], usage: fieldsOf(body.usage) ?? usageFields(undefined) });
  return `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`;
}
