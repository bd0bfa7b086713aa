import { Tiktoken } from 'js-tiktoken/lite';
import o200k from 'js-tiktoken/ranks/o200k_base';
import { describe, expect, it } from 'vitest';
import { SpillwayError } from '../../src/errors.js';
import { estimateTokens } from '../../src/tokens/estimate-tokens.js';

const oracle = new Tiktoken(o200k);
const count = (text: string): number => oracle.encode(text, [], []).length;
const HELLO = 'How deep is the reservoir, and who measured it?';
const chat = (more: object = {}) => ({ model: 'gpt-4o', messages: [{ role: 'user', content: HELLO }], ...more });

describe('estimateTokens', () => {
  it('counts a body by the vocabulary of its model', async () => {
    const tokens = 3 + 4 + count(HELLO);

    expect(await estimateTokens(chat())).toEqual({
      inputTokens: tokens,
      heldInputTokens: tokens + Math.ceil(tokens * 0.1),
      outputTokens: 512,
      model: 'gpt-4o',
      dialect: 'openai-chat',
      confidence: 'counted',
      breakdown: [
        { kind: 'message', role: 'user', tokens: 4 + count(HELLO) },
        { kind: 'overhead', tokens: 3 },
      ],
    });
  });

  it.each([
    [{}, 512],
    [{ max_tokens: 100 }, 100],
    [{ max_completion_tokens: 4_000 }, 512],
    [{ n: 3 }, 1_536],
    [{ max_tokens: 100, n: 4 }, 400],
    [{ max_tokens: 'many', n: -1 }, 512],
  ])('expects of %j an output of %i', async (more, outputTokens) => {
    expect((await estimateTokens(chat(more))).outputTokens).toBe(outputTokens);
  });

  it.each([
    ['/v1/responses', { input: HELLO }, 'openai-responses', 3 + 4 + count(HELLO), 512],
    ['/v1/completions', { prompt: [HELLO, HELLO], max_tokens: 50 }, 'openai-completions', 2 * count(HELLO), 100],
    ['/v1/embeddings', { input: HELLO }, 'openai-embeddings', count(HELLO), 0],
  ])('estimates what is sent to %s by its own rules', async (path, body, dialect, inputTokens, outputTokens) => {
    expect(await estimateTokens({ model: 'gpt-4o', ...body }, { path })).toMatchObject({
      dialect,
      inputTokens,
      outputTokens,
      confidence: 'counted',
    });
  });

  it('estimates for another model than the body names when it is given one', async () => {
    const { inputTokens, model } = await estimateTokens(chat(), { model: 'o3-mini' });

    expect([inputTokens, model]).toEqual([2 + 4 + count(HELLO), 'o3-mini']);
  });

  it('estimates a body that names no model when it is given one', async () => {
    const { model: _, ...body } = chat();

    expect((await estimateTokens(body, { model: 'gpt-4o' })).inputTokens).toBe(3 + 4 + count(HELLO));
  });

  it.each([
    ['null', null, {}],
    ['a string', 'Hello', {}],
    ['a list', [chat()], {}],
    ['an object without them', { input: 'Hello' }, {}],
    ['an object without them', { messages: [] }, {}],
  ])('refuses %s and says what it needs', async (got, body, options) => {
    const error = await estimateTokens(body, options).catch((caught: unknown) => caught);

    expect(SpillwayError.is(error) && error.code).toBe('SPILLWAY_BAD_CALL');
    expect(error).toHaveProperty('message', expect.stringContaining('`model`'));
    expect(error).toHaveProperty('message', expect.stringContaining(`got ${got}`));
    expect(error).toHaveProperty('message', expect.stringContaining('Pass the parsed body'));
  });

  it('refuses a body that is sent elsewhere, and names the path', async () => {
    await expect(estimateTokens(chat(), { path: '/v1/embeddings' })).rejects.toThrow('/v1/embeddings');
  });

  it('puts nothing of a body into its message', async () => {
    const error = await estimateTokens({ secret: 'hunter2' }).catch((caught: unknown) => caught);

    expect(String(error)).not.toContain('hunter2');
  });

  it('changes nothing in the body', async () => {
    const body = chat({ tools: [{ type: 'function', function: { name: 'f' } }] });
    const before = structuredClone(body);

    await estimateTokens(body);

    expect(body).toEqual(before);
  });
});
