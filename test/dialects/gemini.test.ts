import { describe, expect, it } from 'vitest';
import { geminiContent } from '../../src/dialects/gemini.js';
import { createRegistry } from '../../src/dialects/registry.js';
import { dialectConformance } from '../conformance/dialect.js';

const user = (...parts: unknown[]) => ({ role: 'user', parts });
const text = (words: string) => ({ text: words });
const wire = (...chunks: object[]): string => chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join('');
const candidate = (parts: unknown[], finishReason: string | null = 'STOP', more: object = {}) => ({
  content: { parts, role: 'model' },
  ...(finishReason === null ? {} : { finishReason }),
  ...more,
});
const answer = (candidates: unknown[], more: object = {}) => ({ candidates, modelVersion: 'gemini-2.5-flash', ...more });
const chunk = (words: string, finishReason?: string, more: object = {}) =>
  answer([candidate([text(words)], finishReason ?? null, { index: 0 })], more);

const USAGE = {
  promptTokenCount: 10,
  toolUsePromptTokenCount: 2,
  candidatesTokenCount: 30,
  thoughtsTokenCount: 4,
  cachedContentTokenCount: 6,
  totalTokenCount: 46,
};
const REPORTED = { inputTokens: 12, outputTokens: 34, cachedInputTokens: 6, reasoningTokens: 4, model: 'gemini-2.5-flash' };
const STREAM = '/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse';
const VERTEX = '/v1/projects/p/locations/global/publishers/google/models/gemini-2.5-pro:generateContent';

dialectConformance('geminiContent', {
  dialect: geminiContent,
  samples: {
    bodies: [
      {
        body: { contents: [user(text('Hello'))], generationConfig: { maxOutputTokens: 256 } },
        path: '/v1beta/models/gemini-2.5-flash:generateContent',
        draft: {
          model: 'gemini-2.5-flash',
          stream: false,
          wantsUsage: false,
          maximumOutputTokens: 256,
          choices: 1,
          hasTools: false,
          hasFormat: false,
          rules: 'gemini',
        },
      },
      {
        body: {
          contents: [user(text('What is it?'), { inlineData: { mimeType: 'image/png', data: 'AAAA' } })],
          generationConfig: { thinkingConfig: { thinkingBudget: 1_024 }, candidateCount: 2 },
        },
        path: STREAM,
        draft: { model: 'gemini-2.5-flash', stream: true, wantsUsage: true, choices: 2, thinks: true },
      },
      {
        body: {
          system_instruction: { parts: [text('Be brief.')] },
          contents: [user(text('How is it in Oslo?'))],
          tools: [{ function_declarations: [{ name: 'weather', parameters: { type: 'OBJECT', properties: {} } }] }],
          tool_config: { function_calling_config: { mode: 'ANY' } },
          generation_config: { max_output_tokens: 99, response_schema: { type: 'OBJECT' } },
        },
        path: VERTEX,
        draft: { model: 'gemini-2.5-pro', maximumOutputTokens: 99, hasTools: true, hasFormat: true, rules: 'vertex' },
      },
      {
        body: {
          model: 'models/gemini-2.5-flash',
          contents: [{ parts: ['Hello'] }],
          config: { maxOutputTokens: 5 },
          stream: true,
        },
        draft: { model: 'gemini-2.5-flash', stream: true, maximumOutputTokens: 5 },
      },
      { body: { model: 'fast', contents: { parts: text('Hello') } }, path: '/api/chat', draft: { model: 'fast', stream: false } },
    ],
    foreign: [
      { body: { contents: [user(text('Hello'))] } },
      { body: { contents: [user(text('Hello'))] }, path: '/v1/responses' },
      { body: { contents: [user(text('Hello'))] }, path: '/v1beta/models/gemini-2.5-flash:countTokens' },
      { body: { contents: [user(text('Hello'))] }, path: '/v1beta/models/gemini-embedding-001:embedContent' },
      { body: { contents: [user(text('Hello'))] }, path: '/v1beta/models/gemini-2.5-flash:batchGenerateContent' },
      { body: { contents: null }, path: VERTEX },
      { body: { messages: [] }, path: VERTEX },
      { body: { contents: [] }, path: `/v1beta/models/${'m'.repeat(257)}:generateContent` },
      { body: { model: 'my-model', contents: 'Hello' } },
      { body: { model: 'my-model', contents: [text('Hello')] } },
      { body: { model: 'gemini-2.5-pro', contents: [user(text('x'))], messages: [] } },
      { body: { model: 'gemini-2.5-pro', messages: [{ role: 'user', content: 'x' }] } },
      { body: { model: '', contents: [user(text('x'))] } },
    ],
    answers: [
      { body: answer([candidate([text('Hi!')])], { usageMetadata: USAGE }), usage: REPORTED, complete: { text: 'Hi!' } },
      { body: answer([candidate([text('one '), text('two 你好 😀')])]), complete: { text: 'one two 你好 😀' } },
      {
        body: answer([
          candidate([
            { text: 'Hm. '.repeat(200), thought: true },
            { ...text('So 7.'), thoughtSignature: 'c2ln' },
          ]),
        ]),
        complete: { text: 'So 7.' },
      },
      {
        body: answer([candidate([text('Let me see.'), { functionCall: { name: 'weather', args: { city: 'Oslo' } } }])]),
        complete: { text: 'Let me see.' },
      },
      {
        body: answer([
          candidate(
            [text('a'), { executableCode: { language: 'PYTHON', code: 'print(1)' } }, { codeExecutionResult: { output: '1' } }],
            'STOP',
            {
              index: 0,
              groundingMetadata: { webSearchQueries: ['a'] },
            },
          ),
          candidate([text('b')], 'STOP', { index: 1 }),
        ]),
        complete: { text: 'a' },
      },
      { body: answer([candidate([])]), complete: { text: '' } },
      { body: answer([candidate([text('cut')], 'MAX_TOKENS')], { usageMetadata: USAGE }), usage: REPORTED },
      { body: answer([candidate([text('bad')], 'SAFETY')]) },
      { body: answer([candidate([text('half')], null)]) },
      {
        body: answer([], { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 9 } }),
        usage: { inputTokens: 9, outputTokens: undefined },
      },
      { body: answer([candidate([text('x')])], { error: { code: 500 } }) },
      { body: { error: { code: 429, message: 'Quota', status: 'RESOURCE_EXHAUSTED' } } },
      { body: answer([candidate([text('x')], 'OTHER')], { usageMetadata: { promptTokenCount: 0, totalTokenCount: 0 } }) },
      { body: answer([candidate([text('x')], 'OTHER')], { usageMetadata: { promptTokenCount: '9', candidatesTokenCount: -1 } }) },
      {
        body: answer([candidate([text('x')], 'OTHER')], {
          usageMetadata: { promptTokenCount: 1e308, candidatesTokenCount: 12.9 },
        }),
        usage: { inputTokens: 10_000_000, outputTokens: 12 },
      },
      // The chunks of a stream that was not asked for as events.
      { body: [chunk('Hel'), chunk('lo', 'STOP', { usageMetadata: USAGE })], usage: REPORTED },
    ],
    streams: [
      {
        wire: wire(
          chunk('Hel', undefined, { usageMetadata: { promptTokenCount: 10 } }),
          chunk('lo 😀', 'STOP', { usageMetadata: USAGE }),
        ),
        usage: REPORTED,
        complete: { text: 'Hello 😀' },
      },
      {
        wire: wire(
          answer([candidate([{ text: 'Hm. ', thought: true }], null)]),
          answer([candidate([{ text: 'Well. ', thought: true }], null)]),
          chunk('So '),
          chunk('7.'),
          answer([candidate([{ functionCall: { name: 'time', args: {} }, thoughtSignature: 'c2ln' }])]),
        ),
        complete: { text: 'So 7.' },
      },
      {
        wire: wire(
          answer([candidate([text('a')], null, { index: 0 }), candidate([text('b')], null, { index: 1 })]),
          answer([candidate([text('A')], 'STOP', { index: 0 })]),
          answer([candidate([text('B')], 'STOP', { index: 1 })]),
        ),
        complete: { text: 'aA' },
      },
      { wire: wire(chunk('cut', 'MAX_TOKENS', { usageMetadata: USAGE })), usage: REPORTED },
      { wire: wire(chunk('half')) },
      { wire: wire(chunk('x', 'STOP'), { error: { code: 503, status: 'UNAVAILABLE' } }) },
      { wire: wire(answer([candidate([text('x')], 'STOP', { index: -1 })])) },
      { wire: `${wire(chunk('half'))}data: {"candidates":[{"content":{"par` },
    ],
  },
});

describe('the dialect of a body', () => {
  const registry = createRegistry([]);

  it.each([
    '/v1beta/models/gemini-2.5-pro:generateContent',
    '/v1alpha/models/gemini-2.5-pro:streamGenerateContent?alt=sse',
    VERTEX,
    '/google/v1beta/tunedModels/my-model:generateContent',
  ])('is told by the path %s', (path) => {
    expect(registry.detect({ contents: [user(text('Hi'))] }, path)?.dialect.name).toBe('gemini-content');
  });

  it('is told by contents at a route of the application', () => {
    const body = { model: 'gemini-2.5-pro', contents: [user(text('Hi'))] };

    expect(registry.detect(body, '/api/chat')?.dialect.name).toBe('gemini-content');
    expect(registry.detect({ ...body, messages: [user('x')] }, '/api/chat')?.dialect.name).toBe('openai-chat');
  });

  it('can be named', () => {
    expect(registry.byName('gemini-content')).toBe(geminiContent);
  });
});

describe('an error', () => {
  it.each([
    [{ status: 429, kind: 'full' }, 'RESOURCE_EXHAUSTED'],
    [{ status: 503, kind: 'full' }, 'UNAVAILABLE'],
    [{ status: 503, kind: 'closed' }, 'UNAVAILABLE'],
    [{ status: 413, kind: 'never-fits' }, 'INVALID_ARGUMENT'],
    [{ status: 403, kind: 'blocked' }, 'PERMISSION_DENIED'],
    [{ status: 401, kind: 'unidentified' }, 'UNAUTHENTICATED'],
    [{ status: 400, kind: 'unknown-model' }, 'NOT_FOUND'],
    [{ status: 400, kind: 'bad-body' }, 'INVALID_ARGUMENT'],
  ] as const)('for %j is %s', (complaint, status) => {
    const { body } = geminiContent.error({ ...complaint, message: 'No.' }, undefined);

    expect(JSON.parse(body)).toEqual({ error: { code: complaint.status, message: 'No.', status } });
  });
});

describe('changing the maximum', () => {
  it.each([
    [{ generationConfig: { maxOutputTokens: 100, topK: 1 } }, { generationConfig: { maxOutputTokens: 7, topK: 1 } }],
    [{ generation_config: { max_output_tokens: 100 } }, { generation_config: { max_output_tokens: 7 } }],
    [{ generationConfig: { max_output_tokens: 3 } }, { generationConfig: { max_output_tokens: 3 } }],
    [{ config: { tools: [] } }, { config: { tools: [], maxOutputTokens: 7 } }],
    [{}, { generationConfig: { maxOutputTokens: 7 } }],
    [{ generationConfig: { maxOutputTokens: '100' } }, { generationConfig: { maxOutputTokens: 7 } }],
    [{ generationConfig: 'none' }, { generationConfig: { maxOutputTokens: 7 } }],
  ])('of %j gives %j', (body, changed) => {
    expect(geminiContent.rewrite(body, { maximumOutputTokens: 7 })).toEqual(changed);
  });
});

describe('changing the model', () => {
  it("is the path's where the body names none", () => {
    expect(geminiContent.rewrite({ contents: [] }, { model: 'gemini-2.5-flash' })).toEqual({ contents: [] });
  });

  it('keeps how the body names it', () => {
    expect(geminiContent.rewrite({ model: 'models/a' }, { model: 'b' })).toEqual({ model: 'models/b' });
    expect(geminiContent.rewrite({ model: 'a' }, { model: 'b' })).toEqual({ model: 'b' });
  });
});
