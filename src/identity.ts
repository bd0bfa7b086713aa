import { createHash } from 'node:crypto';
import type { Identity } from './call.js';
import { SpillwayError } from './errors.js';
import type { ResolvedScope } from './options.js';
import { enumerate, isRecord, nearest, show } from './options-check.js';

/** Who asks, and which scopes nobody was named for. */
export interface ReadIdentity {
  /** Frozen, with nothing inherited; only configured scopes. */
  readonly identity: Identity;
  /** Scopes that need a key and have none: such a request is answered 401. */
  readonly missing: readonly string[];
}

/** Longer keys are remembered by their hash: a caller's text must not fill the memory. In UTF-16 units. */
const LONGEST_GIVEN = 512;

/** Objects that inherit nothing, made the way that engines keep fast: those without any prototype are hash tables to them. */
const Keys = function Keys() {} as unknown as new () => Record<string, string>;
Keys.prototype = Object.freeze(Object.create(null));

const NO_IDENTITY: Readonly<Record<string, unknown>> = Object.freeze({});

/**
 * Checks what the application's `identify` returned, and normalises its keys to strings: `42`, `42n` and `"42"` are one key.
 * @param given - an object from scope to key; `undefined` and `null`, for it or for a key, mean that nobody is named
 * @throws {@link SpillwayError} SPILLWAY_BAD_IDENTITY for anything that is no key, which is a mistake in the application
 *   and never a caller's; the message names the scope and never the key
 */
export function readIdentity(given: unknown, scopes: readonly Pick<ResolvedScope, 'name' | 'optional'>[]): ReadIdentity {
  const keys = readKeys(given);
  for (const name of Object.keys(keys)) refuseUnknown(name, scopes);

  const identity: Record<string, string> = new Keys();
  const missing: string[] = [];
  for (const scope of scopes) {
    if (scope.name === 'global') continue;
    const key = Object.hasOwn(keys, scope.name) ? readKey(keys[scope.name], scope.name) : undefined;
    if (key !== undefined) identity[scope.name] = key;
    else if (!scope.optional) missing.push(scope.name);
  }
  return { identity: Object.freeze(identity), missing: Object.freeze(missing) };
}

function readKeys(given: unknown): Readonly<Record<string, unknown>> {
  if (given === undefined || given === null) return NO_IDENTITY;
  if (isRecord(given)) return given;
  throw bad(`identify must return an object from scope to key, got ${kindOf(given)}; return one like { user: req.user.id }`);
}

function readKey(given: unknown, scope: string): string | undefined {
  if (given === undefined || given === null || given === '') return undefined;
  if (typeof given === 'string')
    return given.length <= LONGEST_GIVEN ? given : `sha256:${createHash('sha256').update(given).digest('hex')}`;
  if (typeof given === 'bigint' || (typeof given === 'number' && Number.isFinite(given))) return String(given);
  const mend = given instanceof Promise ? 'await it' : 'return a non-empty string, a finite number or a bigint';
  throw bad(`identify gave ${kindOf(given)} as the key of the scope ${scope}; ${mend}, or undefined when there is none`);
}

function refuseUnknown(name: string, scopes: readonly Pick<ResolvedScope, 'name'>[]): void {
  if (name === 'global') throw bad('identify named the scope global, which has one key for everybody; leave it out');
  for (const scope of scopes) if (scope.name === name) return;
  const known = scopes.map((scope) => scope.name).filter((scope) => scope !== 'global');
  const near = nearest(name, known);
  const all = known.length === 0 ? 'none is configured' : `known are ${enumerate(known)}`;
  throw bad(
    `identify named the scope ${show(name)}, which is not configured; ${near === undefined ? all : `did you mean ${near}?`}`,
  );
}

const bad = (message: string): SpillwayError => new SpillwayError('SPILLWAY_BAD_IDENTITY', message);

/** Never the value of a string: it may be a key. */
function kindOf(value: unknown): string {
  if (typeof value === 'string') return value === '' ? 'an empty string' : 'a string';
  return value instanceof Promise ? 'a promise' : show(value);
}

const LONGEST_KEY = 64;
const PLAIN = /^[A-Za-z0-9._:@/+=~-]{1,64}$/;
const NOT_PLAIN = /[^A-Za-z0-9._:@/+=~-]/g;

/**
 * A key as counters name it: 1 to 64 characters of printable ASCII without spaces, pipes, braces, commas and semicolons.
 * Injective: two keys never share a counter, whatever characters they are made of. Plain short keys pass as they are;
 * others have each odd code unit written as `%XX` or `%uXXXX`; what is then too long becomes `#` and its SHA-256.
 */
export function encodeKey(key: string): string {
  if (PLAIN.test(key)) return key;
  if (key === '') return '%';
  if (key.length <= LONGEST_KEY) {
    const encoded = key.replace(NOT_PLAIN, encodeUnit);
    if (encoded.length <= LONGEST_KEY) return encoded;
  }
  // Over code units: UTF-8 has one replacement for every lone surrogate, and different keys would then be one.
  return `#${createHash('sha256').update(Buffer.from(key, 'utf16le')).digest('base64url')}`;
}

function encodeUnit(unit: string): string {
  const hex = unit.charCodeAt(0).toString(16).toUpperCase();
  return hex.length > 2 ? `%u${hex.padStart(4, '0')}` : `%${hex.padStart(2, '0')}`;
}

const MOST_HASHES = 1_000;
const hashes = new Map<string, string>();

/** A key as logs and events show it: the first 12 hex digits of the SHA-256 of its UTF-8. */
export function hashKey(key: string): string {
  const known = hashes.get(key);
  if (known !== undefined) return known;
  const hash = createHash('sha256').update(key).digest('hex').slice(0, 12);
  if (key.length > 2 * LONGEST_KEY) return hash; // keys may be a caller's text: the memo must stay small
  if (hashes.size >= MOST_HASHES) hashes.delete(hashes.keys().next().value as string);
  hashes.set(key, hash);
  return hash;
}
