import { createHash, hash } from 'node:crypto';
import type { Call } from '../call.js';
import { namesWithin } from '../json-shape.js';

/**
 * Fields of a body that do not shape the answer: who asks, how it is delivered, what is kept of it. By wire format: in an
 * application's own shape a field of the same name may mean anything.
 */
const IMMATERIAL: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    'openai-chat': [
      'stream',
      'stream_options',
      'user',
      'safety_identifier',
      'prompt_cache_key',
      'metadata',
      'store',
      'service_tier',
    ],
    // `store` stays: whoever asks for it goes on from the answer's id, which must be one that is kept.
    'openai-responses': ['stream', 'stream_options', 'user', 'safety_identifier', 'prompt_cache_key', 'metadata', 'service_tier'],
    'openai-completions': ['stream', 'stream_options', 'user'],
    'openai-embeddings': ['user'],
    'anthropic-messages': ['stream', 'metadata', 'service_tier'],
    'gemini-content': ['stream', 'labels'],
    // The model is in the key already, as the resolved one.
  }).map(([dialect, fields]) => [dialect, new Set([...fields, 'model'])]),
);

/** Nesting that is followed; deeper bodies are not cached. */
const DEEPEST = 64;
/** Values that are written down, and characters that are hashed: about 5 ms. Answers to more are not kept. */
const MOST_VALUES = 10_000;
const MOST_CHARACTERS = 4_194_304;
/** Longer strings are written down as their hash, in characters: escaping and joining them would take longer than the hash. */
const LONGEST_WRITTEN = 1_024;
/** No model takes a longer prompt, and listing the names of one that has too many takes long by itself. */
const MOST_TOKENS = 1_000_000;

/** Who may share cached answers: everybody with the same keys of all scopes, of one scope, or everybody. */
export type Partition = 'identity' | 'everyone' | (string & {});

/** The partition of a call as a string; `undefined` when a key of it is missing, and then there is no cache. */
export function partitionOf(call: Call, partition: Partition): string | undefined {
  const { identity, scopes } = call.visit;
  if (partition === 'everyone') return '*';
  const names = partition === 'identity' ? scopes : [partition];
  if (names.length === 0) return undefined;
  const keys = names.map((name) => identity[name]);
  return keys.includes(undefined) ? undefined : JSON.stringify(names.map((name, index) => [name, keys[index]]));
}

/**
 * The key of a call's answer: partition, place, dialect, model and every field of the body that shapes the answer, whatever
 * their order. `undefined` when nothing may be cached for it, or when it would take long to write down.
 */
export function cacheKey(call: Call, partition: Partition): string | undefined {
  const { body, dialect, visit, requestedModel } = call;
  const who = partitionOf(call, partition);
  if (who === undefined || dialect === undefined || call.draft === undefined || call.inputTokens > MOST_TOKENS) return undefined;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined;
  const canonical = canonicalFields(body, { values: MOST_VALUES, characters: MOST_CHARACTERS }, 0, IMMATERIAL.get(dialect.name));
  if (canonical === undefined) return undefined;
  const place = JSON.stringify([who, visit.place, dialect.name, requestedModel]);
  return createHash('sha256').update(place).update(canonical).digest('base64url');
}

/** How much more may be written. */
interface Left {
  values: number;
  characters: number;
}

/** What `JSON.stringify` writes, with the names of each object sorted; `undefined` when nested too deep or too much. */
function canonicalJson(given: unknown, left: Left, depth: number): string | undefined {
  const value = hasToJson(given) ? given.toJSON() : given;
  if (typeof value !== 'object' || value === null) return leafJson(value, left);
  if (depth >= DEEPEST) return undefined;
  if (!Array.isArray(value)) return canonicalFields(value, left, depth);
  if (value.length > left.values) return undefined;
  left.values -= value.length;
  const parts: string[] = [];
  for (const item of value) {
    const text = canonicalJson(item, left, depth + 1);
    if (text === undefined) return undefined;
    parts.push(text);
  }
  return `[${parts.join(',')}]`;
}

function canonicalFields(value: object, left: Left, depth: number, without?: ReadonlySet<string>): string | undefined {
  const names = namesWithin(value, left.values);
  if (!names) return undefined;
  // Listed and sorted is work too, though what comes first may hold the next that is to be listed.
  left.values -= names.length;
  const parts: string[] = [];
  for (const name of names.sort()) {
    const item = (value as Readonly<Record<string, unknown>>)[name];
    if (item === undefined || without?.has(name)) continue;
    const written = leafJson(name, left);
    const text = canonicalJson(item, left, depth + 1);
    if (written === undefined || text === undefined) return undefined;
    parts.push(`${written}:${text}`);
  }
  return `{${parts.join(',')}}`;
}

function leafJson(value: unknown, left: Left): string | undefined {
  // Not even begun when it is too long already.
  if (typeof value === 'string' && value.length > left.characters) return undefined;
  if (typeof value === 'string' && value.length > LONGEST_WRITTEN) {
    left.characters -= value.length;
    return hashedText(value);
  }
  const text = JSON.stringify(value) ?? 'null';
  left.characters -= text.length;
  return left.characters < 0 ? undefined : text;
}

/** No JSON begins like this. UTF-8 has one replacement for all halves of surrogate pairs, which must be told apart. */
function hashedText(text: string): string {
  return text.isWellFormed() ? `#${hash('sha256', text)}` : `~${hash('sha256', Buffer.from(text, 'utf16le'))}`;
}

/** Bodies of jobs are objects of the application: dates and addresses say what they are only when asked. */
function hasToJson(value: unknown): value is { toJSON(): unknown } {
  return typeof value === 'object' && value !== null && 'toJSON' in value && typeof value.toJSON === 'function';
}
