import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cacheKey, type Partition, partitionOf } from '../../src/cache/cache-key.js';
import type { Call } from '../../src/call.js';
import { anthropicMessages } from '../../src/dialects/anthropic.js';
import type { Dialect } from '../../src/dialects/dialect.js';
import { openaiChat } from '../../src/dialects/openai-chat.js';
import { openaiCompletions } from '../../src/dialects/openai-completions.js';
import { openaiEmbeddings } from '../../src/dialects/openai-embeddings.js';
import { openaiResponses } from '../../src/dialects/openai-responses.js';
import { callOf, visitOf } from '../support/builders.js';

const IMMATERIAL = [
  'stream',
  'stream_options',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'metadata',
  'store',
  'service_tier',
];

const keyOf = (body: unknown, call: Partial<Call> = {}, partition: Partition = 'everyone') =>
  cacheKey(callOf({ body, ...call }), partition);

/** JSON as bodies carry it, a few levels deep; names that objects without care would take for something else among them. */
const name = fc.oneof(fc.constantFrom('a', 'b', 'content', '__proto__', 'constructor', 'toJSON', '0', ''), fc.string());
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.string(),
    fc.double({ noNaN: true }),
    fc.boolean(),
    fc.constant(null),
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('value'), { maxLength: 4 }),
  object: fc.array(fc.tuple(name, tie('value')), { maxLength: 4 }).map(toObject),
}));
const fields = fc.array(
  fc.tuple(
    name.filter((field) => !IMMATERIAL.includes(field) && field !== 'model'),
    json.value,
  ),
  { maxLength: 5 },
);

/** As `JSON.parse` does it: `__proto__` is a name like any other. */
function toObject(entries: readonly (readonly [string, unknown])[]): object {
  return Object.fromEntries(entries);
}

function wide(names: number): object {
  return Object.fromEntries(Array.from({ length: names }, (_, index) => [`name-${index}`, index]));
}

/** The same with the names of each object in another order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return toObject(
    Object.entries(value)
      .reverse()
      .map(([field, item]) => [field, reversed(item)] as const),
  );
}

describe('the key of a body', () => {
  it('does not depend on the order of names, at any depth', () => {
    fc.assert(
      fc.property(fields, (entries) => {
        const body = toObject(entries);

        expect(keyOf(reversed(body))).toBe(keyOf(body));
      }),
    );
  });

  it('depends on the order of lists', () => {
    expect(keyOf({ messages: ['a', 'b'] })).not.toBe(keyOf({ messages: ['b', 'a'] }));
  });

  it.each(IMMATERIAL)('does not depend on %s, which does not shape the answer', (field) => {
    fc.assert(
      fc.property(fields, json.value, (entries, value) => {
        const body = toObject(entries);

        expect(keyOf({ ...body, [field]: value })).toBe(keyOf(body));
      }),
      { numRuns: 20 },
    );
  });

  it.each<[Dialect, string[], string[]]>([
    [openaiResponses, ['stream', 'stream_options', 'user', 'metadata', 'model'], ['input', 'instructions', 'store']],
    [anthropicMessages, ['stream', 'metadata', 'service_tier', 'model'], ['messages', 'system', 'thinking', 'max_tokens']],
    [openaiCompletions, ['stream', 'stream_options', 'user', 'model'], ['prompt', 'suffix', 'echo']],
    [openaiEmbeddings, ['user', 'model'], ['input', 'dimensions', 'encoding_format']],
  ])('of $0.name does not depend on how the answer is delivered, and on all that shapes it', (dialect, immaterial, material) => {
    const keyWith = (field: string) => keyOf({ x: 1, [field]: 'a' }, { dialect });
    const plain = keyOf({ x: 1 }, { dialect });

    expect(immaterial.map(keyWith)).toEqual(immaterial.map(() => plain));
    expect(new Set([plain, ...material.map(keyWith)]).size).toBe(material.length + 1);
  });

  it('is the same for two bodies only when they say the same', () => {
    fc.assert(
      fc.property(fields, fields, (one, other) => {
        const isSame = JSON.stringify(sorted(toObject(one))) === JSON.stringify(sorted(toObject(other)));

        expect(keyOf(toObject(one)) === keyOf(toObject(other))).toBe(isSame);
      }),
      { numRuns: 500 },
    );
  });

  it('changes with any one value, wherever it is', () => {
    fc.assert(
      fc.property(fields, fc.nat(), json.value, (entries, at, value) => {
        const body = toObject(entries);
        const places = leaves(body);
        fc.pre(places.length > 0);
        const path = places[at % places.length] as readonly string[];
        fc.pre(JSON.stringify(sorted(valueAt(body, path))) !== JSON.stringify(sorted(value)));

        expect(keyOf(withValue(body, path, value))).not.toBe(keyOf(body));
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['a number and its text', { seed: 1 }, { seed: '1' }],
    ['a list and an object with its indices', { stop: ['x'] }, { stop: { 0: 'x' } }],
    ['a field that is null and one that is missing', { stop: null }, {}],
    ['nested and flat', { a: { b: 1 } }, { a: 1, b: 1 }],
    ['two dates', { at: new Date(0) }, { at: new Date(1) }],
    ['two addresses', { image: new URL('https://a.example/1') }, { image: new URL('https://a.example/2') }],
    ['text that looks like structure', { a: '","b":"' }, { a: '', b: '' }],
  ])('tells apart %s', (_, one, other) => {
    expect(keyOf(one)).not.toBe(keyOf(other));
  });

  it('takes a field that is undefined for missing, as the wire does', () => {
    expect(keyOf({ stop: undefined, seed: 1 })).toBe(keyOf({ seed: 1 }));
  });

  it.each([
    ['last character', `${'x'.repeat(5_000)}a`, `${'x'.repeat(5_000)}b`],
    ['length', 'x'.repeat(5_000), 'x'.repeat(5_001)],
    ['half of a surrogate pair', `${'x'.repeat(5_000)}\ud800`, `${'x'.repeat(5_000)}\ud801`],
    ['half in place of its replacement', `${'x'.repeat(5_000)}\ud800`, `${'x'.repeat(5_000)}\ufffd`],
  ])('tells long texts apart by their %s', (_, one, other) => {
    expect(keyOf({ prompt: one })).not.toBe(keyOf({ prompt: other }));
    expect(keyOf({ prompt: one })).toBe(keyOf({ prompt: `${one}` }));
    expect(keyOf({ [one]: 1 })).not.toBe(keyOf({ [other]: 1 }));
  });

  it('lists no more names than it may write values, however they lie in one another', () => {
    let listings = 0;
    const counted = (value: object) => new Proxy(value, { ownKeys: (target) => (++listings ? Reflect.ownKeys(target) : []) });
    let body: object = { a: 1 };
    for (let level = 0; level < 20; level++) body = counted({ ...wide(2_000), a: body });

    expect(keyOf(body)).toBeUndefined();
    expect(listings).toBeLessThan(7);
  });

  it('takes what says what it is for what it says', () => {
    expect(keyOf({ at: new Date(0) })).toBe(keyOf({ at: '1970-01-01T00:00:00.000Z' }));
  });

  it('depends on the resolved model and not on its spelling in the body', () => {
    expect(keyOf({ model: 'gpt-4o-2024-08-06' })).toBe(keyOf({ model: 'gpt-4o' }));
    expect(keyOf({ model: 'gpt-4o' }, { requestedModel: 'gpt-4o-mini' })).not.toBe(keyOf({ model: 'gpt-4o' }));
  });

  it('depends on the place and on the dialect', () => {
    const keys = [
      keyOf({}),
      keyOf({}, { visit: visitOf({ place: 'mount:chat' }) }),
      keyOf({}, { dialect: { ...openaiChat, name: 'other' } }),
    ];

    expect(new Set(keys).size).toBe(3);
  });

  it.each([...IMMATERIAL, 'model'])('depends on %s in a shape of the application, where it may mean anything', (field) => {
    const own = { dialect: { ...openaiChat, name: 'my-chat' } };

    expect(keyOf({ message: 'hi', [field]: 'a' }, own)).not.toBe(keyOf({ message: 'hi', [field]: 'b' }, own));
  });

  it.each([
    ['a body that is no object', { body: 'text' }],
    ['a list', { body: [] }],
    ['no body', { body: null }],
    ['a call that nobody could read', { draft: undefined }],
    ['a call without a dialect', { dialect: undefined }],
    ['a body that is nested deeper than 64 levels', { body: { messages: nested(64) } }],
    ['a list of more than 10,000 values', { body: { messages: Array(10_001).fill(1) } }],
    ['more than 10,000 values in lists that are each short', { body: { messages: Array(101).fill(Array(100).fill(1)) } }],
    ['more than 10,000 fields', { body: wide(10_001) }],
    ['an object of more than 10,000 names', { body: { extra: wide(10_001) } }],
    ['a text of more than 4 Mi characters', { body: { prompt: 'x'.repeat(4_194_305) } }],
    ['texts of more than 4 Mi characters together', { body: { prompt: Array(5).fill('x'.repeat(1_000_000)) } }],
    ['a prompt of more than a million tokens', { inputTokens: 1_000_001 }],
  ])('is none for %s', (_, call) => {
    expect(cacheKey(callOf(call), 'everyone')).toBeUndefined();
  });

  it.each([
    ['a list of nearly 10,000 values', { body: { messages: Array(9_990).fill(1) } }],
    ['nearly 10,000 fields', { body: wide(9_990) }],
    ['texts of nearly 4 Mi characters together', { body: { prompt: Array(4).fill('x'.repeat(1_000_000)) } }],
    ['a prompt of a million tokens', { inputTokens: 1_000_000 }],
  ])('is one for %s', (_, call) => {
    expect(cacheKey(callOf(call), 'everyone')).toMatch(/^[\w-]{43}$/);
  });

  it('is one for a body of 64 levels', () => {
    expect(keyOf({ messages: nested(63) })).toMatch(/^[\w-]{43}$/);
  });
});

describe('partitions', () => {
  const key = fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom('*', '","', ']]', 'user', '\ud800', '\ud801', '\ufffd'));
  const scopes = ['organization', 'user'];
  const identity = fc.record({ user: key, organization: key }, { requiredKeys: [] });
  const inside = (of: Readonly<Record<string, string>>) => callOf({ visit: visitOf({ identity: of, scopes }) });
  const anyPartition = fc.constantFrom('identity', 'user', 'organization', 'everyone');

  it('never cross: two callers share a key only when their keys of the partition are the same', () => {
    fc.assert(
      fc.property(identity, identity, anyPartition, (one, other, partition) => {
        const [first, second] = [cacheKey(inside(one), partition), cacheKey(inside(other), partition)];
        const names = partition === 'identity' ? scopes : partition === 'everyone' ? [] : [partition];
        const isSame = names.every((scope) => one[scope as 'user'] === other[scope as 'user']);
        const isComplete = names.every((scope) => one[scope as 'user'] !== undefined);

        expect(first !== undefined && first === second).toBe(isSame && isComplete);
      }),
      { numRuns: 1_000 },
    );
  });

  it('never cross one another: the same caller has another key in each', () => {
    const call = inside({ user: 'ann', organization: 'ann' });
    const keys = ['identity', 'user', 'organization', 'everyone'].map((partition) => cacheKey(call, partition));

    expect(new Set(keys).size).toBe(4);
  });

  it('are none where a key is missing, or where there is no scope at all', () => {
    expect(partitionOf(inside({ user: 'ann' }), 'identity')).toBeUndefined();
    expect(partitionOf(inside({ user: 'ann' }), 'organization')).toBeUndefined();
    expect(partitionOf(callOf({ visit: visitOf({ identity: {}, scopes: [] }) }), 'identity')).toBeUndefined();
    expect(partitionOf(inside({ user: 'ann' }), 'user')).toBeDefined();
  });
});

function nested(levels: number): unknown {
  let value: unknown = 'deep';
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

/** JSON with sorted names, by another way than the one under test: sorted before it is written. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? 0 : value;
  const names = Object.keys(value).sort();
  return names.map((field) => [field, sorted((value as Record<string, unknown>)[field]), 'entry']).concat([['object']]);
}

function leaves(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return path.length > 0 ? [path] : [];
  return Object.entries(value).flatMap(([field, item]) => leaves(item, [...path, field]));
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce((at, field) => Object.getOwnPropertyDescriptor(at, field)?.value, value);
}

function withValue(value: unknown, [field, ...rest]: readonly string[], leaf: unknown): unknown {
  if (field === undefined) return leaf;
  const changed = ([of, item]: [string, unknown]) => [of, of === field ? withValue(item, rest, leaf) : item] as const;
  const entries = Object.entries(value as object).map(changed);
  return Array.isArray(value) ? entries.map(([, item]) => item) : toObject(entries);
}
