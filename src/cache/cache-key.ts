import { createHash } from 'node:crypto';
import type { Call } from '../call.js';

/** Fields of a body that do not shape the answer: who asks, how it is delivered, what is kept of it. */
const IMMATERIAL = new Set([
  'stream',
  'stream_options',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'metadata',
  'store',
  'service_tier',
]);

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
  const who = partitionOf(call, partition);
  if (who === undefined || call.dialect === undefined || call.draft === undefined) return undefined;
  const { body } = call;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined;
  const material = Object.entries(body).filter(([name]) => !IMMATERIAL.has(name) && name !== 'model');
  const canonical = canonicalJson(material.sort(byName));
  if (canonical === undefined) return undefined;
  const hash = createHash('sha256');
  for (const part of [who, call.visit.place, call.dialect.name, call.requestedModel ?? '', canonical])
    hash.update(`${part.length}:${part}`);
  return hash.digest('base64url');
}

const byName = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : a > b ? 1 : 0);

/** JSON with sorted names; `undefined` when nested too deep. */
function canonicalJson(value: unknown, depth = 0): string | undefined {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (depth >= DEEPEST) return undefined;
  const parts: string[] = [];
  const entries = Array.isArray(value) ? value.map((item): [string, unknown] => ['', item]) : Object.entries(value).sort(byName);
  for (const [name, item] of entries) {
    const text = canonicalJson(item, depth + 1);
    if (text === undefined) return undefined;
    parts.push(Array.isArray(value) ? text : `${JSON.stringify(name)}:${text}`);
  }
  return Array.isArray(value) ? `[${parts.join(',')}]` : `{${parts.join(',')}}`;
}
