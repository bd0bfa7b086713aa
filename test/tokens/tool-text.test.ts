import { describe, expect, it } from 'vitest';
import { functionOf, toolText } from '../../src/tokens/tool-text.js';

const shown = (parameters: object, description = '') => toolText([{ name: 'f', description, parameters: parameters as never }]);
/** Between the namespace and its end. */
const body = (parameters: object, description?: string) =>
  shown(parameters, description)?.text.split('\n').slice(2, -2).join('\n');

describe('a tool is a function', () => {
  it.each<[string, unknown, unknown]>([
    ['of chat completions', { type: 'function', function: { name: 'f', description: 'D', parameters: { a: 1 } } }, { a: 1 }],
    ['of responses', { type: 'function', name: 'f', description: 'D', parameters: { a: 1 } }, { a: 1 }],
    ['in the older field', { name: 'f', description: 'D' }, undefined],
  ])('%s', (_, tool, parameters) => {
    expect(functionOf(tool)).toEqual({ name: 'f', description: 'D', parameters });
  });

  it.each([[null], ['f'], [{}], [{ type: 'web_search' }], [{ type: 'custom', name: 'f' }], [{ function: { name: 7 } }], [[]]])(
    'unless it is %j',
    (tool) => {
      expect(functionOf(tool)).toBeUndefined();
    },
  );
});

describe('functions are shown', () => {
  it('in a namespace, one after the other', () => {
    const functions = ['f', 'g'].map((name) => ({ name, description: `Does ${name}.`, parameters: undefined }));

    expect(toolText(functions)?.text).toBe(
      [
        'namespace functions {',
        '',
        '// Does f.',
        'type f = () => any;',
        '',
        '// Does g.',
        'type g = () => any;',
        '',
        '} // namespace functions',
      ].join('\n'),
    );
  });

  it('with their parameters, what is said about them, and which are required', () => {
    const parameters = {
      title: 'Weather',
      properties: {
        city: { type: 'string', title: 'City', description: 'Where.' },
        days: { type: 'integer', default: 3 },
        unit: { enum: ['c', 'f', 7] },
        flag: { type: 'boolean' },
      },
      required: ['city'],
    };

    expect(body(parameters, 'Tells it.')).toBe(
      [
        '// Tells it.',
        '// Weather',
        'type f = (_: {',
        '// City',
        '// Where.',
        'city: string,',
        'days?: number, // default: 3',
        'unit?: "c" | "f" | 7,',
        'flag?: boolean,',
        '}) => any;',
      ].join('\n'),
    );
  });

  it('with lists, objects in objects, alternatives, and what schemas refer to', () => {
    const parameters = {
      properties: {
        tags: { type: 'array', items: { type: 'string' } },
        any: { type: 'array' },
        where: { type: 'object', properties: { x: { type: 'number', description: 'Deep.' } }, required: ['x'] },
        open: { type: 'object' },
        either: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        several: { type: ['string', 'number'] },
        one: { const: 'a' },
        person: { $ref: '#/$defs/Person' },
        lost: { $ref: '#/$defs/Nobody' },
      },
      $defs: { Person: { type: 'object', properties: { name: { type: 'string' } } } },
    };

    expect(body(parameters)?.split('\n').slice(1, -1)).toEqual([
      'tags?: string[],',
      'any?: any[],',
      'where?: {',
      '  // Deep.',
      '  x: number,',
      '},',
      'open?: object,',
      'either?: string | null,',
      'several?: string | number,',
      'one?: "a",',
      'person?: {',
      '  name?: string,',
      '},',
      'lost?: any,',
    ]);
  });

  it('and counted apart where nothing is said about any of their parameters', () => {
    expect(shown({ properties: { a: { type: 'string' } } })?.bareFunctions).toBe(1);
    expect(shown({ properties: { a: { type: 'string', title: 'A' } } })?.bareFunctions).toBe(0);
    expect(shown({})?.bareFunctions).toBe(0);
  });
});

describe('a schema that has no end', () => {
  it('is not written to the end when it refers to itself', () => {
    const endless = { properties: { next: { $ref: '#/$defs/Node' } }, $defs: { Node: {} as object } };
    endless.$defs.Node = { type: 'object', properties: { next: { $ref: '#/$defs/Node' }, other: { $ref: '#/$defs/Node' } } };

    expect(shown(endless)).toBeUndefined();
  });

  it.each([
    ['many members', { properties: Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`m${index}`, {}])) }],
    ['many choices', { properties: { a: { enum: Array.from({ length: 20_000 }, (_, index) => index) } } }],
    ['many alternatives', { properties: { a: { anyOf: Array.from({ length: 20_000 }, () => ({})) } } }],
  ])('nor one of %s', (_, parameters) => {
    expect(shown(parameters)).toBeUndefined();
  });

  it('nor one that is made of odd things', () => {
    const odd = {
      properties: { a: 7, b: null, c: [], d: { type: 9, enum: 'x', items: 3 }, e: { $ref: '#/' }, f: { type: [] } },
      required: 5,
    };

    expect(body(odd)?.split('\n').slice(1, -1)).toEqual(['a?: any,', 'b?: any,', 'c?: any,', 'd?: any,', 'e?: any,', 'f?: any,']);
  });

  it.each<[string, object, object]>([
    ['description', { description: 'x'.repeat(10_000) }, {}],
    ['default', { default: 'x'.repeat(10_000) }, {}],
    ['default of many values', { default: Array(10_000).fill(1) }, {}],
    ['value of an enumeration', { enum: ['x'.repeat(10_000)] }, {}],
    ['constant', { const: 'x'.repeat(10_000) }, {}],
    ['type', { type: 'x'.repeat(10_000) }, {}],
    ['list of what is required', { type: 'object', properties: { a: {} }, required: Array(10_000).fill('a') }, {}],
  ])('nor one that is referred to a thousand times and has a long %s', (_, x) => {
    const properties = Object.fromEntries(Array.from({ length: 1_000 }, (_unused, at) => [`p${at}`, { $ref: '#/$defs/x' }]));

    expect(shown({ properties, $defs: { x } })).toBeUndefined();
    expect(shown({ properties: { p: { $ref: '#/$defs/x' } }, $defs: { x } })).toBeDefined();
  });

  it('is not copied where it is referred to, or has many types', () => {
    let listings = 0;
    const wide = new Proxy(
      { type: ['string', 'integer'] },
      {
        ownKeys: (target) => (++listings ? Reflect.ownKeys(target) : []),
        getOwnPropertyDescriptor: Reflect.getOwnPropertyDescriptor,
      },
    );
    const properties = { a: { $ref: '#/$defs/x' }, b: { $ref: '#/$defs/x' }, c: wide };

    expect(body({ properties, $defs: { x: wide } })).toContain('a?: string | number,');
    expect(listings).toBe(0);
  });

  it('follows a reference to a reference, and none of endless length', () => {
    const properties = { a: { $ref: '#/$defs/x' }, b: { $ref: `#/${'x/'.repeat(1_000)}` } };

    expect(body({ properties, $defs: { x: { $ref: '#/$defs/y' }, y: { type: 'integer' } } })).toContain('a?: number,\nb?: any,');
  });

  it('holds a default nested 10,000 deep, which overflows the stack of JSON.stringify', () => {
    const deep = JSON.parse(`${'['.repeat(10_000)}${']'.repeat(10_000)}`);

    expect(body({ properties: { a: { default: deep } } })).toContain(`default: ${'['.repeat(10_000)}`);
  });
});
