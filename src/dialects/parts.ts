import type { Part, Section } from './dialect.js';
import { type Fields, fieldsOf, textOf } from './values.js';

/** How many messages and parts of a body may still be read one by one; what is beyond counts as JSON. */
export interface Left {
  parts: number;
}

const MOST_PARTS = 10_000;

/** For one body. */
export const createLeft = (): Left => ({ parts: MOST_PARTS });

/** Reads messages in their order, and passes over what is none: a provider refuses a body that has something else in its place. */
export function readMessages(
  messages: readonly unknown[],
  left: Left,
  read: (message: Fields, left: Left) => Section,
): Section[] {
  const sections: Section[] = [];
  let at = 0;
  for (; at < messages.length && left.parts > 0; at++) {
    left.parts--;
    const message = fieldsOf(messages[at]);
    if (message) sections.push(read(message, left));
  }
  if (at < messages.length) sections.push({ kind: 'message', parts: [{ kind: 'json', value: messages.slice(at) }] });
  return sections;
}

/** Reads the members of a list of content or of calls. */
export function readParts(list: readonly unknown[], left: Left, read: (value: unknown, left: Left) => readonly Part[]): Part[] {
  const parts: Part[] = [];
  let at = 0;
  for (; at < list.length && left.parts > 0; at++) {
    left.parts--;
    parts.push(...read(list[at], left));
  }
  if (at < list.length) parts.push({ kind: 'json', value: list.slice(at) });
  return parts;
}

/** Length of what is encoded, without the head of a data URL. */
export function base64Length(data: unknown): number {
  const text = textOf(data);
  return text.startsWith('data:') ? text.length - text.indexOf(',') - 1 : text.length;
}
