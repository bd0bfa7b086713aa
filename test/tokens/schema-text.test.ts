import { describe, expect, it } from 'vitest';
import { shownSchema } from '../../src/tokens/schema-text.js';

describe('of a schema', () => {
  it('what the provider sees to is not shown, at any depth', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'array', items: { type: 'object', required: ['x'], additionalProperties: false } } },
      required: ['a'],
      additionalProperties: false,
    };

    expect(JSON.stringify(shownSchema(schema))).toBe(
      '{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}}}',
    );
  });

  it('members of those names are shown', () => {
    const schema = {
      properties: { required: { type: 'string' }, __proto__: null },
      $defs: { additionalProperties: { required: [] } },
    };

    expect(JSON.stringify(shownSchema(schema))).toBe(
      '{"properties":{"required":{"type":"string"}},"$defs":{"additionalProperties":{}}}',
    );
  });

  it('too much, and what is no schema, is left as it is', () => {
    const many = Array.from({ length: 10_000 }, () => ({ required: [] }));
    const wide = Object.fromEntries(many.map((value, index) => [`a${index}`, value]));

    expect(shownSchema(many)).toBe(many);
    expect(shownSchema(wide)).toBe(wide);
    for (const value of [null, 7, 'x', undefined]) expect(shownSchema(value)).toBe(value);
  });

  it('however deep it is, nothing overflows', () => {
    let deep: unknown = {};
    for (let level = 0; level < 100_000; level++) deep = { items: deep };

    expect(() => shownSchema(deep)).not.toThrow();
  });
});
