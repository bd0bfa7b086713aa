import { describe, expect, it } from 'vitest';
import { rewriteChat } from '../../src/dialects/openai-chat-rewrite.js';

const MESSAGES = [{ role: 'user', content: 'Hello' }];
const body = (more: object) => ({ model: 'gpt-4o', messages: MESSAGES, ...more });

describe('rewriting the output maximum', () => {
  it.each([
    ['lowers the field that declares it', { max_tokens: 100 }, { max_tokens: 50 }],
    [
      'lowers every field that declares one',
      { max_tokens: 100, max_completion_tokens: 80 },
      { max_tokens: 50, max_completion_tokens: 50 },
    ],
    [
      'leaves a field that is lower already',
      { max_tokens: 100, max_output_tokens: 20 },
      { max_tokens: 50, max_output_tokens: 20 },
    ],
    [
      'leaves a field that declares none',
      { max_tokens: 100, max_completion_tokens: null },
      { max_tokens: 50, max_completion_tokens: null },
    ],
    [
      'replaces values that are none',
      { max_tokens: -1, max_completion_tokens: '5000' },
      { max_tokens: 50, max_completion_tokens: 50 },
    ],
  ])('%s', (_, given, expected) => {
    expect(rewriteChat(body(given), { maximumOutputTokens: 50 })).toEqual(body(expected));
  });

  it.each([
    ['gpt-4o', 'max_tokens'],
    ['gpt-4.1-mini', 'max_tokens'],
    ['gpt-3.5-turbo', 'max_tokens'],
    ['llama-3.3-70b', 'max_tokens'],
    ['o1', 'max_completion_tokens'],
    ['o3-mini', 'max_completion_tokens'],
    ['openai/o4-mini-2025-04-16', 'max_completion_tokens'],
    ['gpt-5', 'max_completion_tokens'],
    ['ft:gpt-5.4-mini:team::1', 'max_completion_tokens'],
  ])('declares it for %s in %s when the body does not', (model, field) => {
    expect(rewriteChat({ model, messages: [] }, { maximumOutputTokens: 50 })).toEqual({ model, messages: [], [field]: 50 });
  });
});

describe('rewriting the model', () => {
  it('moves max_tokens where a substitute that reasons knows it', () => {
    const changed = rewriteChat(body({ max_tokens: 100 }), { model: 'gpt-5-mini' });

    expect(changed).toEqual({ model: 'gpt-5-mini', messages: MESSAGES, max_completion_tokens: 100 });
  });

  it('keeps the field that such a substitute knows when the body has both', () => {
    const changed = rewriteChat(body({ max_tokens: 100, max_completion_tokens: 70 }), { model: 'o3' });

    expect(changed).toEqual({ model: 'o3', messages: MESSAGES, max_completion_tokens: 70 });
  });

  it('leaves max_tokens to every other substitute', () => {
    expect(rewriteChat(body({ max_tokens: 100 }), { model: 'gpt-4o-mini' })).toMatchObject({ max_tokens: 100 });
  });
});

describe('asking for usage', () => {
  it('keeps the other options of the stream', () => {
    const changed = rewriteChat(body({ stream: true, stream_options: { include_obfuscation: false } }), { includeUsage: true });

    expect(changed).toMatchObject({ stream_options: { include_obfuscation: false, include_usage: true } });
  });

  it('changes nothing when no stream is asked for', () => {
    expect(rewriteChat(body({ stream: false }), { includeUsage: true })).toEqual(body({ stream: false }));
  });
});
