import { expect, it } from 'vitest';
import { textLength } from '../../src/tokens/text-length.js';

it('is that of all texts and calls, and a reserve for what is yet to be written as JSON', () => {
  const sections = [
    { kind: 'message', parts: [{ kind: 'text', text: 'abc' }] },
    {
      kind: 'message',
      parts: [
        { kind: 'tool-call', name: 'ab', arguments: '{}' },
        { kind: 'image', url: 'data:,x' },
      ],
    },
    { kind: 'message', parts: [] },
  ] as const;

  expect(textLength({ sections })).toBe(7);
  expect(textLength({ sections: [...sections, { kind: 'tools', parts: [{ kind: 'json', value: [] }] }] })).toBeGreaterThan(
    10_000,
  );
});
