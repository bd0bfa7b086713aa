import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodiesOf, type FoundBody } from '../../src/cli/bodies.js';

async function found(
  text: string | Uint8Array,
  { chunk = 7, most }: { chunk?: number; most?: number } = {},
): Promise<FoundBody[]> {
  const bytes = Buffer.from(text);
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk);
  }
  const bodies: FoundBody[] = [];
  for await (const body of bodiesOf(chunks(), most)) bodies.push(body);
  return bodies;
}

describe('bodies of a file', () => {
  it.each<[string, string, FoundBody[]]>([
    [
      'one a line',
      '{"a":1}\n{"a":2}\n',
      [
        { line: 1, body: { a: 1 } },
        { line: 2, body: { a: 2 } },
      ],
    ],
    [
      'the last without an end',
      '{"a":1}\n{"a":2}',
      [
        { line: 1, body: { a: 1 } },
        { line: 2, body: { a: 2 } },
      ],
    ],
    [
      'between blank lines',
      '\n  \n{"a":1}\n\n\n{"a":2}\n\n',
      [
        { line: 3, body: { a: 1 } },
        { line: 6, body: { a: 2 } },
      ],
    ],
    [
      'lines that end in CRLF',
      '{"a":1}\r\n{"a":2}\r\n',
      [
        { line: 1, body: { a: 1 } },
        { line: 2, body: { a: 2 } },
      ],
    ],
    ['a mark of the byte order', '\ufeff{"a":1}\n', [{ line: 1, body: { a: 1 } }]],
    ['one over many lines', '\n{\n  "a": [\n    "}"\n  ]\n}\n', [{ line: 2, body: { a: ['}'] } }]],
    ['characters of several bytes', '{"a":"日本語 😀"}\n', [{ line: 1, body: { a: '日本語 😀' } }]],
    [
      'marks inside of texts',
      '{"a":"{[\\"{"}\n{"a":2}\n',
      [
        { line: 1, body: { a: '{["{' } },
        { line: 2, body: { a: 2 } },
      ],
    ],
    [
      'values that are no bodies',
      '[]\n7\n',
      [
        { line: 1, body: [] },
        { line: 2, body: 7 },
      ],
    ],
    ['nothing', '', []],
    ['nothing but blanks', ' \n\n', []],
  ])('are found: %s', async (_, text, expected) => {
    for (const chunk of [1, 2, 7, 1_000]) expect(await found(text, { chunk })).toEqual(expected);
  });

  it('go on behind a line that is none', async () => {
    const bodies = await found('{"a":1}\n{"secret\n{"a":3}\n');

    expect(bodies).toMatchObject([{ line: 1 }, { line: 2, fault: 'is no JSON' }, { line: 3, body: { a: 3 } }]);
    expect(JSON.stringify(bodies)).not.toContain('secret');
  });

  it('tell the line where one over many is broken', async () => {
    expect(await found('{\n "a": 1,\n "b": [1 2]\n}\n')).toMatchObject([{ line: 3, fault: 'is no JSON' }]);
  });

  it('are not read when they nest too deep or have too many names', async () => {
    const wide = `{${Array.from({ length: 100_001 }, (_, at) => `"${at}":1`).join()}}`;

    expect(await found(`${'['.repeat(70)}${']'.repeat(70)}\n${wide}\n{"a":1}`, { chunk: 65_536 })).toMatchObject([
      { line: 1, fault: expect.stringContaining('deeper'), mend: 'send flatter JSON' },
      { line: 2, fault: expect.stringContaining('names'), mend: 'send fewer' },
      { line: 3, body: { a: 1 } },
    ]);
  });

  it('are not held beyond the bound, on one line or on many', async () => {
    const long = `"${'x'.repeat(100)}"`;

    expect(await found(`${long}\n{"a":1}\n`, { most: 50 })).toMatchObject([
      { line: 1, fault: 'is longer than 50 bytes' },
      { line: 2, body: { a: 1 } },
    ]);
    expect(await found(`{"a":\n${long}\n}`, { most: 50 })).toMatchObject([{ line: 1, fault: 'is longer than 50 bytes' }]);
    expect(await found(`{"a":\n${'1\n'.repeat(40)}}`, { most: 50 })).toMatchObject([
      { line: 1, fault: 'is longer than 50 bytes' },
    ]);
  });

  it('may take very many lines', async () => {
    const list = Array.from({ length: 20_000 }, (_, at) => at);

    expect(await found(JSON.stringify({ list }, undefined, 1), { chunk: 4_096 })).toEqual([{ line: 1, body: { list } }]);
  });

  it('are the same however they are written and cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.object({ maxDepth: 3 }), { minLength: 1 }),
        fc.integer({ min: 1, max: 64 }),
        async (bodies, chunk) => {
          const lines = bodies.map((body) => JSON.stringify(body));

          expect(
            (await found(lines.join('\n'), { chunk })).map((one) => ('body' in one ? JSON.stringify(one.body) : one)),
          ).toEqual(lines);
        },
      ),
    );
  });
});
