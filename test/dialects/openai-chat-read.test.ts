import { describe, expect, it } from 'vitest';
import { readChat } from '../../src/dialects/openai-chat-read.js';

const MESSAGES = [{ role: 'user', content: 'Hello' }];
const body = (more: object) => ({ model: 'gpt-4o', messages: MESSAGES, ...more });
const sections = (...messages: unknown[]) => readChat({ model: 'gpt-4o', messages })?.sections;

describe('reading the output maximum', () => {
  it.each([
    [{}, undefined],
    [{ max_tokens: 100 }, 100],
    [{ max_completion_tokens: 100 }, 100],
    [{ max_output_tokens: 100 }, 100],
    [{ max_tokens: 300, max_completion_tokens: 200, max_output_tokens: 100 }, 300],
    [{ max_tokens: null, max_completion_tokens: 7.9 }, 7],
    [{ max_tokens: 1e308 }, 10_000_000],
    [{ max_tokens: Number.POSITIVE_INFINITY }, undefined],
    [{ max_tokens: Number.NaN }, undefined],
    [{ max_tokens: -1 }, undefined],
    [{ max_tokens: 0 }, undefined],
    [{ max_tokens: 0.5 }, undefined],
    [{ max_tokens: '9' }, undefined],
    [{ max_tokens: [9] }, undefined],
    [{ max_tokens: -5, max_completion_tokens: 20 }, 20],
  ])('of %j gives %s', (fields, maximum) => {
    expect(readChat(body(fields))?.maximumOutputTokens).toBe(maximum);
  });
});

describe('reading the number of choices', () => {
  it.each([
    [undefined, 1],
    [null, 1],
    [1, 1],
    [3, 3],
    [2.9, 2],
    [129, 128],
    [1e308, 128],
    [0, 1],
    [-4, 1],
    ['4', 1],
    [Number.NaN, 1],
  ])('of %j gives %s', (n, choices) => {
    expect(readChat(body({ n }))?.choices).toBe(choices);
  });
});

describe('reading what kind of answer is asked for', () => {
  it.each([
    [{ stream: true }, { stream: true, wantsUsage: false }],
    [{ stream: 'true' }, { stream: false, wantsUsage: false }],
    [
      { stream: true, stream_options: { include_usage: true } },
      { stream: true, wantsUsage: true },
    ],
    [
      { stream: false, stream_options: { include_usage: true } },
      { stream: false, wantsUsage: false },
    ],
    [
      { stream: true, stream_options: null },
      { stream: true, wantsUsage: false },
    ],
    [{ response_format: { type: 'text' } }, { hasFormat: false }],
    [{ response_format: { type: 'json_object' } }, { hasFormat: true }],
    [{ response_format: 'json_object' }, { hasFormat: false }],
    [{ tools: [] }, { hasTools: false }],
    [{ tools: null, functions: [{ name: 'f' }] }, { hasTools: true }],
  ])('of %j gives %j', (fields, draft) => {
    expect(readChat(body(fields))).toMatchObject(draft);
  });
});

describe('reading by path', () => {
  it.each([
    '/v1/chat/completions',
    '/v1/chat/completions/',
    '/openai/deployments/gpt-4o/chat/completions?api-version=2026-01-01',
    '/api/chat',
    '/responses/1/chat',
    '',
    '////',
  ])('takes a chat body sent to %j', (path) => {
    expect(readChat(body({}), path)).toBeDefined();
  });

  it('takes a path of any length', () => {
    expect(readChat(body({}), `/${'x/'.repeat(50_000)}`)).toBeDefined();
    expect(readChat(body({}), '/'.repeat(100_000))).toBeDefined();
  });

  it.each(['/v1/responses', '/v1/embeddings', '/v1/messages', '/v1/responses/?x=/chat', '/v1beta/models/g:generateContent'])(
    'leaves a body that is sent to %s',
    (path) => {
      expect(readChat(body({}), path)).toBeUndefined();
    },
  );
});

describe('reading messages', () => {
  it('reads 262,144 characters of such files as text, and guesses the rest by its bytes', () => {
    const file = { file_data: `data:text/plain;base64,${Buffer.from('x'.repeat(300_000)).toString('base64')}` };

    expect(
      sections({
        role: 'user',
        content: [
          { type: 'file', file },
          { type: 'file', file },
        ],
      })?.[0]?.parts,
    ).toEqual([
      { kind: 'text', text: 'x'.repeat(196_608) },
      { kind: 'tokens', count: 34_464, isGuessed: true },
      { kind: 'text', text: '' },
      { kind: 'tokens', count: 100_000, isGuessed: true },
    ]);
  });

  it.each([
    ['data:text/csv;base64,', 'a,b\n1,2'],
    ['data:application/json;base64,', '{"a":1}'],
    ['data:TEXT/plain;charset=utf-8;base64,', 'Grüße'],
  ])('gives a file that begins with %s as the text that it is', (head, said) => {
    const file = { file_data: `${head}${Buffer.from(said).toString('base64')}`, filename: 'a' };

    expect(sections({ role: 'user', content: [{ type: 'file', file }] })?.[0]?.parts).toEqual([{ kind: 'text', text: said }]);
  });

  it('gives text, names and roles in their order', () => {
    expect(sections({ role: 'system', content: 'Be brief.', name: 'rules' }, { role: 'user', content: 'Hello' })).toEqual([
      { kind: 'message', role: 'system', name: 'rules', parts: [{ kind: 'text', text: 'Be brief.' }] },
      { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'Hello' }] },
    ]);
  });

  it('gives each part of a list', () => {
    const content = [
      { type: 'text', text: 'What is this?' },
      { type: 'refusal', refusal: 'No.' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
      { type: 'image_url', image_url: 'https://example.com/a.png' },
      { type: 'input_audio', input_audio: { data: 'x'.repeat(400), format: 'wav' } },
      { type: 'file', file: { file_data: `data:application/pdf;base64,${'x'.repeat(100)}`, filename: 'a.pdf' } },
      { type: 'file', file: { file_id: 'file-1' } },
      { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } },
      'loose text',
      null,
      7,
    ];

    expect(sections({ role: 'user', content })?.[0]?.parts).toEqual([
      { kind: 'text', text: 'What is this?' },
      { kind: 'text', text: 'No.' },
      { kind: 'image', url: 'data:image/png;base64,AAAA', detail: 'low' },
      { kind: 'image', url: 'https://example.com/a.png', detail: undefined },
      { kind: 'file', media: 'audio', base64Length: 400, data: 'x'.repeat(400) },
      { kind: 'file', media: 'document', base64Length: 100, data: 'x'.repeat(100) },
      { kind: 'file', media: 'document', base64Length: 0 },
      { kind: 'json', value: content[7] },
      { kind: 'text', text: 'loose text' },
    ]);
  });

  it('gives calls of tools, of either kind and of the older form, and an answer that was refused', () => {
    const message = {
      role: 'assistant',
      content: null,
      refusal: 'I cannot.',
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
        { id: 'b', type: 'custom', custom: { name: 'sql', input: 'select 1' } },
        { id: 'c', type: 'function', function: { name: 'time', arguments: { zone: 'UTC' } } },
        null,
      ],
      function_call: { name: 'old', arguments: '{}' },
    };

    expect(sections(message)?.[0]?.parts).toEqual([
      { kind: 'text', text: 'I cannot.' },
      { kind: 'tool-call', name: 'weather', arguments: '{"city":"Oslo"}' },
      { kind: 'tool-call', name: 'sql', arguments: 'select 1' },
      { kind: 'tool-call', name: 'time', arguments: '' },
      { kind: 'json', value: { zone: 'UTC' } },
      { kind: 'tool-call', name: 'old', arguments: '{}' },
    ]);
  });

  it('passes over what is no message', () => {
    expect(sections(null, 'text', 7, [], { role: 'user', content: 'x' }, {})).toEqual([
      { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'x' }] },
      { kind: 'message', role: '', parts: [] },
    ]);
  });
});

describe('reading more messages and parts than anybody sends', () => {
  const message = { role: 'user', content: 'x' };
  const part = { type: 'text', text: 'x' };

  it('reads 4,096 messages one by one and the rest as JSON', () => {
    const read = sections(...Array.from({ length: 4_099 }, () => message));

    expect(read).toHaveLength(4_097);
    expect(read?.[4_095]).toEqual({ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'x' }] });
    expect(read?.[4_096]).toEqual({ kind: 'message', parts: [{ kind: 'json', value: [message, message, message] }] });
  });

  it('reads as many parts and calls, in whichever messages, and the rest as JSON', () => {
    const read = sections(
      { role: 'user', content: Array.from({ length: 4_086 }, () => part) },
      { role: 'user', content: Array.from({ length: 20 }, () => part) },
      message,
    );

    expect(read?.map(({ parts }) => parts.length)).toEqual([4_086, 9, 1]);
    expect(read?.[1]?.parts.at(-1)).toEqual({ kind: 'json', value: Array.from({ length: 12 }, () => part) });
    expect(read?.[2]?.parts).toEqual([{ kind: 'json', value: [message] }]);
  });
});

describe('reading definitions', () => {
  it('gives tools with the one that must be called, and a schema with its name and description', () => {
    const tools = [{ type: 'function', function: { name: 'f' } }];
    const tool_choice = { type: 'function', function: { name: 'f' } };
    const schema = { type: 'object' };
    const json_schema = { name: 'out', description: 'An answer.', schema, strict: true };

    const draft = readChat(body({ tools, tool_choice, response_format: { type: 'json_schema', json_schema } }));

    expect(draft?.sections.slice(1)).toEqual([
      { kind: 'tools', parts: [{ kind: 'json', value: tools }], mustCallName: 'f' },
      {
        kind: 'format',
        parts: [
          { kind: 'text', text: 'out' },
          { kind: 'text', text: 'An answer.' },
          { kind: 'json', value: schema },
        ],
      },
    ]);
  });

  it('gives the function that must be called by the older field, and nothing of a choice that is none', () => {
    const functions = [{ name: 'f' }];

    expect(readChat(body({ functions, function_call: { name: 'f' } }))?.sections[1]?.mustCallName).toBe('f');
    for (const tool_choice of [
      'auto',
      'required',
      7,
      null,
      { type: 'allowed_tools' },
      { type: 'function', function: { name: 7 } },
    ])
      expect(readChat(body({ functions, tool_choice }))?.sections[1]?.mustCallName).toBeUndefined();
  });

  it('gives nothing for choices without tools, nor for a format without a schema', () => {
    const draft = readChat(body({ tools: [], tool_choice: { type: 'function' }, response_format: { type: 'json_object' } }));

    expect(draft?.sections).toHaveLength(1);
  });
});
