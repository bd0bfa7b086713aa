import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonText } from '../../src/tokens/json-text.js';

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
