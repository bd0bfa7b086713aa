import { describe, expect, it } from 'vitest';
import {
  baseName,
  encodingFor,
  familyOf,
  hasKnownEncoding,
  hasRules,
  isClaude,
  isReasoningModel,
} from '../../src/tokens/encodings.js';

describe('encodingFor', () => {
  it.each([
    ['gpt-4o', 'o200k_base'],
    ['gpt-4o-mini-2024-07-18', 'o200k_base'],
    ['chatgpt-4o-latest', 'o200k_base'],
    ['gpt-4.1-nano', 'o200k_base'],
    ['gpt-4.5-preview', 'o200k_base'],
    ['gpt-5', 'o200k_base'],
    ['gpt-5.4-mini', 'o200k_base'],
    ['gpt-6', 'o200k_base'],
    ['gpt-oss-120b', 'o200k_base'],
    ['codex-mini-latest', 'o200k_base'],
    ['o1', 'o200k_base'],
    ['o3-mini-2025-01-31', 'o200k_base'],
    ['o4-mini', 'o200k_base'],
    ['gpt-4', 'cl100k_base'],
    ['gpt-4-0613', 'cl100k_base'],
    ['gpt-4-1106-preview', 'cl100k_base'],
    ['gpt-4-turbo-2024-04-09', 'cl100k_base'],
    ['gpt-4-vision-preview', 'cl100k_base'],
    ['gpt-4-32k', 'cl100k_base'],
    ['gpt-3.5-turbo-instruct', 'cl100k_base'],
    ['gpt-35-turbo', 'cl100k_base'],
    ['text-embedding-3-large', 'cl100k_base'],
    ['text-embedding-ada-002', 'cl100k_base'],
    ['davinci-002', 'cl100k_base'],
    ['babbage-002', 'cl100k_base'],
    ['text-davinci-003', 'p50k_base'],
    ['code-davinci-002', 'p50k_base'],
    ['text-davinci-001', 'r50k_base'],
    ['davinci', 'r50k_base'],
    ['curie:ft-team-2023-01-01', 'r50k_base'],
    ['text-similarity-ada-001', 'r50k_base'],
    ['ft:gpt-4o-mini-2024-07-18:team:suffix:id', 'o200k_base'],
    ['ft:gpt-3.5-turbo-0125:team::id', 'cl100k_base'],
    ['ft:davinci-002:team::id', 'cl100k_base'],
    ['openai/gpt-4o', 'o200k_base'],
    ['azure/openai/gpt-4', 'cl100k_base'],
    ['GPT-4-Turbo', 'cl100k_base'],
  ])('%s has %s', (model, encoding) => {
    expect(encodingFor(model)).toBe(encoding);
    expect(hasKnownEncoding(model)).toBe(true);
  });

  it.each([
    'claude',
    'claude-sonnet-4-5',
    'claude-3-haiku@20240307',
    'anthropic/claude-haiku-4.5',
    'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
  ])('takes cl100k_base, as a guess, for %j', (model) => {
    expect(isClaude(model)).toBe(true);
    expect(encodingFor(model)).toBe('cl100k_base');
    expect(hasKnownEncoding(model)).toBe(false);
  });

  it.each([
    'not-claude',
    'claudette',
    'gemini-2.5-pro',
    'llama-3.3-70b',
    'my-deployment',
    'orca-mini',
    'o1x',
    'adalovelace',
    '',
    '__proto__',
    'ft:',
    '/',
  ])('falls back to o200k_base, as a guess, for %j', (model) => {
    expect(isClaude(model)).toBe(false);
    expect(encodingFor(model)).toBe('o200k_base');
    expect(hasKnownEncoding(model)).toBe(false);
  });
});

it('looks at the beginning of a name only, however long it is', () => {
  expect(encodingFor(`gpt-4-${'x'.repeat(1_000_000)}`)).toBe('cl100k_base');
  expect(baseName('/'.repeat(1_000_000))).toBe('');
});

describe('baseName', () => {
  it.each([
    ['gpt-4o', 'gpt-4o'],
    ['ft:gpt-4o:team::id', 'gpt-4o'],
    ['openrouter/openai/gpt-4o:free', 'gpt-4o'],
    ['OpenAI/GPT-4o', 'gpt-4o'],
  ])('of %s is %s', (model, name) => {
    expect(baseName(model)).toBe(name);
  });
});

describe('families that reason', () => {
  it.each([
    ['o1', true, true],
    ['o1-mini', true, false],
    ['o1-preview-2024-09-12', true, false],
    ['o3-mini', true, true],
    ['o4-mini', true, true],
    ['gpt-5', true, true],
    ['gpt-5.6-sol', true, true],
    ['ft:gpt-5-mini:team::1', true, true],
    ['gpt-oss-20b', true, true],
    ['gpt-4o', false, false],
    ['gpt-4.1', false, false],
    ['gpt-3.5-turbo', false, false],
    ['claude-opus-5', false, false],
    ['orca', false, false],
  ])('%s: %s, with channel markers: %s', (model, reasons, channels) => {
    expect([isReasoningModel(model), familyOf(model).marksChannels]).toEqual([reasons, channels]);
  });
});

describe('hasRules', () => {
  it.each(['gpt-4o', 'ft:gpt-4o:team::id', 'anthropic/claude-haiku-4.5', 'gemini-2.5-pro', 'gemma-3-27b', 'r50k_base'])(
    'is true of %s',
    (model) => {
      expect(hasRules(model)).toBe(true);
    },
  );

  it.each(['llama-3.3-70b', 'gpt4o', 'gemini', '', 'base', 'x'.repeat(1_000)])('is false of %j', (model) => {
    expect(hasRules(model)).toBe(false);
  });
});
