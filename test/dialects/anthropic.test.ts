import { anthropicMessages } from '../../src/dialects/anthropic.js';
import { dialectConformance } from '../conformance/dialect.js';

const user = (content: unknown) => ({ role: 'user', content });
const text = (words: string) => ({ type: 'text', text: words });
const wire = (...events: { readonly type: string }[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
const message = (content: unknown[], end: string | null = 'end_turn', more: object = {}) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5-20250929',
  content,
  stop_reason: end,
  stop_sequence: null,
  ...more,
});

const started = (usage?: object) => ({ type: 'message_start', message: message([], null, usage ? { usage } : {}) });
const begun = (index: number, block: object) => ({ type: 'content_block_start', index, content_block: block });
const delta = (index: number, fields: object) => ({ type: 'content_block_delta', index, delta: fields });
const said = (index: number, words: string) => delta(index, { type: 'text_delta', text: words });
const stopped = (index: number) => ({ type: 'content_block_stop', index });
const ended = (end: string | null = 'end_turn', usage: object = { output_tokens: 34 }) => ({
  type: 'message_delta',
  delta: { stop_reason: end, stop_sequence: null },
  usage,
});
const STOP = { type: 'message_stop' };
const spoken = (index: number, words: string) => [begun(index, text('')), said(index, words), stopped(index)];

const USAGE = { input_tokens: 4, cache_creation_input_tokens: 2, cache_read_input_tokens: 6, output_tokens: 34 };
/** What the end of a stream tells where it does not repeat the prompt. */
const OUTPUT = { inputTokens: undefined, outputTokens: 34 };
const REPORTED = { inputTokens: 12, outputTokens: 34, cachedInputTokens: 6, cacheWriteTokens: 2 };

dialectConformance('anthropicMessages', {
  dialect: anthropicMessages,
  samples: {
    bodies: [
      {
        body: { model: 'claude-haiku-4-5', max_tokens: 256, system: 'Be brief.', messages: [user('Hello')] },
        path: '/v1/messages',
        draft: {
          model: 'claude-haiku-4-5',
          stream: false,
          wantsUsage: false,
          maximumOutputTokens: 256,
          choices: 1,
          hasTools: false,
        },
      },
      {
        body: {
          model: 'claude-sonnet-4-5',
          max_tokens: 4_000,
          stream: true,
          thinking: { type: 'adaptive' },
          messages: [
            user([text('What is it?'), { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }]),
            { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }, text('A dot.')] },
            user([{ type: 'document', title: 'Notes', source: { type: 'text', media_type: 'text/plain', data: 'x' } }]),
          ],
        },
        draft: { stream: true, wantsUsage: true, maximumOutputTokens: 4_000, hasTools: false, hasFormat: false },
      },
      {
        body: {
          model: 'fast',
          system: [{ ...text('Be brief.'), cache_control: { type: 'ephemeral' } }],
          tools: [{ name: 'weather', description: 'Tells it.', input_schema: { type: 'object', properties: {} } }],
          tool_choice: { type: 'any' },
          output_config: { format: { type: 'json_schema', schema: { type: 'object' } } },
          messages: [
            user('How is it in Oslo?'),
            { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Oslo' } }] },
            user([{ type: 'tool_result', tool_use_id: 'a', content: [text('Rain.')] }]),
          ],
        },
        draft: { model: 'fast', maximumOutputTokens: undefined, hasTools: true, hasFormat: true },
      },
    ],
    foreign: [
      { body: { model: 'gpt-4o', messages: [user('Hello')] } },
      { body: { model: 'gpt-4o', max_tokens: 9, messages: [user([text('Hello')])] }, path: '/api/chat' },
      { body: { model: 'claude-sonnet-4-5', max_tokens: 9, messages: [user('Hello')] }, path: '/v1/chat/completions' },
      { body: { model: 'claude-sonnet-4-5', system: 'x', messages: [user('Hello')] }, path: '/v1/messages/count_tokens' },
      { body: { model: 'claude-sonnet-4-5', system: 'x', messages: [] }, path: '/v1/messages/batches?limit=1' },
      { body: { model: 'claude-sonnet-4-5', system: 'x', messages: [] }, path: '/v1/responses' },
      { body: { model: 'claude-sonnet-4-5', system: 'x', messages: { 0: user('Hello') } }, path: '/v1/messages' },
      { body: { system: 'x', messages: [user('Hello')] }, path: '/v1/messages' },
      { body: { model: '', messages: [] }, path: '/v1/messages' },
      { body: { model: 'm'.repeat(257), messages: [] }, path: '/v1/messages' },
      { body: { model: ['claude-sonnet-4-5'], messages: [] }, path: '/v1/messages' },
      { body: { model: 'claude-2.1', prompt: '\n\nHuman: Hello\n\nAssistant:' } },
    ],
    answers: [
      { body: message([text('Hi!')], 'end_turn', { usage: USAGE }), usage: REPORTED, complete: { text: 'Hi!' } },
      { body: message([text('one '), text('two 你好 😀')], 'stop_sequence'), complete: { text: 'one two 你好 😀' } },
      {
        body: message([text('Let me see.'), { type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Oslo' } }], 'tool_use'),
        complete: { text: 'Let me see.' },
      },
      {
        body: message([{ type: 'thinking', thinking: 'x'.repeat(1_000), signature: 'c2ln' }, text('So 7.')]),
        complete: { text: 'So 7.' },
      },
      {
        body: message([
          { type: 'redacted_thinking', data: 'AAAA' },
          { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'Oslo' } },
          { type: 'web_search_tool_result', tool_use_id: 's', content: [{ type: 'web_search_result', title: 'Oslo' }] },
          { ...text('Rain.'), citations: [{ type: 'web_search_result_location', cited_text: 'Rain', url: 'https://x.test' }] },
        ]),
        complete: { text: 'Rain.' },
      },
      { body: message([]), complete: { text: '' } },
      { body: message([text('cut')], 'max_tokens', { usage: USAGE }), usage: REPORTED },
      { body: message([text('bad')], 'refusal') },
      { body: message([text('more')], 'pause_turn') },
      { body: message([text('half')], null) },
      { body: message([text('x')], 'end_turn', { error: { type: 'api_error' } }) },
      { body: { ...message([]), content: 'text' } },
      { body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } } },
      {
        body: message([text('x')], 'end_turn', { usage: { input_tokens: 0, output_tokens: 5 } }),
        usage: { inputTokens: undefined, outputTokens: 5 },
        complete: { text: 'x' },
      },
      { body: message([], 'max_tokens', { usage: { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0 } }) },
      { body: message([], 'max_tokens', { usage: { input_tokens: '12', output_tokens: -1 } }) },
      {
        body: message([], 'max_tokens', { usage: { input_tokens: 12.9, cache_read_input_tokens: 1e308, output_tokens: 1e308 } }),
        usage: { inputTokens: 10_000_000, cachedInputTokens: 10_000_000, outputTokens: 10_000_000 },
      },
    ],
    streams: [
      {
        wire: wire(
          started({ ...USAGE, output_tokens: 1 }),
          begun(0, text('')),
          { type: 'ping' },
          said(0, 'Hel'),
          said(0, 'lo 😀'),
          stopped(0),
          ended('end_turn', USAGE),
          STOP,
        ),
        usage: REPORTED,
        complete: { text: 'Hello 😀' },
      },
      { wire: wire(started(USAGE), ...spoken(0, 'x'), ended(), STOP), usage: OUTPUT, complete: { text: 'x' } },
      {
        wire: wire(
          started(),
          begun(0, { type: 'thinking', thinking: '', signature: '' }),
          delta(0, { type: 'thinking_delta', thinking: 'Hm. ' }),
          delta(0, { type: 'signature_delta', signature: 'c2ln' }),
          stopped(0),
          begun(1, { type: 'tool_use', id: 'a', name: 'weather', input: {} }),
          delta(1, { type: 'input_json_delta', partial_json: '' }),
          delta(1, { type: 'input_json_delta', partial_json: '{"city":' }),
          delta(1, { type: 'input_json_delta', partial_json: '"Oslo"}' }),
          stopped(1),
          begun(2, { type: 'tool_use', id: 'b', name: 'time', input: {} }),
          stopped(2),
          ended('tool_use'),
          STOP,
        ),
        usage: OUTPUT,
        complete: { text: '' },
      },
      { wire: wire(started(), ...spoken(0, 'cut'), ended('max_tokens'), STOP), usage: OUTPUT },
      { wire: wire(started(), ...spoken(0, 'x'), ended('refusal'), STOP), usage: OUTPUT },
      { wire: wire(started(), ...spoken(0, 'x'), STOP) },
      { wire: wire(started(), ...spoken(0, 'x'), ended()), usage: OUTPUT },
      { wire: wire(started(), begun(0, text('')), said(0, 'x'), ended(), STOP), usage: OUTPUT },
      {
        wire: wire(
          started(USAGE),
          begun(0, text('')),
          said(0, 'Hi'),
          { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } } as { type: string },
          stopped(0),
          ended(),
          STOP,
        ),
        usage: OUTPUT,
      },
      {
        wire: `${wire(started(USAGE), begun(0, text('')))}event: content_block_delta\ndata: {"type":"content_bl`,
        usage: { inputTokens: 12, outputTokens: undefined },
      },
    ],
  },
});
