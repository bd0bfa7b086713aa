import { describe, expect, it } from 'vitest';
import { readMessagesBody } from '../../src/dialects/anthropic-read.js';

const MESSAGES = [{ role: 'user', content: 'Hello' }];
const body = (more: object) => ({ model: 'claude-sonnet-4-5', max_tokens: 100, messages: MESSAGES, ...more });
const read = (more: object) => readMessagesBody(body(more), '/v1/messages');
const partsOf = (content: unknown) => read({ messages: [{ role: 'user', content }] })?.sections[0]?.parts;
/** Of a document that is text. */
const SURROUNDINGS = { kind: 'tokens', count: 38, isGuessed: true };
const block = (type: string, more: object = {}) => ({ type, ...more });

describe('reading by path', () => {
  it.each([
    '/v1/messages',
    '/v1/messages/',
    '/v1/messages?beta=true',
    '/anthropic/v1/messages',
    '/messages',
    'https://gateway.test/v1/messages#x',
  ])('takes any body with a model and messages that is sent to %s', (path) => {
    expect(readMessagesBody({ model: 'gpt-4o', messages: MESSAGES }, path)).toBeDefined();
  });

  it.each([
    '/v1/chat/completions',
    '/v1/completions',
    '/v1/responses',
    '/v1/embeddings',
    '/v1/messages/count_tokens?beta=true',
    '/v1/messages/batches',
    '/v1beta/models/gemini-2.5-pro:generateContent',
  ])('leaves a body that is sent to %s, whatever it looks like', (path) => {
    expect(readMessagesBody(body({ system: 'Be brief.' }), path)).toBeUndefined();
  });

  it('takes a path of any length', () => {
    expect(readMessagesBody(body({}), `${'/x'.repeat(50_000)}/messages`)).toBeDefined();
    expect(readMessagesBody(body({}), '/'.repeat(100_000))).toBeDefined();
  });
});

describe('reading what is asked for', () => {
  it.each([
    [100, 100],
    [7.9, 7],
    [1e308, 10_000_000],
    [0, undefined],
    [-1, undefined],
    [0.5, undefined],
    ['9', undefined],
    [null, undefined],
    [Number.NaN, undefined],
  ])('finds in max_tokens %j the maximum %s', (max_tokens, maximum) => {
    expect(read({ max_tokens })?.maximumOutputTokens).toBe(maximum);
  });

  it.each([
    [{ stream: true }, { stream: true, wantsUsage: true }],
    [{ stream: 'true' }, { stream: false, wantsUsage: false }],
    [{ n: 4 }, { choices: 1 }],
    [{ tools: [] }, { hasTools: false }],
    [{ tools: { 0: { name: 'f' } } }, { hasTools: false }],
    [{ tools: [{ name: 'f', input_schema: {} }] }, { hasTools: true }],
    [{ output_format: { type: 'json_schema', schema: {} } }, { hasFormat: true }],
    [{ output_config: { format: { type: 'json_schema', schema: {} } } }, { hasFormat: true }],
    [{ output_config: { effort: 'low' } }, { hasFormat: false }],
    [{ output_config: { format: { type: 'text' } } }, { hasFormat: false }],
    [{ output_format: 'json' }, { hasFormat: false }],
    [{ thinking: { type: 'enabled', budget_tokens: 2_000 } }, { thinks: true }],
    [{ thinking: { type: 'adaptive' } }, { thinks: true }],
    [{ thinking: { type: 'disabled' } }, { thinks: false }],
    [{ thinking: true }, { thinks: false }],
  ])('of %j gives %j', (fields, draft) => {
    expect(read(fields)).toMatchObject(draft);
  });
});

describe('reading the prompt', () => {
  it('gives what the system is told, then each message with its role', () => {
    const system = [
      block('text', { text: 'Be brief.', cache_control: { type: 'ephemeral' } }),
      block('text', { text: 'Be kind.' }),
    ];
    const messages = [...MESSAGES, { role: 'assistant', content: [block('text', { text: 'Hi!' })] }];

    expect(read({ system, messages })?.sections).toEqual([
      {
        kind: 'message',
        role: 'system',
        parts: [
          { kind: 'text', text: 'Be brief.' },
          { kind: 'text', text: 'Be kind.' },
        ],
      },
      { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'Hello' }] },
      { kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: 'Hi!' }] },
    ]);
    expect(read({ system: 'Be brief.' })?.sections[0]).toMatchObject({ role: 'system', parts: [{ text: 'Be brief.' }] });
  });

  it('gives images as data URLs or addresses', () => {
    const images = [
      block('image', { source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }),
      block('image', { source: { type: 'url', url: 'https://x.test/a.png' } }),
      block('image', { source: { type: 'file', file_id: 'file_1' } }),
      block('image'),
    ];

    expect(partsOf(images)).toEqual([
      { kind: 'image', url: 'data:image/png;base64,AAAA' },
      { kind: 'image', url: 'https://x.test/a.png' },
      { kind: 'image', url: 'file_1' },
      { kind: 'image', url: '' },
    ]);
  });

  it('gives documents by their length, and those that are text as text', () => {
    const documents = [
      block('document', { source: { type: 'base64', media_type: 'application/pdf', data: 'x'.repeat(100) } }),
      block('document', { source: { type: 'url', url: 'https://x.test/a.pdf' } }),
      block('document', { source: { type: 'text', data: 'Line.' }, title: 'Notes', context: 'Old.' }),
      block('document', { source: { type: 'content', content: 'Loose.' } }),
      block('document', {
        source: {
          type: 'content',
          content: [block('text', { text: 'a' }), block('image', { source: { type: 'url', url: 'u' } })],
        },
      }),
      block('document'),
    ];

    expect(partsOf(documents)).toEqual([
      { kind: 'file', media: 'document', base64Length: 100, data: 'x'.repeat(100) },
      { kind: 'file', media: 'document', base64Length: 0 },
      { kind: 'text', text: 'Notes' },
      { kind: 'text', text: 'Old.' },
      { kind: 'text', text: 'Line.' },
      SURROUNDINGS,
      { kind: 'text', text: 'Loose.' },
      SURROUNDINGS,
      { kind: 'text', text: 'a' },
      { kind: 'image', url: 'u' },
      SURROUNDINGS,
      { kind: 'file', media: 'document', base64Length: 0 },
    ]);
  });

  it('gives calls of tools with their input, and their results', () => {
    const input = { city: 'Oslo' };
    const content = [
      block('tool_use', { id: 'a', name: 'weather', input }),
      block('tool_use', { id: 'b', name: 'sql', input: 'select 1' }),
      block('tool_use', { id: 'c', name: 'time' }),
      block('tool_result', { tool_use_id: 'a', content: 'Rain.' }),
      block('tool_result', {
        content: [
          block('text', { text: 'See:' }),
          block('image', { source: { type: 'url', url: 'u' } }),
          block('document', { source: { type: 'text', data: 'Line.' } }),
        ],
      }),
      block('tool_result', { tool_use_id: 'c' }),
    ];

    expect(partsOf(content)).toEqual([
      { kind: 'tool-call', name: 'weather', arguments: '' },
      { kind: 'json', value: input },
      { kind: 'tool-call', name: 'sql', arguments: 'select 1' },
      { kind: 'tool-call', name: 'time', arguments: '' },
      { kind: 'text', text: 'Rain.' },
      { kind: 'text', text: 'See:' },
      { kind: 'image', url: 'u' },
      { kind: 'text', text: 'Line.' },
      SURROUNDINGS,
    ]);
  });

  it('gives thinking as text, and what it does not know as JSON', () => {
    const search = block('server_tool_use', { id: 's', name: 'web_search', input: { query: 'x' } });
    const found = block('web_search_tool_result', { tool_use_id: 's', content: [{ url: 'u' }] });
    const content = [block('thinking', { thinking: 'Hm.', signature: 'c2ln' }), search, found, 'loose text', null, 7];

    expect(partsOf(content)).toEqual([
      { kind: 'text', text: 'Hm.' },
      { kind: 'json', value: search },
      { kind: 'json', value: found },
      { kind: 'text', text: 'loose text' },
    ]);
  });

  it('gives what the prompt shows of each tool, and whether one must be called', () => {
    const input_schema = { type: 'object' };
    const tools = [
      { name: 'f', description: 'Does.', input_schema, cache_control: { type: 'ephemeral' }, strict: true },
      { type: 'custom', name: 'g', input_schema },
      { type: 'web_search_20250305', name: 'web_search', max_uses: 3 },
    ];
    const definitions = [{ name: 'f', description: 'Does.', input_schema }, { name: 'g', input_schema }, tools[2]];
    const choices = [undefined, { type: 'auto' }, { type: 'none' }, 'any', { type: 'any' }, { type: 'tool', name: 'f' }];

    const sections = choices.map((tool_choice) => read({ tools, tool_choice })?.sections[1]);

    expect(sections[0]?.parts).toEqual(definitions.map((value) => ({ kind: 'json', value })));
    expect(sections.map((section) => section?.mustCall)).toEqual([false, false, false, false, true, true]);
  });

  it('gives the schema of the answer, wherever it stands', () => {
    const schema = { type: 'object' };
    const format = { kind: 'format', parts: [{ kind: 'json', value: schema }] };

    expect(read({ output_format: { type: 'json_schema', schema } })?.sections.at(-1)).toEqual(format);
    expect(read({ output_config: { format: { type: 'json_schema', schema } } })?.sections.at(-1)).toEqual(format);
  });
});

describe('hostile bodies', () => {
  const deep = (around: (inner: unknown) => unknown): unknown => {
    let value: unknown = 'x';
    for (let level = 0; level < 10_000; level++) value = around(value);
    return value;
  };
  const many = <T>(length: number, item: T): T[] => Array.from({ length }, () => item);
  const nested = deep((inner) => [block('tool_result', { content: inner })]);

  it.each<[string, object]>([
    ['results nested 10,000 deep', { messages: [{ role: 'user', content: nested }] }],
    [
      'documents nested 10,000 deep',
      {
        messages: [
          { role: 'user', content: deep((inner) => [block('document', { source: { type: 'content', content: inner } })]) },
        ],
      },
    ],
    ['instructions nested 10,000 deep', { system: nested }],
    ['tools nested 10,000 deep', { tools: nested }],
    ['200,000 messages', { messages: many(200_000, MESSAGES[0]) }],
    [
      '200,000 blocks in a result',
      { messages: [{ role: 'user', content: [block('tool_result', { content: many(200_000, {}) })] }] },
    ],
    ['200,000 tools', { tools: many(200_000, { name: 'f', input_schema: {} }) }],
    ['200,000 blocks of instructions', { system: many(200_000, block('text', { text: 'x' })) }],
  ])('with %s are read in a moment, and count what was not read as JSON', (_, more) => {
    const startMs = performance.now();

    const draft = read(more);

    expect(performance.now() - startMs).toBeLessThan(500);
    const parts = draft?.sections.flatMap((section) => section.parts) ?? [];
    expect(parts.length).toBeLessThanOrEqual(20_002);
    expect(parts.some(({ kind }) => kind === 'json')).toBe(true);
  });
});
