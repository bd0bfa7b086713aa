import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkCopyable, checkShape, DEEPEST_BODY, MOST_COPIED_NAMES, MOST_NAMES, namesWithin } from '../src/json-shape.js';

const nested = (levels: number, inside = '') => `${'['.repeat(levels)}${inside}${']'.repeat(levels)}`;

/** Text and bytes are looked at alike. */
describe.each([
  ['text', (json: string) => checkShape(json)],
  ['bytes', (json: string) => checkShape(Buffer.from(json))],
])('the shape of JSON as %s', (_kind, check) => {
  it('may have 100,000 names, in any number of objects, and no more', () => {
    const names = (count: number) => `[${'{"a:":0},'.repeat(count - 1)}{"a":":::"}]`;

    expect(() => check(names(MOST_NAMES))).not.toThrow();
    expect(() => check(names(MOST_NAMES + 1))).toThrow(
      expect.objectContaining({ code: 'SPILLWAY_BODY_TOO_WIDE', status: 400, expose: true }),
    );
  });

  it.each([
    ['nothing', ''],
    ['the deepest nesting that is allowed', nested(64)],
    ['much of it side by side', `[${'[[]],{"a":{}},'.repeat(10_000)}0]`],
    ['brackets in a text', `["${'[{'.repeat(1_000)}"]`],
    ['brackets in a name', `{"${'[{'.repeat(1_000)}":0}`],
    ['brackets after an escaped quote', `["\\"${'['.repeat(1_000)}"]`],
    ['brackets in a text that never ends', `["${'['.repeat(1_000)}`],
    ['more closed than opened', ']'.repeat(1_000) + nested(64)],
  ])('lets pass: %s', (_, text) => {
    expect(() => check(text)).not.toThrow();
  });

  it.each([
    ['one level more', nested(65)],
    ['objects', '{"a":'.repeat(65)],
    ['both in turn', '[{"a":'.repeat(33)],
    ['levels after a text that ends in a backslash', `["\\\\",${nested(64)}]`],
    ['levels after a text with an escaped quote', `["\\"]",${nested(64)}]`],
    ['levels that are never closed', '['.repeat(1_000_000)],
  ])('refuses with 400 what is deeper: %s', (_, text) => {
    expect(() => check(text)).toThrow(expect.objectContaining({ code: 'SPILLWAY_BODY_TOO_DEEP', status: 400, expose: true }));
  });

  it('finds the depth that a parser finds, whatever the texts are', () => {
    const unit = fc.constantFrom('[', ']', '{', '}', '"', '\\', 'é', '\u2028', 'x');
    // Of long ones the end is searched for in another way.
    const texts = fc.oneof(
      fc.string({ unit, maxLength: 12 }),
      fc.tuple(fc.nat({ max: 130 }), fc.string({ unit, maxLength: 70 })).map(([length, text]) => `${'x'.repeat(length)}${text}`),
    );
    const levels = fc.array(fc.record({ isList: fc.boolean(), text: texts, before: fc.boolean() }), {
      minLength: DEEPEST_BODY - 3,
      maxLength: DEEPEST_BODY + 4,
    });

    fc.assert(
      fc.property(levels, (given) => {
        const value = given.reduce<unknown>(
          (inside, { isList, text, before }) =>
            isList
              ? before
                ? [text, inside]
                : [inside, text]
              : before
                ? { [`${text}a`]: text, b: inside }
                : { b: inside, [`${text}a`]: [] },
          'end',
        );
        const isTooDeep = depthOf(value) > DEEPEST_BODY;

        if (isTooDeep) expect(() => check(JSON.stringify(value))).toThrow();
        else expect(() => check(JSON.stringify(value))).not.toThrow();
      }),
    );
  });
});

describe('the names of an object', () => {
  it('are listed once when they are too many, and not remembered otherwise', () => {
    let listings = 0;
    const listed = new Proxy({ a: 1, b: 2 }, { ownKeys: (target) => (++listings ? Reflect.ownKeys(target) : []) });

    expect([namesWithin(listed, 2), namesWithin(listed, 1), namesWithin(listed, 1)]).toEqual([['a', 'b'], undefined, undefined]);
    expect(listings).toBe(2);
    expect(namesWithin(listed, 2)).toEqual(['a', 'b']);
  });
});

describe('an object that is to be copied', () => {
  const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, at]));

  it('may have so many names, and no more', () => {
    expect(() => checkCopyable(named(MOST_COPIED_NAMES))).not.toThrow();
    expect(() => checkCopyable(named(MOST_COPIED_NAMES + 1))).toThrow(
      expect.objectContaining({ code: 'SPILLWAY_BODY_TOO_WIDE', status: 400, expose: true }),
    );
  });
});

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}
