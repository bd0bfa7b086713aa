import { describe, expect, it } from 'vitest';
import type { Call } from '../../src/call.js';
import { openaiEmbeddings } from '../../src/dialects/openai-embeddings.js';
import { staticAnswer } from '../../src/ladder/static-answer.js';
import { dialectConformance } from '../conformance/dialect.js';

const vectors = (data: unknown, more: object = {}) => ({
  object: 'list',
  data,
  model: 'text-embedding-3-small',
  usage: { prompt_tokens: 5, total_tokens: 5 },
  ...more,
});
const vector = (embedding: unknown, index = 0) => ({ object: 'embedding', index, embedding });
const REPORTED = { inputTokens: 5, outputTokens: 0, model: 'text-embedding-3-small' };
const NOTHING_GENERATED = {
  stream: false,
  wantsUsage: false,
  maximumOutputTokens: 0,
  choices: 1,
  hasTools: false,
  hasFormat: true,
};

dialectConformance('openaiEmbeddings', {
  dialect: openaiEmbeddings,
  generates: false,
  samples: {
    bodies: [
      {
        body: { model: 'text-embedding-3-small', input: 'Hello' },
        path: '/v1/embeddings',
        draft: {
          ...NOTHING_GENERATED,
          model: 'text-embedding-3-small',
          sections: [{ kind: 'prompt', parts: [{ kind: 'text', text: 'Hello' }] }],
        },
      },
      {
        body: { model: 'bge-m3', input: ['Hello', 'world'], encoding_format: 'base64', stream: true, max_tokens: 100, n: 9 },
        path: '/openai/deployments/bge/embeddings?api-version=2026-01-01',
        draft: {
          ...NOTHING_GENERATED,
          sections: [{ kind: 'prompt', parts: ['Hello', 'world'].map((text) => ({ kind: 'text', text })) }],
        },
      },
      {
        body: { model: 'my-model', input: [[1, 2, 3], [4]], dimensions: 256 },
        draft: {
          ...NOTHING_GENERATED,
          sections: [
            {
              kind: 'prompt',
              parts: [
                { kind: 'tokens', count: 3 },
                { kind: 'tokens', count: 1 },
              ],
            },
          ],
        },
      },
    ],
    foreign: [
      { body: { model: 'gpt-4o', input: 'Hello' } },
      { body: { model: 'gpt-4o', input: [{ role: 'user', content: 'Hello' }] } },
      { body: { model: 'gpt-4o', input: [1, 2], max_output_tokens: 5 } },
      { body: { model: 'text-embedding-3-small', input: 'Hello' }, path: '/v1/responses' },
      { body: { model: 'text-embedding-3-small', messages: [], input: 'Hello' } },
      { body: { model: 'text-embedding-3-small' }, path: '/v1/embeddings' },
      { body: { model: 'text-embedding-3-small', input: { text: 'Hello' } }, path: '/v1/embeddings' },
      { body: { input: 'Hello' }, path: '/v1/embeddings' },
      { body: { model: 'gpt-4o', prompt: 'Hello' }, path: '/v1/embeddings' },
      { body: { model: 'tts-1', input: ['a', 'b'] }, path: '/v1/audio/speech' },
    ],
    answers: [
      { body: vectors([vector([0.1, -0.2])]), usage: REPORTED, complete: { text: '' } },
      { body: vectors([vector('AACAPwAAgD8='), vector('AACAPwAAgD8=', 1)]), usage: REPORTED, complete: { text: '' } },
      { body: vectors([]), usage: REPORTED },
      { body: vectors([vector([0.1]), null]), usage: REPORTED },
      { body: vectors([vector(['0.1'])]), usage: REPORTED },
      { body: vectors([vector([0.1])], { error: { message: 'x' } }), usage: REPORTED },
      { body: vectors([vector([0.1])], { usage: { prompt_tokens: 0 } }), complete: { text: '' } },
      { body: vectors([vector([0.1])], { usage: { prompt_tokens: '5' } }), complete: { text: '' } },
      { body: { error: { message: 'Rate limit reached', type: 'tokens', param: null, code: 'rate_limit_exceeded' } } },
    ],
    streams: [],
  },
});

describe('embeddings', () => {
  it('have no prepared text given to them', () => {
    const draft = openaiEmbeddings.read({ model: 'text-embedding-3-small', input: 'Hello' }, '/v1/embeddings');
    const call = { dialect: openaiEmbeddings, draft } as Call;

    expect(staticAnswer('We are busy.').canHelp({ reason: 'full', full: [], waitMs: 1 }, call)).toBe(false);
  });

  it('are read in a moment, however many tokens they are made of', () => {
    const body = { model: 'text-embedding-3-small', input: Array.from({ length: 2_000 }, () => Array(1_000).fill(7)) };
    const startMs = performance.now();

    const draft = openaiEmbeddings.read(body, '/v1/embeddings');

    expect(performance.now() - startMs).toBeLessThan(500);
    expect(draft?.sections[0]?.parts).toHaveLength(2_000);
  });

  it('are kept only when nothing in them is too deep to be written again', () => {
    const deep = JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`);

    expect(openaiEmbeddings.collect({ body: vectors([{ ...vector([0.1]), index: deep }]) })).toBeUndefined();
  });
});
