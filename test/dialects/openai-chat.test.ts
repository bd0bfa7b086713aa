import { openaiChat } from '../../src/dialects/openai-chat.js';
import { dialectConformance } from '../conformance/dialect.js';

const user = (content: unknown) => ({ role: 'user', content });
const wire = (...data: unknown[]): string =>
  data.map((item) => `data: ${typeof item === 'string' ? item : JSON.stringify(item)}\n\n`).join('');
const chunk = (choices: unknown[], more: object = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'gpt-4o-2024-08-06',
  choices,
  ...more,
});
const delta = (fields: object, end: string | null = null, index = 0) => ({ index, delta: fields, finish_reason: end });
const completion = (choices: unknown[], more: object = {}) => ({
  id: 'chatcmpl-2',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'gpt-4o',
  choices,
  ...more,
});
const said = (message: object, end: string | null = 'stop') => ({
  index: 0,
  message: { role: 'assistant', ...message },
  finish_reason: end,
});
const call = (id: string, name: string, args: string) => ({ id, type: 'function', function: { name, arguments: args } });

const USAGE = {
  prompt_tokens: 12,
  completion_tokens: 34,
  total_tokens: 46,
  prompt_tokens_details: { cached_tokens: 8 },
  completion_tokens_details: { reasoning_tokens: 20 },
};
const REPORTED = { inputTokens: 12, outputTokens: 34, cachedInputTokens: 8, reasoningTokens: 20 };

dialectConformance('openaiChat', {
  dialect: openaiChat,
  samples: {
    bodies: [
      {
        body: { model: 'gpt-4o', messages: [user('Hello')] },
        path: '/v1/chat/completions',
        draft: { model: 'gpt-4o', stream: false, wantsUsage: false, maximumOutputTokens: undefined, choices: 1, hasTools: false },
      },
      {
        body: {
          model: 'gpt-4o-mini',
          messages: [{ role: 'system', content: 'Be brief.', name: 'rules' }, user([{ type: 'text', text: 'Hello' }])],
          stream: true,
          max_tokens: 100,
          max_completion_tokens: 250,
          n: 3,
          response_format: { type: 'json_object' },
        },
        draft: { stream: true, wantsUsage: false, maximumOutputTokens: 250, choices: 3, hasFormat: true },
      },
      {
        body: {
          model: 'ft:gpt-4o-mini:team::1',
          messages: [user('What is the weather in Oslo?')],
          stream: true,
          stream_options: { include_usage: true, include_obfuscation: false },
          max_tokens: 64,
          tools: [{ type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } }],
          response_format: { type: 'json_schema', json_schema: { name: 'out', schema: { type: 'object' } } },
        },
        draft: { stream: true, wantsUsage: true, maximumOutputTokens: 64, hasTools: true, hasFormat: true },
      },
    ],
    foreign: [
      { body: { model: 'gpt-4o', input: 'Hello' } },
      { body: { model: 'gpt-4o', messages: { 0: user('Hello') } } },
      { body: { messages: [user('Hello')] } },
      { body: { model: '', messages: [] } },
      { body: { model: 'm'.repeat(257), messages: [] } },
      { body: { model: ['gpt-4o'], messages: [] } },
      { body: [{ model: 'gpt-4o', messages: [] }] },
      { body: { model: 'claude-sonnet-4-5', max_tokens: 9, messages: [user('Hello')] }, path: '/v1/messages' },
      { body: { model: 'claude-sonnet-4-5', messages: [user('Hello')] }, path: '/v1/messages/count_tokens?beta=true' },
      { body: { model: 'gpt-4o', messages: [user('Hello')] }, path: '/v1/responses/' },
      { body: { model: 'text-embedding-3-small', messages: [] }, path: '/v1/embeddings' },
      { body: { model: 'gemini', messages: [] }, path: '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse' },
    ],
    answers: [
      { body: completion([said({ content: 'Hi!' })], { usage: USAGE }), usage: REPORTED, complete: { text: 'Hi!' } },
      {
        body: completion([said({ content: null, tool_calls: [call('a', 'weather', '{"city":"Oslo"}')] }, 'tool_calls')]),
        complete: { text: '' },
      },
      {
        body: completion([said({ content: 'one' }), { ...said({ content: 'two 你好 😀' }), index: 1 }]),
        complete: { text: 'one' },
      },
      { body: completion([said({ content: null, refusal: 'I cannot.' })]), complete: { text: 'I cannot.' } },
      {
        body: completion([said({ content: 'So 7.', reasoning_content: 'x'.repeat(1_000) })]),
        complete: { text: 'So 7.' },
      },
      {
        body: completion([said({ content: null, function_call: { name: 'old', arguments: '{}' } }, 'function_call')]),
        complete: { text: '' },
      },
      { body: completion([said({ content: 'cut' }, 'length')], { usage: USAGE }), usage: REPORTED },
      { body: completion([said({ content: 'ok' }), said({ content: 'cut' }, 'length')]) },
      { body: completion([said({ content: 'bad' }, 'content_filter')]) },
      { body: completion([said({ content: 'half' }, null)]) },
      { body: completion([]) },
      { body: completion([said({ content: 'Hi!' })], { error: { message: 'went wrong' } }) },
      { body: { error: { message: 'Rate limit reached', type: 'tokens', param: null, code: 'rate_limit_exceeded' } } },
      {
        body: completion([said({ content: 'x' })], { usage: { ...USAGE, prompt_tokens: 0 } }),
        usage: { ...REPORTED, inputTokens: undefined },
        complete: { text: 'x' },
      },
      { body: completion([], { usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } }) },
      { body: completion([], { usage: { prompt_tokens: '12', completion_tokens: -1 } }) },
      {
        body: completion([], { usage: { prompt_tokens: 12.9, completion_tokens: 1e308 } }),
        usage: { inputTokens: 12, outputTokens: 10_000_000 },
      },
    ],
    streams: [
      {
        wire: wire(
          chunk([], { prompt_filter_results: [{ prompt_index: 0 }] }),
          chunk([delta({ role: 'assistant', content: '' })], { usage: null }),
          chunk([delta({ content: 'Hel' })]),
          chunk([delta({ content: 'lo 😀' })]),
          chunk([delta({}, 'stop')]),
          chunk([], { usage: USAGE }),
          '[DONE]',
        ),
        usage: REPORTED,
        complete: { text: 'Hello 😀' },
      },
      {
        wire: wire(
          chunk([delta({ role: 'assistant', content: null, tool_calls: [{ index: 0, ...call('a', 'weather', '') }] })]),
          chunk([delta({ tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] })]),
          chunk([delta({ tool_calls: [{ index: 1, ...call('b', 'time', '') }] })]),
          chunk([delta({ tool_calls: [{ index: 0, function: { arguments: '"Oslo"}' } }] })]),
          chunk([delta({ tool_calls: [{ index: 1, function: { arguments: '{}' } }] })]),
          chunk([delta({}, 'tool_calls')]),
          '[DONE]',
        ),
        complete: { text: '' },
      },
      {
        wire: wire(
          chunk([delta({ content: 'a' }, null, 1)]),
          chunk([delta({ content: 'b' }, null, 0)]),
          chunk([delta({ content: 'c' }, 'stop', 1), delta({ reasoning_content: 'hm' }, 'stop', 0)]),
        ),
        complete: { text: 'b' },
      },
      { wire: wire(chunk([delta({ content: 'Hel' })]), chunk([delta({ content: 'lo' }, 'length')]), '[DONE]') },
      { wire: wire(chunk([delta({ content: 'Hel' })]), '[DONE]') },
      { wire: wire(chunk([delta({ content: 'Hel' })]), chunk([delta({ content: 'lo' }, 'stop', 1)]), '[DONE]') },
      { wire: wire(chunk([delta({ content: 'Hi' }, 'stop')]), { error: { message: 'The server had an error' } }, '[DONE]') },
      { wire: wire(chunk([delta({ audio: { data: 'AAAA' } })]), chunk([delta({}, 'stop')]), '[DONE]') },
      { wire: wire(chunk([delta({ content: 'x' }, 'stop', 1e9)]), '[DONE]') },
      { wire: `${wire(chunk([delta({ content: 'x' })]))}data: {"choices":[{"index":0,"delta":{"content":"cu` },
    ],
  },
});
