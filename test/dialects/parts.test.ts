import { describe, expect, it } from 'vitest';
import { base64Length, createLeft, readMessages, readParts } from '../../src/dialects/parts.js';

const words = (value: unknown) => [{ kind: 'text', text: String(value) }] as const;

describe('readMessages', () => {
  it('reads each message in its order, and passes over what is none', () => {
    const sections = readMessages([{ role: 'a' }, null, 'text', [], { role: 'b' }], createLeft(), ({ role }) => ({
      kind: 'message',
      role: role as string,
      parts: [],
    }));

    expect(sections.map(({ role }) => role)).toEqual(['a', 'b']);
  });

  it('counts as JSON what comes when too much was read', () => {
    const messages = [{ role: 'a' }, { role: 'b' }, { role: 'c' }];

    expect(readMessages(messages, { ...createLeft(), parts: 1 }, () => ({ kind: 'message', role: 'read', parts: [] }))).toEqual([
      { kind: 'message', role: 'read', parts: [] },
      { kind: 'message', parts: [{ kind: 'json', value: messages.slice(1) }] },
    ]);
  });
});

describe('readParts', () => {
  it('shares what may be read with all lists of a body, one inside another', () => {
    const left = { ...createLeft(), parts: 4 };

    const first = readParts(['a', ['b', 'c']], left, (value, inner) =>
      Array.isArray(value) ? readParts(value, inner, words) : words(value),
    );
    const second = readParts(['d', 'e'], left, words);

    expect(first).toEqual([...words('a'), ...words('b'), ...words('c')]);
    expect(second).toEqual([{ kind: 'json', value: ['d', 'e'] }]);
  });

  it('reads 4,096 of one body', () => {
    const parts = readParts(
      Array.from({ length: 4_098 }, (_, at) => at),
      createLeft(),
      words,
    );

    expect(parts).toHaveLength(4_097);
    expect(parts.at(-1)).toEqual({ kind: 'json', value: [4_096, 4_097] });
  });
});

describe('base64Length', () => {
  it.each([
    ['x'.repeat(100), 100],
    [`data:application/pdf;base64,${'x'.repeat(100)}`, 100],
    ['data:', 5],
    ['', 0],
    [undefined, 0],
    [[1, 2], 0],
  ])('of %j is %i', (data, length) => {
    expect(base64Length(data)).toBe(length);
  });
});
