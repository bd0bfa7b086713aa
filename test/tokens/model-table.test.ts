import { describe, expect, it } from 'vitest';
import { GENERATIONS, generationOf } from '../../src/tokens/claude-table.js';
import { knownFamily, MODEL_FAMILIES } from '../../src/tokens/model-table.js';

/** One name for each row, in the order of the table. */
const NAMES = [
  'gpt-4o-mini-2024-07-18',
  'gpt-4.1-mini',
  'gpt-4.1-nano',
  'gpt-4o',
  'gpt-4-turbo',
  'o1-mini',
  'o4-mini-2025-04-16',
  'o3',
  'gpt-5-mini',
  'gpt-5-nano',
  'gpt-5.2',
  'gpt-5.4-nano',
  'gpt-5.6-terra',
  'gpt-6',
  'gpt-5.1',
  'gpt-oss-120b',
  'computer-use-preview',
  'chatgpt-4o-latest',
  'text-embedding-3-small',
  'text-davinci-003',
  'davinci-codex',
  'curie',
  'text-similarity-ada-001',
  'o200k_base',
  'cl100k_base',
  'p50k_base',
  'r50k_base',
];

describe('the table of models', () => {
  it.each(MODEL_FAMILIES.map((family, row) => ({ family, name: NAMES[row] as string })))(
    'has a row that $name finds before all others, by its beginning, with its source and of when it is',
    ({ family, name }) => {
      expect(knownFamily(name)).toBe(family);
      expect(family.names.source.split('|').every((part) => part.startsWith('^') || !part.includes('^'))).toBe(true);
      expect(family.source).toMatch(/20\d\d/);
    },
  );

  it('knows the vocabularies by which whoever knows no model can count', () => {
    for (const name of ['o200k_base', 'cl100k_base', 'p50k_base', 'r50k_base']) expect(knownFamily(name)?.encoding).toBe(name);
    expect(knownFamily('xo200k_base')).toBeUndefined();
    expect(knownFamily('o200k_base_x')).toBeUndefined();
  });
});

describe('the generations of Claude', () => {
  it('are each found by some name, with their source and of when they are', () => {
    const names = [
      'claude-opus-5-5',
      'claude-haiku-4-5',
      'claude-sonnet-4-0',
      'claude-3-opus-20240229',
      'claude-3-5-haiku-latest',
    ];

    expect(names.map(generationOf)).toEqual(GENERATIONS);
    for (const { source } of GENERATIONS) expect(source).toMatch(/20\d\d/);
  });

  it.each(['', 'claude', 'claude-next', 'claude-99'])('take %j, which tells no version that was, for a new one', (name) => {
    expect(generationOf(name)).toBe(GENERATIONS[0]);
  });
});
