import { describe, expect, it } from 'vitest';
import { createBoundedMap } from '../../src/cache/bounded-map.js';

const ofText = (maxBytes: number) => createBoundedMap<string>({ maxBytes, sizeOf: (value) => value.length });

describe('createBoundedMap', () => {
  it('gives back what was set, in place of an earlier value of the key', () => {
    const map = ofText(100);

    map.set('a', 'first');
    map.set('a', 'second');

    expect(map.get('a')).toBe('second');
    expect(map.get('b')).toBeUndefined();
    expect([map.size, map.bytes]).toEqual([1, 6]);
  });

  it('lists its values, which stay and keep their turn to be forgotten', () => {
    const map = ofText(6);
    map.set('a', 'one');
    map.set('b', 'two');

    expect([...map.values()].sort()).toEqual(['one', 'two']);
    map.set('c', 'new');

    expect([...map.values()].sort()).toEqual(['new', 'two']);
  });

  it('forgets what has been unused for longest when the entries pass the bound', () => {
    const map = ofText(30);

    map.set('a', 'x'.repeat(10));
    map.set('b', 'x'.repeat(10));
    map.set('c', 'x'.repeat(10));
    map.get('a');
    map.set('d', 'x'.repeat(10));

    expect(['a', 'b', 'c', 'd'].filter((key) => map.get(key) !== undefined)).toEqual(['a', 'c', 'd']);
    expect(map.bytes).toBe(30);
  });

  it('does not keep a value larger than the whole map, nor the one it was to replace', () => {
    const map = ofText(30);
    map.set('a', 'small');
    map.set('b', 'other');

    map.set('a', 'x'.repeat(31));

    expect(map.get('a')).toBeUndefined();
    expect(map.get('b')).toBe('other');
    expect(map.bytes).toBe(5);
  });

  it('bounds the number of empty values too', () => {
    const map = ofText(10);

    for (let i = 0; i < 1_000; i++) map.set(`key ${i}`, '');

    expect(map.size).toBe(10);
  });

  it.each([[Number.NaN], [-5], [0.2]])('takes a size of %s as 1 byte', (size) => {
    const map = createBoundedMap<string>({ maxBytes: 3, sizeOf: () => size });

    for (const key of ['a', 'b', 'c', 'd']) map.set(key, key);

    expect([map.size, map.bytes]).toEqual([3, 3]);
  });

  it('knows the key of what it measures', () => {
    const map = createBoundedMap<number>({ maxBytes: 10, sizeOf: (_, key) => key.length });

    map.set('12345678', 1);
    map.set('123', 2);

    expect([map.get('12345678'), map.get('123')]).toEqual([undefined, 2]);
  });

  it('forgets a key, or all of them, when told', () => {
    const map = ofText(100);
    for (const key of ['a', 'b', 'c']) map.set(key, 'value');

    map.delete('b');
    const left = map.size;
    map.clear();

    expect(left).toBe(2);
    expect([map.size, map.bytes]).toEqual([0, 0]);
  });
});
