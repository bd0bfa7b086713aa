import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createJsonLeft, jsonText } from '../../src/tokens/json-text.js';

describe('jsonText', () => {
  it('writes any JSON as JSON.stringify does', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }), (value) => {
        expect(jsonText(value)).toEqual({ text: JSON.stringify(value), restLength: 0 });
      }),
    );
  });

  it('writes members by any name, built-in ones too', () => {
    const value = JSON.parse('{"__proto__":[1],"constructor":null,"toJSON":"x","":2}');

    expect(jsonText(value).text).toBe('{"__proto__":[1],"constructor":null,"toJSON":"x","":2}');
  });

  it('writes null for what JSON cannot say', () => {
    expect(jsonText([undefined, () => 1, Symbol('x'), Number.NaN, 1n]).text).toBe('[null,null,null,null,1]');
    expect(jsonText(undefined).text).toBe('null');
  });

  it.each([
    ['lists', (inner: unknown) => [inner], '['],
    ['objects', (inner: unknown) => ({ a: inner }), '{"a":'],
  ] as const)('writes %s nested 10,000 deep, which overflow the stack of JSON.stringify', (_, around, open) => {
    let value: unknown = 1;
    for (let level = 0; level < 10_000; level++) value = around(value);

    const { text, restLength } = jsonText(value);

    expect(() => JSON.stringify(value)).toThrow(RangeError);
    expect(text.startsWith(open.repeat(100))).toBe(true);
    expect(text.length).toBe(10_000 * (open.length + 1) + 1);
    expect(restLength).toBe(0);
  });

  it('comes to an end on what contains itself', () => {
    const value: Record<string, unknown> = {};
    value.self = value;

    expect(jsonText(value).text.length).toBeLessThan(1_000_000);
  });

  it('stops writing large values and tells what the rest would probably take', () => {
    const value = { list: Array.from({ length: 400_000 }, () => 'abc'), also: [1, 2] };

    const { text, restLength } = jsonText(value);

    const whole = JSON.stringify(value).length;
    expect(text.length).toBeLessThan(whole / 4);
    expect((text.length + restLength) / whole).toBeGreaterThan(0.99);
    expect(restLength + text.length).toBeLessThan(2 * whole);
  });

  it.each([
    ['a string', (long: string) => ({ first: long, next: [1, 2, 'three'] })],
    ['a key', (long: string) => ({ [long]: 1, next: [1, 2, 'three'] })],
    ['many strings', (long: string) => Array.from({ length: 20 }, () => long)],
  ] as const)('cuts %s of millions of characters short, writes what follows and tells what is missing', (_, around) => {
    const value = around('x'.repeat(2_000_000));

    const { text, restLength } = jsonText(value);

    expect(text.length).toBeLessThan(600_000);
    expect(text.length + restLength).toBe(JSON.stringify(value).length);
  });

  it('cuts nothing of half a million characters', () => {
    const value = { text: '"'.repeat(200_000), also: 'é'.repeat(100_000) };

    expect(jsonText(value)).toEqual({ text: JSON.stringify(value), restLength: 0 });
  });
});

/** Counts the members of its own that are looked at, and how often its names are listed. */
function watched<T extends object>(value: T) {
  const seen = { members: 0, listings: 0 };
  const proxy = new Proxy(value, {
    get(target, name) {
      if (name !== 'length') seen.members++;
      return Reflect.get(target, name);
    },
    ownKeys(target) {
      seen.listings++;
      return Reflect.ownKeys(target);
    },
  });
  return { proxy, seen };
}

describe('the texts of one body', () => {
  const item = { type: 'x', text: 'hi' };
  const lengthOf = (values: readonly unknown[]) => {
    const left = createJsonLeft(values.length);
    return values.map((value) => jsonText(value, left)).reduce((sum, { text, restLength }) => sum + text.length + restLength, 0);
  };

  it('share what may be written', () => {
    const lists = Array.from({ length: 100 }, () => watched(Array.from({ length: 10_000 }, () => 1)));
    const left = createJsonLeft(lists.length);

    for (const { proxy } of lists) jsonText(proxy, left);

    const looks = lists.map(({ seen }) => seen.members);
    expect(looks.reduce((sum, members) => sum + members, 0)).toBeLessThan(13_000);
    expect(Math.min(...looks)).toBeGreaterThan(30);
  });

  it('are whole when they are as large as bodies are, whichever comes first', () => {
    const values = [Array.from({ length: 5_000 }, () => 1), ...Array.from({ length: 60 }, () => item)];

    expect(lengthOf(values)).toBe(values.reduce((sum: number, value) => sum + JSON.stringify(value).length, 0));
  });

  it('list no further objects once tens of thousands of names were listed', () => {
    const wide = () => watched(Object.fromEntries(Array.from({ length: 30_000 }, (_, at) => [`key${at}`, at])));
    const objects = [wide(), wide(), wide()];
    const left = createJsonLeft(3);

    const lengths = objects.map(({ proxy }) => jsonText(proxy, left)).map(({ text, restLength }) => text.length + restLength);

    expect(objects.map(({ seen }) => seen.listings)).toEqual([1, 0, 0]);
    expect(Math.min(...lengths) / JSON.stringify(objects[0]?.proxy).length).toBeGreaterThan(0.8);
  });

  it('are taken from all over a list that is too long', () => {
    const list = [...Array<string>(50_000).fill(''), ...Array<string>(50_000).fill('long, long')];

    expect(lengthOf([list]) / JSON.stringify(list).length).toBeCloseTo(1, 1);
  });

  it.each<[string, readonly unknown[]]>([
    ['a wide object', [[Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`key${at}`, at]))]]],
    ['thousands of small ones and a long list of the same', [...Array(4_096).fill(item), Array(40_000).fill(item)]],
    ['thousands of empty ones and a long list', [...Array(4_096).fill({}), Array(40_000).fill({})]],
  ])('are never free: %s', (_, values) => {
    const real = values.reduce((sum: number, value) => sum + JSON.stringify(value).length, 0);

    expect(lengthOf(values) / real).toBeGreaterThan(0.6);
    expect(lengthOf(values) / real).toBeLessThan(2);
  });
});
