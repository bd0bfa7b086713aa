import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SpillwayError } from '../src/errors.js';
import { encodeKey, hashKey, readIdentity } from '../src/identity.js';

const scopes = [
  { name: 'global', optional: false },
  { name: 'organization', optional: true },
  { name: 'user', optional: false },
];

describe('readIdentity', () => {
  it('normalises keys to strings', () => {
    expect(readIdentity({ user: 42, organization: 7n }, scopes).identity).toEqual({ user: '42', organization: '7' });
    expect(readIdentity({ user: 'ada' }, scopes).identity).toEqual({ user: 'ada' });
  });

  it.each([[undefined], [null], [{}], [{ user: undefined }], [{ user: null, organization: undefined }]])(
    'takes %j as nobody, and lists scopes that need a key',
    (given) => {
      const { identity, missing } = readIdentity(given, scopes);

      expect(Object.keys(identity)).toEqual([]);
      expect(missing).toEqual(['user']);
    },
  );

  it('misses nothing when every scope that needs a key has one', () => {
    expect(readIdentity({ user: 0 }, scopes).missing).toEqual([]);
  });

  it('gives a frozen identity that inherits nothing and survives JSON', () => {
    const { identity } = readIdentity({ user: 'ada' }, scopes);

    expect(Object.isFrozen(identity)).toBe(true);
    expect(['constructor', 'toString', '__proto__'].filter((name) => name in identity)).toEqual([]);
    expect(JSON.parse(JSON.stringify(identity))).toEqual({ user: 'ada' });
  });

  it('reads own keys only', () => {
    expect(readIdentity(Object.create({ user: 'inherited' }), scopes).missing).toEqual(['user']);
    expect(readIdentity({}, [{ name: 'constructor', optional: false }]).missing).toEqual(['constructor']);
  });

  it('takes an empty string for nobody, as frameworks give it for a header that is missing', () => {
    expect(readIdentity({ user: '' }, [{ name: 'user', optional: false }])).toMatchObject({ identity: {}, missing: ['user'] });
  });

  it('remembers a key longer than 512 characters by its hash, and keeps two of them apart', () => {
    const long = (end: string) =>
      readIdentity({ user: 'x'.repeat(1_000_000) + end }, [{ name: 'user', optional: false }]).identity.user;

    expect(long('a')?.length).toBeLessThan(100);
    expect(long('a')).not.toBe(long('b'));
  });

  const mend = 'return a non-empty string, a finite number or a bigint, or undefined when there is none';
  const bad: readonly (readonly [unknown, string])[] = [
    [{ user: Number.NaN }, `identify gave NaN as the key of the scope user; ${mend}`],
    [{ user: Infinity }, `identify gave Infinity as the key of the scope user; ${mend}`],
    [{ user: true }, `identify gave true as the key of the scope user; ${mend}`],
    [{ user: { id: 1 } }, `identify gave an object as the key of the scope user; ${mend}`],
    [{ user: ['a'] }, `identify gave a list as the key of the scope user; ${mend}`],
    [{ user: Symbol('a') }, `identify gave a symbol as the key of the scope user; ${mend}`],
    [{ user: () => 'a' }, `identify gave a function as the key of the scope user; ${mend}`],
    [
      { user: Promise.resolve('a') },
      'identify gave a promise as the key of the scope user; await it, or undefined when there is none',
    ],
    [{ usr: 'a' }, 'identify named the scope "usr", which is not configured; did you mean user?'],
    [
      { user: 'a', tenant: undefined },
      'identify named the scope "tenant", which is not configured; known are organization and user',
    ],
    [
      JSON.parse('{ "__proto__": "a" }'),
      'identify named the scope "__proto__", which is not configured; known are organization and user',
    ],
    [{ global: 'a', user: 'a' }, 'identify named the scope global, which has one key for everybody; leave it out'],
    ['ada', 'identify must return an object from scope to key, got a string; return one like { user: req.user.id }'],
    [['ada'], 'identify must return an object from scope to key, got a list; return one like { user: req.user.id }'],
    [
      new Map([['user', 'ada']]),
      'identify must return an object from scope to key, got a Map; return one like { user: req.user.id }',
    ],
  ];
  it.each(bad.map(([given, message]) => ({ given, message })))('says $message', ({ given, message }) => {
    let thrown: unknown;
    try {
      readIdentity(given, scopes);
    } catch (error) {
      thrown = error;
    }

    expect(SpillwayError.is(thrown)).toBe(true);
    expect(thrown).toMatchObject({ code: 'SPILLWAY_BAD_IDENTITY', status: 500, expose: false, message });
  });

  it('says so when no scope is configured at all', () => {
    expect(() => readIdentity({ user: 'a' }, [])).toThrow(
      'identify named the scope "user", which is not configured; none is configured',
    );
  });

  it('reads anything, or throws a SpillwayError that never repeats a key', () => {
    const key = fc.oneof(fc.anything(), fc.constant('secret-key'));
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.dictionary(fc.constantFrom('user', 'organization', 'other'), key)), (given) => {
        try {
          for (const value of Object.values(readIdentity(given, scopes).identity)) expect(value).not.toBe('');
        } catch (error) {
          if (!SpillwayError.is(error)) throw error;
          expect(error.message).not.toContain('secret-key');
        }
      }),
    );
  });
});

describe('encodeKey', () => {
  const hash = (key: string) => `#${createHash('sha256').update(Buffer.from(key, 'utf16le')).digest('base64url')}`;

  it.each<[string, string]>([
    ['42', '42'],
    ['ada@example.org', 'ada@example.org'],
    ['org:a/b+c=d~e_f-g.h', 'org:a/b+c=d~e_f-g.h'],
    ['a'.repeat(64), 'a'.repeat(64)],
    ['', '%'],
    ['%', '%25'],
    ['#', '%23'],
    ['auth0|7', 'auth0%7C7'],
    ['{x} ', '%7Bx%7D%20'],
    ['\n\u0000', '%0A%00'],
    ['é', '%E9'],
    ['я', '%u044F'],
    ['\ud83d\ude00', '%uD83D%uDE00'],
    ['\ud800', '%uD800'],
    ['a'.repeat(65), hash('a'.repeat(65))],
    ['я'.repeat(11), hash('я'.repeat(11))],
  ])('encodes %j', (key, encoded) => {
    expect(encodeKey(key)).toBe(encoded);
  });

  const odd = fc.constantFrom(
    'a',
    'A',
    '0',
    '%',
    '#',
    'u',
    '|',
    '{',
    '}',
    ' ',
    ',',
    ';',
    '\u007f',
    '\u0085',
    'é',
    'я',
    '\ud800',
    '\udc00',
    '\ufffd',
  );
  const keys = fc.oneof(
    fc.array(odd, { maxLength: 12 }).map((units) => units.join('')),
    fc.array(odd, { minLength: 60, maxLength: 70 }).map((units) => units.join('')),
    fc.string({ unit: 'binary', maxLength: 80 }),
  );

  it('writes at most 64 characters of printable ASCII without anything that parts counters', () => {
    fc.assert(
      fc.property(keys, (key) => {
        expect(encodeKey(key)).toMatch(/^[!-z~]{1,64}$/);
        expect(encodeKey(key)).not.toMatch(/[\s|{},;]/);
      }),
      { numRuns: 3_000 },
    );
  });

  it('is injective, over lone surrogates, encoded and hashed forms too', () => {
    fc.assert(
      fc.property(keys, keys, (one, two) => {
        expect(encodeKey(one) === encodeKey(two)).toBe(one === two);
        // An encoded key given as a key is another key.
        if (encodeKey(one) !== one) expect(encodeKey(encodeKey(one))).not.toBe(encodeKey(one));
      }),
      { numRuns: 3_000 },
    );
    expect(encodeKey(`${'a'.repeat(80)}\ud800`)).not.toBe(encodeKey(`${'a'.repeat(80)}\udc00`));
  });
});

describe('hashKey', () => {
  it('gives the first 12 hex digits of the SHA-256, every time', () => {
    const expected = createHash('sha256').update('user-1').digest('hex').slice(0, 12);

    expect([hashKey('user-1'), hashKey('user-1')]).toEqual([expected, expected]);
  });

  it('still tells keys apart when there are more than it remembers', () => {
    const hashes = new Set(Array.from({ length: 3_000 }, (_, index) => hashKey(`key-${index}`)));

    expect(hashes.size).toBe(3_000);
    expect(hashKey('key-0')).toBe(createHash('sha256').update('key-0').digest('hex').slice(0, 12));
  });
});
