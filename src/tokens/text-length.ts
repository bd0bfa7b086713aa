import type { Draft, Part } from '../dialects/dialect.js';

/** What is reserved for each value that is yet to be written as JSON, in UTF-16 units. */
const JSON_LENGTH = 16_384;

/** About how much text a draft has, in UTF-16 units; found without looking at any of it. */
export function textLength({ sections }: Pick<Draft, 'sections'>): number {
  let length = 0;
  for (const { parts } of sections) for (const part of parts) length += partLength(part);
  return length;
}

/** How many values of a draft are yet to be written as JSON. */
export function jsonParts({ sections }: Pick<Draft, 'sections'>): number {
  let count = 0;
  for (const { parts } of sections) for (const { kind } of parts) if (kind === 'json') count++;
  return count;
}

function partLength(part: Part): number {
  switch (part.kind) {
    case 'text':
      return part.text.length;
    case 'tool-call':
      return part.name.length + part.arguments.length;
    case 'json':
      return JSON_LENGTH;
    default:
      return 0;
  }
}
