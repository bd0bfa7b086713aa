import fc from 'fast-check';

/** Values that no reader of bodies may trust, break on or loop over. */
export const JUNK: Readonly<Record<string, unknown>> = {
  nothing: undefined,
  null: null,
  true: true,
  zero: 0,
  'a negative number': -1,
  'a huge number': 1e308,
  'not a number': Number.NaN,
  'empty text': '',
  'a number as text': '9',
  'long text': 'x'.repeat(10_000),
  'a lone surrogate': '\ud800',
  'an empty list': [],
  'a mixed list': [null, [], {}, 'x', 7],
  'an empty object': {},
  'names of built-in members': JSON.parse(
    '{"__proto__":{"model":"x"},"constructor":{"prototype":[]},"toString":1,"hasOwnProperty":null}',
  ),
};

/** What `JSON.parse` gives and `JSON.stringify` cannot write. */
export const DEEP: Readonly<Record<string, unknown>> = {
  'lists nested 10,000 deep': deep(10_000, (inner) => [inner]),
  'objects nested 10,000 deep': deep(10_000, (inner) => ({ content: inner, function: inner, parts: inner })),
};
export const HOSTILE = { ...JUNK, ...DEEP };

/** Any JSON value, with names that formats use among its names. */
export const anyJson = fc.oneof(
  fc.constantFrom(...Object.values(JUNK)),
  fc.jsonValue({ maxDepth: 5 }),
  fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<unknown>(null, 1, -1, 'text', 'stop', true, [], {}),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(
        fc.constantFrom(
          'choices',
          'message',
          'delta',
          'content',
          'usage',
          'model',
          'error',
          'tool_calls',
          'function',
          'index',
          '__proto__',
        ),
        tie('value'),
        { maxKeys: 4 },
      ),
    ),
  })).value,
);

/** The body with `value` in place of each of its members, two levels deep. */
export function spoiled(body: Record<string, unknown>, value: unknown): unknown[] {
  return Object.entries(body).flatMap(([name, member]) => {
    const outer = [{ ...body, [name]: value }];
    if (typeof member !== 'object' || member === null) return outer;
    if (Array.isArray(member))
      return [
        ...outer,
        { ...body, [name]: [value, ...member] },
        ...member.flatMap((item, at) =>
          typeof item === 'object' && item !== null
            ? spoiled(item as Record<string, unknown>, value).map((bad) => ({ ...body, [name]: member.with(at, bad) }))
            : [],
        ),
      ];
    return [...outer, ...Object.keys(member).map((inner) => ({ ...body, [name]: { ...member, [inner]: value } }))];
  });
}

function deep(depth: number, around: (inner: unknown) => unknown): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = around(value);
  return value;
}
