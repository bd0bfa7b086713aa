import { openaiResponses } from '../../src/dialects/openai-responses.js';
import { dialectConformance } from '../conformance/dialect.js';

const wire = (...events: { type: string }[]): string =>
  events.map((event, at) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: at })}\n\n`).join('');
const text = (said: string) => ({ type: 'output_text', text: said, annotations: [], logprobs: [] });
const message = (...content: object[]) => ({ id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content });
const called = (name: string, given: string) => ({
  id: `fc_${name}`,
  type: 'function_call',
  status: 'completed',
  call_id: `call_${name}`,
  name,
  arguments: given,
});
const reasoning = { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm. Yes. ' }] };
const response = (output: unknown, more: object = {}) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1_700_000_000,
  status: 'completed',
  error: null,
  incomplete_details: null,
  model: 'gpt-4o-2024-08-06',
  output,
  usage: null,
  ...more,
});

const USAGE = {
  input_tokens: 12,
  input_tokens_details: { cached_tokens: 8 },
  output_tokens: 34,
  output_tokens_details: { reasoning_tokens: 20 },
  total_tokens: 46,
};
const REPORTED = { inputTokens: 12, outputTokens: 34, cachedInputTokens: 8, reasoningTokens: 20, model: 'gpt-4o-2024-08-06' };

const begun = { type: 'response.created', response: response([], { status: 'in_progress' }) };
const added = (item: object) => ({ type: 'response.output_item.added', output_index: 0, item });
const delta = (kind: string, piece: string) => ({ type: `response.${kind}.delta`, item_id: 'x', output_index: 0, delta: piece });
const ended = (kind: string, output: unknown, more: object = {}) => ({
  type: `response.${kind}`,
  response: response(output, { status: kind, usage: USAGE, ...more }),
});

dialectConformance('openaiResponses', {
  dialect: openaiResponses,
  samples: {
    bodies: [
      {
        body: { model: 'gpt-4o', input: 'Hello' },
        path: '/v1/responses',
        draft: { model: 'gpt-4o', stream: false, wantsUsage: false, maximumOutputTokens: undefined, choices: 1, hasTools: false },
      },
      {
        body: {
          model: 'gpt-5-mini',
          instructions: 'Be brief.',
          input: [
            { role: 'user', content: [{ type: 'input_text', text: 'What is it?' }] },
            { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'What?' }] },
            { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
            { type: 'function_call_output', call_id: 'a', output: 'a bird' },
          ],
          stream: true,
          max_output_tokens: 250,
          max_tokens: 100,
          text: { format: { type: 'json_schema', name: 'out', schema: { type: 'object' } } },
        },
        draft: { stream: true, wantsUsage: true, maximumOutputTokens: 250, hasTools: false, hasFormat: true },
      },
      {
        body: {
          model: 'gpt-4.1',
          input: [],
          previous_response_id: 'resp_0',
          prompt: { id: 'pmpt_1', variables: { city: 'Oslo', picture: { type: 'input_image', file_id: 'f' } } },
          tools: [{ type: 'function', name: 'weather', parameters: { type: 'object', properties: {} } }],
          tool_choice: { type: 'function', name: 'weather' },
          max_output_tokens: 64,
        },
        path: '/openai/v1/responses?api-version=preview',
        draft: { stream: false, maximumOutputTokens: 64, hasTools: true, hasFormat: false },
      },
    ],
    foreign: [
      { body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] } },
      { body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] }, path: '/v1/responses' },
      { body: { model: 'gpt-4o', input: 'Hello', messages: [] } },
      { body: { model: 'gpt-4o', input: { text: 'Hello' } } },
      { body: { model: 'gpt-4o', input: 7, instructions: null }, path: '/v1/responses' },
      { body: { input: 'Hello' }, path: '/v1/responses' },
      { body: { model: '', input: 'Hello' }, path: '/v1/responses' },
      { body: [{ model: 'gpt-4o', input: 'Hello' }], path: '/v1/responses' },
      { body: { model: 'text-embedding-3-small', input: 'Hello' } },
      { body: { model: 'gpt-4o', input: 'Hello' }, path: '/v1/embeddings' },
      { body: { model: 'gpt-4o', input: 'Hello' }, path: '/v1/responses/input_tokens' },
      { body: { model: 'gpt-4o', input: 'Hello' }, path: '/v1/chat/completions' },
      { body: { model: 'omni-moderation-latest', input: 'Hello' }, path: '/v1/moderations' },
      { body: { model: 'tts-1', input: 'Hello', voice: 'alloy' }, path: '/v1/audio/speech' },
    ],
    answers: [
      { body: response([message(text('Hi!'))], { usage: USAGE }), usage: REPORTED, complete: { text: 'Hi!' } },
      { body: response([reasoning, message(text('So '), text('7.')), message(text(' 😀'))]), complete: { text: 'So 7. 😀' } },
      { body: response([message({ type: 'refusal', refusal: 'I cannot.' })]), complete: { text: 'I cannot.' } },
      { body: response([called('weather', '{"city":"Oslo"}'), called('time', '{}')]), complete: { text: '' } },
      {
        body: response([
          { type: 'custom_tool_call', call_id: 'c', name: 'sql', input: 'select 1' },
          { id: 'm', type: 'mcp_call', name: 'roll', server_label: 'dice', arguments: '{"n":2}', output: '7', error: null },
          { id: 'ci', type: 'code_interpreter_call', status: 'completed', code: 'print(7)', container_id: 'x', outputs: null },
          { id: 'ws', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'dice' } },
          message(text('7')),
        ]),
        complete: { text: '7' },
      },
      {
        body: response([
          { ...reasoning, encrypted_content: 'AAAA', content: [{ type: 'reasoning_text', text: 'Let me see. ' }] },
          message({ ...text('See it.'), annotations: [{ type: 'url_citation', url: 'https://example.com' }] }),
        ]),
        complete: { text: 'See it.' },
      },
      { body: response([message(text('cut'))], { status: 'incomplete', usage: USAGE }), usage: REPORTED },
      { body: response([message(text('half'))], { status: 'in_progress' }) },
      { body: response([], { status: 'queued' }) },
      { body: response([]) },
      { body: response([null]) },
      { body: response('text') },
      { body: response([{ ...message(text('half')), status: 'incomplete' }]) },
      { body: response([message(text('Hi!'))], { error: { code: 'server_error', message: 'x' } }) },
      { body: response([message(text('Hi!'))], { conversation: { id: 'conv_1' } }) },
      { body: { error: { message: 'Rate limit reached', type: 'tokens', param: null, code: 'rate_limit_exceeded' } } },
      {
        body: response([message(text('x'))], { usage: { ...USAGE, input_tokens: 0 } }),
        usage: { ...REPORTED, inputTokens: undefined },
        complete: { text: 'x' },
      },
      { body: response([], { usage: { input_tokens: 0, output_tokens: 0 } }) },
      { body: response([], { usage: { input_tokens: '12', output_tokens: -1 } }) },
      {
        body: response([], { usage: { input_tokens: 12.9, output_tokens: 1e308 } }),
        usage: { inputTokens: 12, outputTokens: 10_000_000 },
      },
    ],
    streams: [
      {
        wire: wire(
          begun,
          { ...begun, type: 'response.in_progress' },
          added(message()),
          { type: 'response.content_part.added', part: text('') } as { type: string },
          delta('output_text', 'Hel'),
          delta('output_text', 'lo 😀'),
          { type: 'response.output_text.done', text: 'Hello 😀' } as { type: string },
          { type: 'response.content_part.done', part: text('Hello 😀') } as { type: string },
          { type: 'response.output_item.done', item: message(text('Hello 😀')) } as { type: string },
          ended('completed', [message(text('Hello 😀'))]),
        ),
        usage: REPORTED,
        complete: { text: 'Hello 😀' },
      },
      {
        wire: wire(
          begun,
          added({ ...reasoning, summary: [] }),
          delta('reasoning_summary_text', 'Hm. '),
          delta('reasoning_summary_text', 'Yes. '),
          added(called('weather', '')),
          delta('function_call_arguments', '{"city":'),
          delta('function_call_arguments', '"Oslo"}'),
          { type: 'response.function_call_arguments.done', arguments: '{"city":"Oslo"}' } as { type: string },
          ended('completed', [reasoning, called('weather', '{"city":"Oslo"}')]),
        ),
        usage: REPORTED,
        complete: { text: '' },
      },
      {
        wire: wire(
          begun,
          added(message()),
          delta('refusal', 'I can'),
          delta('refusal', 'not.'),
          ended('completed', [message({ type: 'refusal', refusal: 'I cannot.' })]),
        ),
        usage: REPORTED,
        complete: { text: 'I cannot.' },
      },
      { wire: wire(begun, delta('output_text', 'Hel'), ended('incomplete', [message(text('Hel'))])), usage: REPORTED },
      { wire: wire(begun, ended('failed', [], { error: { code: 'server_error' } })), usage: REPORTED },
      { wire: wire(begun, ended('incomplete', [], { usage: { input_tokens: 0, output_tokens: 0 } })) },
      { wire: wire(begun, delta('output_text', 'Hel')) },
      { wire: wire(begun, { type: 'error', message: 'The server had an error' } as { type: string }) },
      { wire: wire(ended('in_progress', [message(text('x'))])) },
      { wire: `${wire(begun, delta('output_text', 'Hel'))}event: response.completed\ndata: {"type":"response.completed","respo` },
    ],
  },
});
