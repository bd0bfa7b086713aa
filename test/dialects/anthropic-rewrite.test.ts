import { describe, expect, it } from 'vitest';
import { rewriteMessagesBody } from '../../src/dialects/anthropic-rewrite.js';

const body = (more: object) => ({ model: 'claude-sonnet-4-5', messages: [], ...more });
const enabled = (budget_tokens: unknown) => ({ type: 'enabled', budget_tokens });

describe('rewriting the output maximum', () => {
  it.each([
    ['lowers the one that is declared', { max_tokens: 100 }, { max_tokens: 50 }],
    ['leaves one that is lower already', { max_tokens: 20 }, { max_tokens: 20 }],
    ['declares it where the body does not', {}, { max_tokens: 50 }],
    ['replaces a value that is none', { max_tokens: '5000' }, { max_tokens: 50 }],
    ['leaves the fields of other formats', { max_completion_tokens: 100 }, { max_completion_tokens: 100, max_tokens: 50 }],
  ])('%s', (_, given, expected) => {
    expect(rewriteMessagesBody(body(given), { maximumOutputTokens: 50 })).toEqual(body(expected));
  });

  it.each([
    ['keeps a budget for thinking that fits', 3_000, enabled(2_999), enabled(2_999)],
    ['lowers a budget for thinking that does not', 3_000, enabled(3_000), enabled(2_999)],
    ['keeps the least budget that there can be', 1_025, enabled(2_000), enabled(1_024)],
    ['disables thinking where even the least does not fit', 1_024, enabled(2_000), { type: 'disabled' }],
    ['keeps a budget that was not meant for one turn', 3_000, enabled(20_000), enabled(20_000)],
    ['keeps thinking that has no budget', 500, { type: 'adaptive' }, { type: 'adaptive' }],
    ['keeps a budget that is none', 500, enabled('2000'), enabled('2000')],
    ['keeps what is no setting at all', 500, null, null],
  ])('%s', (_, maximumOutputTokens, thinking, expected) => {
    expect(rewriteMessagesBody(body({ max_tokens: 10_000, thinking }), { maximumOutputTokens })).toEqual(
      body({ max_tokens: maximumOutputTokens, thinking: expected }),
    );
  });
});

describe('rewriting other things', () => {
  it('changes the model and nothing else', () => {
    const given = body({ max_tokens: 100, thinking: enabled(2_000), stream: true });

    expect(rewriteMessagesBody(given, { model: 'claude-haiku-4-5' })).toEqual({ ...given, model: 'claude-haiku-4-5' });
  });

  it('changes nothing to be told usage, for every stream tells it', () => {
    expect(rewriteMessagesBody(body({ stream: true }), { includeUsage: true })).toEqual(body({ stream: true }));
  });
});
