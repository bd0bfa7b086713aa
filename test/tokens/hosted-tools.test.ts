import { describe, expect, it } from 'vitest';
import { hostedToolTokens } from '../../src/tokens/hosted-tools.js';

describe('a tool that the provider runs', () => {
  it.each([
    ['web_search', 8_000],
    ['web_search_preview', 8_000],
    ['web_search_20250305', 8_000],
    ['file_search', 16_000],
    ['bash_20250124', 245],
    ['text_editor_20250728', 700],
    ['computer_20250124', 735],
    ['computer_use_preview', 735],
  ])('of type %s adds %i tokens', (type, tokens) => {
    expect(hostedToolTokens({ type })).toBe(tokens);
  });

  it.each([
    [4, 3_200],
    [50, 40_000],
    [1e9, 40_000],
    [0, 16_000],
    [-1, 16_000],
    ['3', 16_000],
    [Number.NaN, 16_000],
  ])('shows %j passages of files, as far as that can be', (most, tokens) => {
    expect(hostedToolTokens({ type: 'file_search', max_num_results: most })).toBe(tokens);
  });

  it.each([
    [{ type: 'function', name: 'web_search' }],
    [{ type: 'code_interpreter' }],
    [{}],
    [{ type: 7 }],
    [null],
    ['web_search'],
    [[]],
  ])('is none in %j', (tool) => {
    expect(hostedToolTokens(tool)).toBe(0);
  });
});
