import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readGenerateContent } from '../../src/dialects/gemini-read.js';

const PATH = '/v1beta/models/gemini-2.5-flash:generateContent';
const read = (body: object) => readGenerateContent(body, PATH);
const parts = (...given: unknown[]) => read({ contents: [{ role: 'user', parts: given }] })?.sections[0]?.parts;
const hello = { kind: 'text', text: 'Hello' };

describe('contents', () => {
  it.each([
    ['a text', 'Hello'],
    ['a list of texts', ['Hello']],
    ['a content', { role: 'user', parts: [{ text: 'Hello' }] }],
    ['a content without a role', [{ parts: [{ text: 'Hello' }] }]],
    ['a content whose parts are one', [{ parts: { text: 'Hello' } }]],
    ['a content whose parts are a text', [{ parts: 'Hello' }]],
    ['a list of parts', [{ text: 'Hello' }]],
    ['a list with what is none', [null, 7, ['x'], 'Hello']],
  ])('are read from %s', (_, contents) => {
    expect(read({ contents })?.sections).toEqual([{ kind: 'message', role: 'user', parts: [hello] }]);
  });

  it('keep their order and roles, after what the system is told', () => {
    const draft = read({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [{ parts: ['a'] }, { role: 'model', parts: ['b'] }, { role: 'function', parts: ['c'] }],
    });

    expect(draft?.sections.map(({ role }) => role)).toEqual(['system', 'user', 'model', 'function']);
  });

  it.each([
    'Be brief.',
    { text: 'Be brief.' },
    { parts: { text: 'Be brief.' } },
    { role: 'user', parts: [{ text: 'Be brief.' }] },
  ])('of the system may be %j', (system) => {
    for (const named of [
      { systemInstruction: system },
      { system_instruction: system },
      { config: { systemInstruction: system } },
    ])
      expect(read({ contents: [], ...named })?.sections).toEqual([
        { kind: 'message', role: 'system', parts: [{ kind: 'text', text: 'Be brief.' }] },
      ]);
  });

  it('beyond 10,000 parts are read as JSON', () => {
    const draft = read({ contents: Array.from({ length: 10_001 }, () => 'x') });

    expect(draft?.sections.length).toBeLessThanOrEqual(10_001);
    expect(draft?.sections.at(-1)?.parts[0]?.kind).toBe('json');
  });
});

describe('parts', () => {
  it.each([
    ['thought', { text: 'Hello', thought: true }, [hello]],
    [
      'a call',
      { functionCall: { name: 'f', args: { a: 1 } } },
      [
        { kind: 'tool-call', name: 'f', arguments: '' },
        { kind: 'json', value: { a: 1 } },
      ],
    ],
    ['a call without arguments', { function_call: { name: 'f' } }, [{ kind: 'tool-call', name: 'f', arguments: '' }]],
    [
      'a result',
      { functionResponse: { name: 'f', response: { b: 2 }, parts: [{ inlineData: { mimeType: 'image/png', data: 'AA' } }] } },
      [
        { kind: 'text', text: 'f' },
        { kind: 'json', value: { b: 2 } },
        { kind: 'image', url: 'data:image/png;base64,AA' },
      ],
    ],
    ['code', { executableCode: { language: 'PYTHON', code: 'Hello' } }, [hello]],
    ['what code printed', { code_execution_result: { outcome: 'OUTCOME_OK', output: 'Hello' } }, [hello]],
    ['an image', { inline_data: { mime_type: 'image/png', data: 'AA' } }, [{ kind: 'image', url: 'data:image/png;base64,AA' }]],
    ['an image elsewhere', { fileData: { mimeType: 'image/png', fileUri: 'gs://a' } }, [{ kind: 'image', url: 'gs://a' }]],
    [
      'sound',
      { inlineData: { mimeType: 'Audio/WAV', data: 'AAAA' } },
      [{ kind: 'file', media: 'audio', base64Length: 4, data: 'AAAA' }],
    ],
    [
      'a document',
      { inlineData: { mimeType: 'application/pdf', data: 'AAAA' } },
      [{ kind: 'file', media: 'document', base64Length: 4, data: 'AAAA' }],
    ],
    ['plain text', { inlineData: { mimeType: 'text/csv', data: 'AAAAAAAA' } }, [{ kind: 'tokens', count: 2, isGuessed: true }]],
    [
      'a document elsewhere',
      { file_data: { mime_type: 'application/pdf', file_uri: 'gs://a' } },
      [{ kind: 'file', media: 'document', base64Length: 0 }],
    ],
    [
      'a film by its address',
      { fileData: { fileUri: 'https://youtu.be/x' } },
      [{ kind: 'file', media: 'video', base64Length: 0 }],
    ],
    [
      'a stretch of a film',
      { fileData: { mimeType: 'video/mp4', fileUri: 'gs://a' }, videoMetadata: { startOffset: '1.5s', endOffset: '9s' } },
      [{ kind: 'file', media: 'video', base64Length: 0, seconds: 7.5 }],
    ],
    [
      'a stretch of no length',
      { fileData: { mimeType: 'video/mp4' }, videoMetadata: { startOffset: '9s', endOffset: '9s' } },
      [{ kind: 'file', media: 'video', base64Length: 0 }],
    ],
    [
      'an image with a resolution',
      { inlineData: { mimeType: 'image/png', data: 'AA' }, mediaResolution: { level: 'MEDIA_RESOLUTION_HIGH' } },
      [{ kind: 'image', url: 'data:image/png;base64,AA', detail: 'high' }],
    ],
    ['what is not known', { sketch: 1 }, [{ kind: 'json', value: { sketch: 1 } }]],
    ['what is none', 7, []],
  ])('read %s', (_, part, expected) => {
    expect(parts(part)).toEqual(expected);
  });

  it('take the resolution of the request where they have none', () => {
    const image = { inlineData: { mimeType: 'image/png', data: 'AA' } };
    const draft = read({
      contents: [{ parts: ['x', image, { ...image, mediaResolution: { level: 'MEDIA_RESOLUTION_HIGH' } }] }],
      generationConfig: { mediaResolution: 'MEDIA_RESOLUTION_LOW' },
    });

    expect(draft?.sections[0]?.parts).toMatchObject([{ kind: 'text' }, { detail: 'low' }, { detail: 'high' }]);
  });
});

describe('tools', () => {
  const a = { name: 'a', parameters: { type: 'OBJECT' } };
  const json = (value: unknown) => ({ kind: 'json', value });

  it.each([
    ['one list', [{ functionDeclarations: [a, a] }], [json(a), json(a)]],
    ['two lists', [{ functionDeclarations: [a] }, { function_declarations: [a] }], [json(a), json(a)]],
    ['an object in place of the list', { functionDeclarations: a }, [json(a)]],
    ['tools of the provider', [{ googleSearch: {} }, { functionDeclarations: [a] }], [json({ googleSearch: {} }), json(a)]],
  ])('are read one by one from %s', (_, tools, expected) => {
    const draft = read({ contents: [], tools });

    expect(draft?.hasTools).toBe(true);
    expect(draft?.sections).toMatchObject([{ kind: 'tools', parts: expected, mustCall: false }]);
  });

  it.each(['ANY', 'any'])('must be called with the mode %s', (mode) => {
    const draft = read({ contents: [], tools: [{ functionDeclarations: [a] }], toolConfig: { functionCallingConfig: { mode } } });

    expect(draft?.sections[0]?.mustCall).toBe(true);
  });

  it('are none where the list is empty', () => {
    expect(read({ contents: [], tools: [] })?.hasTools).toBe(false);
  });
});

describe('settings', () => {
  it.each([
    [{ responseSchema: { type: 'STRING' } }, true, 1],
    [{ response_json_schema: { type: 'string' } }, true, 1],
    [{ responseMimeType: 'application/json' }, true, 0],
    [{ responseMimeType: 'text/plain' }, false, 0],
    [{}, false, 0],
  ])('%j ask for a format: %j', (generationConfig, hasFormat, sections) => {
    expect(read({ contents: [], generationConfig })).toMatchObject({ hasFormat, sections: { length: sections } });
  });

  it.each([
    [{ thinkingConfig: { thinkingBudget: 0 } }, false],
    [{ thinkingConfig: { thinking_budget: -1 } }, true],
    [{ thinking_config: { thinkingLevel: 'high' } }, true],
    [{}, false],
  ])('%j ask for thought: %j', (generationConfig, thinks) => {
    expect(read({ contents: [], generationConfig })?.thinks).toBe(thinks);
  });

  it('count only where they can be', () => {
    const draft = read({ contents: [], generationConfig: { maxOutputTokens: '9', candidateCount: 1e9 } });

    expect(draft).toMatchObject({ maximumOutputTokens: undefined, choices: 128 });
  });
});

describe('the model', () => {
  it("is the path's, whatever the body says", () => {
    expect(readGenerateContent({ model: 'cheap', contents: [] }, PATH)?.model).toBe('gemini-2.5-flash');
  });

  it("is the body's at a route of the application", () => {
    const body = { model: 'models/gemini-2.5-pro', contents: [{ parts: [{ text: 'x' }] }] };

    expect(readGenerateContent(body, '/messages')?.model).toBe('gemini-2.5-pro');
  });
});

describe('texts in the place of parts, at a route of the application', () => {
  it.each(['gemini-2.5-pro', 'google/gemini-2.5-pro', 'gemma-3-27b-it'])('are read for %s', (model) => {
    for (const contents of ['Hello', ['Hello'], [{ text: 'Hello' }]])
      expect(readGenerateContent({ model, contents })).toBeDefined();
  });
});

it('reads any JSON at its paths without throwing', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.jsonValue({ maxDepth: 4 }), (contents, tools) => {
      readGenerateContent({ contents, tools, systemInstruction: tools, generationConfig: contents }, PATH);
    }),
  );
});
