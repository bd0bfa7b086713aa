import { describe, expect, it } from 'vitest';
import { countedCall } from '../../src/dialects/counted.js';
import { estimateTokens } from '../../src/tokens/estimate-tokens.js';

describe('what is only counted', () => {
  it.each([
    ['/v1beta/models/gemini-2.5-pro:countTokens?key=x', '/v1beta/models/gemini-2.5-pro:generateContent?key=x'],
    ['/v1/messages/count_tokens', '/v1/messages'],
    ['/v1/responses/input_tokens/', '/v1/responses/'],
    ['/v1/messages', '/v1/messages'],
    ['/v1/messages/count_tokens/more', '/v1/messages/count_tokens/more'],
    [undefined, undefined],
  ])('at %s would be answered at %s', (path, answering) => {
    expect(countedCall({ a: 1 }, path)).toEqual({ body: { a: 1 }, path: answering });
  });

  it('is inside of a body that says so', () => {
    expect(countedCall({ generateContentRequest: { contents: [] } }, undefined).body).toEqual({ contents: [] });
    expect(countedCall({ generateContentRequest: 'x' }, undefined).body).toEqual({ generateContentRequest: 'x' });
    expect(countedCall(null, undefined).body).toBeNull();
  });

  it('is estimated like the call itself', async () => {
    const contents = [{ role: 'user', parts: [{ text: 'What is the capital of France?' }] }];
    const at = (method: string) => `/v1beta/models/gemini-2.5-pro:${method}`;

    const call = await estimateTokens({ contents }, { path: at('generateContent') });
    const bare = await estimateTokens({ contents }, { path: at('countTokens') });
    const wrapped = await estimateTokens(
      { generateContentRequest: { model: 'models/gemini-2.5-pro', contents } },
      { path: at('countTokens') },
    );

    expect(bare).toEqual(call);
    expect(wrapped).toEqual(call);
  });
});
