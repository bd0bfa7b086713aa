import type { FilePart, Part, Section } from './dialect.js';
import { type Fields, fieldsOf, textOf } from './values.js';

/** How many messages and parts of a body may still be read one by one; what is beyond counts as JSON. */
export interface Left {
  parts: number;
  /** Characters of base64 that may still be read as text. */
  text: number;
}

/** Embeddings take 2,048 texts at most; nobody was seen to send more messages or parts. */
const MOST_PARTS = 4_096;
const MOST_TEXT = 262_144;
/** Bytes of plain text that take a token, on the safe side. */
const BYTES_PER_TOKEN = 3;

/** For one body. */
export const createLeft = (): Left => ({ parts: MOST_PARTS, text: MOST_TEXT });

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

/** Media types whose content is text. */
const TEXT_MEDIA = /^data:(?:text\/|application\/(?:json|xml|yaml))/i;

/**
 * Reads a file from base64 or a data URL; nothing is known of one that is elsewhere. A plain text is read as what it says, as far as
 * there may still be text.
 */
export function readFile(media: FilePart['media'], given: unknown, left: Left): Part[] {
  const text = textOf(given);
  const data = text.startsWith('data:') ? text.slice(text.indexOf(',') + 1) : text;
  if (data === '') return [{ kind: 'file', media, base64Length: 0 }];
  const isText = media === 'document' && data !== text && TEXT_MEDIA.test(text.slice(0, 64));
  return isText ? readText(data, left) : [{ kind: 'file', media, base64Length: data.length, data }];
}

function readText(data: string, left: Left): Part[] {
  const length = Math.min(data.length, left.text);
  left.text -= length;
  const parts: Part[] = [{ kind: 'text', text: Buffer.from(data.slice(0, length), 'base64').toString() }];
  const rest = Math.ceil(((data.length - length) * 0.75) / BYTES_PER_TOKEN);
  return rest === 0 ? parts : [...parts, { kind: 'tokens', count: rest, isGuessed: true }];
}
