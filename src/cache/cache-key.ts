import { createHash } from 'node:crypto';
import type { Call } from '../call.js';

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
    // The model is in the key already, as the resolved one.
  }).map(([dialect, fields]) => [dialect, new Set([...fields, 'model'])]),
);

/** Nesting that is followed; deeper bodies are not cached. */
const DEEPEST = 64;

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
 * their order. `undefined` when nothing may be cached for it.
 */
export function cacheKey(call: Call, partition: Partition): string | undefined {
  const { body, dialect, visit, requestedModel } = call;
  const who = partitionOf(call, partition);
  if (who === undefined || dialect === undefined || call.draft === undefined) return undefined;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined;
  const immaterial = IMMATERIAL.get(dialect.name);
  const material = Object.entries(body).filter(([name]) => !immaterial?.has(name));
  const canonical = canonicalJson(Object.fromEntries(material));
  if (canonical === undefined) return undefined;
  const place = JSON.stringify([who, visit.place, dialect.name, requestedModel]);
  return createHash('sha256').update(place).update(canonical).digest('base64url');
}

/** What `JSON.stringify` writes, with the names of each object sorted; `undefined` when nested too deep. */
function canonicalJson(given: unknown, depth = 0): string | undefined {
  const value = hasToJson(given) ? given.toJSON() : given;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (depth >= DEEPEST) return undefined;
  const parts: string[] = [];
  if (Array.isArray(value)) {
    for (const item of value) {
      const text = canonicalJson(item, depth + 1);
      if (text === undefined) return undefined;
      parts.push(text);
    }
    return `[${parts.join(',')}]`;
  }
  for (const [name, item] of Object.entries(value).sort(byName)) {
    if (item === undefined) continue;
    const text = canonicalJson(item, depth + 1);
    if (text === undefined) return undefined;
    parts.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${parts.join(',')}}`;
}

const byName = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1);

/** Bodies of jobs are objects of the application: dates and addresses say what they are only when asked. */
function hasToJson(value: unknown): value is { toJSON(): unknown } {
  return typeof value === 'object' && value !== null && 'toJSON' in value && typeof value.toJSON === 'function';
}
