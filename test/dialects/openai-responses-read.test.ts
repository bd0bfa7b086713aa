import { describe, expect, it } from 'vitest';
import { readResponsesBody, rewriteResponsesBody } from '../../src/dialects/openai-responses-read.js';

const PATH = '/v1/responses';
const read = (more: object, path = PATH) => readResponsesBody({ model: 'gpt-4o', ...more }, path);
const sections = (...input: unknown[]) => read({ input })?.sections;
const text = (words: string) => ({ kind: 'text', text: words });
const HIDDEN = { kind: 'tokens', count: 0, isGuessed: true };

describe('reading the output maximum', () => {
  it.each([
    [{}, undefined],
    [{ max_output_tokens: 100 }, 100],
    [{ max_output_tokens: 100, max_tokens: 300, max_completion_tokens: 200 }, 300],
    [{ max_output_tokens: 7.9, max_tokens: null }, 7],
    [{ max_output_tokens: 1e308 }, 10_000_000],
    [{ max_output_tokens: 0 }, undefined],
    [{ max_output_tokens: -1 }, undefined],
    [{ max_output_tokens: '9' }, undefined],
    [{ max_output_tokens: Number.NaN }, undefined],
  ])('of %j gives %s', (fields, maximum) => {
    expect(read({ input: 'x', ...fields })?.maximumOutputTokens).toBe(maximum);
  });
});

describe('reading what kind of answer is asked for', () => {
  it.each([
    [{ stream: true }, { stream: true, wantsUsage: true }],
    [{ stream: 'true' }, { stream: false, wantsUsage: false }],
    [{ text: { format: { type: 'text' } } }, { hasFormat: false }],
    [{ text: { verbosity: 'low' } }, { hasFormat: false }],
    [{ text: { format: { type: 'json_object' } } }, { hasFormat: true }],
    [{ text: { format: { type: 'json_schema', name: 'out', schema: {} } } }, { hasFormat: true }],
    [{ text: 'json_object' }, { hasFormat: false }],
    [{ tools: [] }, { hasTools: false }],
    [{ tools: [{ type: 'web_search' }] }, { hasTools: true }],
    [{ n: 5 }, { choices: 1 }],
    [{}, { rules: 'responses' }],
  ])('of %j gives %j', (fields, draft) => {
    expect(read({ input: 'x', ...fields })).toMatchObject(draft);
  });
});

describe('reading by path', () => {
  it.each(['/v1/responses', '/V1/Responses/', '/openai/responses?api-version=2026-01-01', '/v1/responses/compact'])(
    'takes a body without an input that goes on with something else, sent to %s',
    (path) => {
      for (const question of [{ instructions: 'Go on.' }, { previous_response_id: 'resp_0' }, { prompt: { id: 'p' } }])
        expect(read(question, path)).toBeDefined();
      expect(read({}, path)).toBeUndefined();
    },
  );

  it('takes a body without an input nowhere else', () => {
    expect(read({ instructions: 'Go on.' }, '/api/chat')).toBeUndefined();
  });

  it.each(['/v1/embeddings', '/v1/completions', '/v1/messages', '/v1/responses/input_tokens', '/v1/audio/speech', '/v1/videos'])(
    'leaves a body that is sent to %s',
    (path) => {
      expect(read({ input: 'x', instructions: 'Be brief.' }, path)).toBeUndefined();
    },
  );
});

describe('reading the input', () => {
  it('gives instructions and a text as a message each', () => {
    expect(read({ input: 'Hello', instructions: 'Be brief.' })?.sections).toEqual([
      { kind: 'message', role: 'system', parts: [text('Be brief.')] },
      { kind: 'message', role: 'user', parts: [text('Hello')] },
    ]);
  });

  it('gives each part of a message', () => {
    const content = [
      { type: 'input_text', text: 'What is this?' },
      { type: 'output_text', text: 'A bird.', annotations: [{ type: 'url_citation', url: 'x'.repeat(1_000) }] },
      { type: 'refusal', refusal: 'No.' },
      { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'low' },
      { type: 'input_image', file_id: 'file-1' },
      { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${'x'.repeat(100)}` },
      { type: 'input_file', file_url: 'https://example.com/a.pdf' },
      { type: 'input_audio', input_audio: { data: 'x'.repeat(400), format: 'mp3' } },
      { type: 'input_video', video_url: 'https://example.com/a.mp4' },
      null,
    ];

    expect(sections({ role: 'user', content })?.[0]?.parts).toEqual([
      text('What is this?'),
      text('A bird.'),
      text('No.'),
      { kind: 'image', url: 'data:image/png;base64,AAAA', detail: 'low' },
      { kind: 'image', url: 'file-1', detail: undefined },
      { kind: 'file', media: 'document', base64Length: 100, data: 'x'.repeat(100) },
      { kind: 'file', media: 'document', base64Length: 0 },
      { kind: 'file', media: 'audio', base64Length: 400, data: 'x'.repeat(400) },
      { kind: 'json', value: content[8] },
    ]);
  });

  it('gives calls of tools and their results, in whatever form', () => {
    expect(
      sections(
        { type: 'function_call', call_id: 'a', name: 'weather', arguments: '{"city":"Oslo"}' },
        { type: 'function_call_output', call_id: 'a', output: 'rain' },
        { type: 'custom_tool_call', call_id: 'b', name: 'sql', input: 'select 1' },
        { type: 'custom_tool_call_output', call_id: 'b', output: [{ type: 'input_text', text: '1' }] },
        { type: 'computer_call_output', call_id: 'c', output: { type: 'computer_screenshot', image_url: 'data:image/png,' } },
      ),
    ).toEqual([
      { kind: 'message', parts: [{ kind: 'tool-call', name: 'weather', arguments: '{"city":"Oslo"}' }] },
      { kind: 'message', role: 'tool', parts: [text('rain')] },
      { kind: 'message', parts: [{ kind: 'tool-call', name: 'sql', arguments: 'select 1' }] },
      { kind: 'message', role: 'tool', parts: [text('1')] },
      { kind: 'message', role: 'tool', parts: [{ kind: 'image', url: 'data:image/png,', detail: undefined }] },
    ]);
  });

  it('gives what was thought, and guesses what is encrypted by its length', () => {
    const thought = { type: 'reasoning', id: 'rs', summary: [{ type: 'summary_text', text: 'Hm.' }] };

    expect(
      sections(thought, {
        ...thought,
        content: [{ type: 'reasoning_text', text: 'Let me see.' }],
        encrypted_content: 'x'.repeat(1_600),
      }),
    ).toEqual([
      { kind: 'message', parts: [text('Hm.'), HIDDEN] },
      { kind: 'message', parts: [text('Let me see.'), text('Hm.'), { ...HIDDEN, count: 300 }] },
    ]);
  });

  it('gives what it does not know as JSON, and pictures that were made as pictures', () => {
    const search = { type: 'web_search_call', id: 'ws', status: 'completed', action: { type: 'search', query: 'x' } };

    expect(sections(search, { type: 'image_generation_call', id: 'ig', result: 'A'.repeat(100) })).toEqual([
      { kind: 'message', parts: [{ kind: 'json', value: search }] },
      { kind: 'message', parts: [{ kind: 'image', url: `data:image/png;base64,${'A'.repeat(100)}` }] },
    ]);
  });

  it('gives tools that come with the conversation, and what surrounds them', () => {
    const tools = [{ type: 'function', name: 'f' }];

    expect(sections({ type: 'additional_tools', role: 'developer', tools })).toEqual([
      {
        kind: 'message',
        role: 'developer',
        parts: [
          { kind: 'json', value: tools },
          { kind: 'tokens', count: 65, isGuessed: true },
        ],
      },
    ]);
  });

  it.each([
    ['an earlier response', { previous_response_id: 'resp_0' }, []],
    ['a conversation', { conversation: 'conv_1' }, []],
    [
      'a template',
      { prompt: { id: 'p', variables: { a: 'Oslo', b: { type: 'input_text', text: 'now' } } } },
      [text('Oslo'), text('now')],
    ],
  ])('marks as hidden what the provider keeps of %s', (_, kept, visible) => {
    expect(read({ input: 'x', ...kept })?.sections[0]).toEqual({ kind: 'message', parts: [HIDDEN, ...visible] });
  });

  it('marks as hidden what an item only refers to', () => {
    expect(sections({ type: 'item_reference', id: 'msg_1' })).toEqual([{ kind: 'message', parts: [HIDDEN] }]);
  });

  it('counts the items beyond the first 4,096 as JSON', () => {
    const found = sections(...Array.from({ length: 4_098 }, () => ({ type: 'function_call_output', output: '' })));

    expect(found).toHaveLength(4_097);
    expect(found?.at(-1)?.parts).toEqual([
      { kind: 'json', value: [1, 2].map(() => ({ type: 'function_call_output', output: '' })) },
    ]);
  });

  it('passes over what is no item', () => {
    expect(sections(null, 'text', 7, [], { role: 'user', content: 'x' })).toEqual([
      { kind: 'message', role: 'user', parts: [text('x')] },
    ]);
  });
});

describe('reading definitions', () => {
  const f = { type: 'function', name: 'f' };
  const g = { type: 'function', name: 'g' };

  it.each([
    ['one of one function', 'required', [f], 'f'],
    ['one of several', 'required', [f, g], undefined],
    ['a tool of the provider', 'required', [{ type: 'web_search', name: 'f' }], undefined],
    ['none', 'auto', [f], undefined],
    ['a named one', { type: 'function', name: 'g' }, [f, g], 'g'],
    ['one of those allowed', { type: 'allowed_tools', mode: 'required', tools: [f] }, [f, g], undefined],
    ['a name that is none', { type: 'function', name: 7 }, [f], undefined],
  ])('gives the name of what must be called when that is %s', (_, tool_choice, tools, name) => {
    expect(read({ input: [], tools, tool_choice })?.sections[0]?.mustCallName).toBe(name);
  });

  it('gives what the prompt shows of functions, other tools as they are, and the one that must be called', () => {
    const parameters = { type: 'object', properties: {} };
    const tool_choice = { type: 'function', name: 'f' };
    const custom = { type: 'custom', name: 'sql', format: { type: 'grammar', definition: 'x' } };

    const draft = read({
      input: [],
      tools: [
        { type: 'function', name: 'f', description: 'Does.', parameters, strict: true },
        { type: 'function', name: 'g', parameters },
        custom,
      ],
      tool_choice,
    });

    expect(draft?.sections).toEqual([
      {
        kind: 'tools',
        parts: [{ name: 'f', description: 'Does.', parameters }, { name: 'g', parameters }, custom].map((value) => ({
          kind: 'json',
          value,
        })),
        mustCallName: 'f',
      },
    ]);
  });

  it('gives the name, the description and the schema of a format', () => {
    const schema = { type: 'object' };
    const format = { type: 'json_schema', name: 'out', description: 'An answer.', schema, strict: true };

    expect(read({ input: [], text: { format } })?.sections).toEqual([
      { kind: 'format', parts: [text('out'), text('An answer.'), { kind: 'json', value: schema }] },
    ]);
  });

  it('gives nothing for a choice without tools, nor for a format without a schema', () => {
    expect(
      read({ input: [], tools: [], tool_choice: { type: 'function' }, text: { format: { type: 'json_object' } } })?.sections,
    ).toEqual([]);
  });
});

describe('rewriting', () => {
  const body = (more: object) => ({ model: 'gpt-4o', input: 'x', ...more });

  it.each([
    [
      'lowers every field that declares a maximum',
      { max_output_tokens: 90, max_tokens: 80 },
      { max_output_tokens: 50, max_tokens: 50 },
    ],
    ['leaves a maximum that is lower already', { max_output_tokens: 20 }, { max_output_tokens: 20 }],
    ['replaces a value that is none', { max_output_tokens: '5000' }, { max_output_tokens: 50 }],
    ['declares one where there is none', {}, { max_output_tokens: 50 }],
    ['declares one in the place of null', { max_output_tokens: null }, { max_output_tokens: 50 }],
  ])('%s', (_, given, expected) => {
    expect(rewriteResponsesBody(body(given), { maximumOutputTokens: 50 })).toEqual(body(expected));
  });

  it('changes the model and asks for no usage, which comes anyway', () => {
    const changed = rewriteResponsesBody(body({ stream: true }), { model: 'gpt-4o-mini', includeUsage: true });

    expect(changed).toEqual({ ...body({ stream: true }), model: 'gpt-4o-mini' });
  });
});
