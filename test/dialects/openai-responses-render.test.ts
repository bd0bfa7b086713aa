import { describe, expect, it } from 'vitest';
import type { Answer, Call } from '../../src/call.js';
import { readResponsesBody } from '../../src/dialects/openai-responses-read.js';
import { renderResponse } from '../../src/dialects/openai-responses-render.js';

const callFor = (stream: boolean): Call => {
  const draft = readResponsesBody({ model: 'gpt-4o', input: 'x', stream });
  return { draft, stream } as Call;
};
const STATIC: Answer = { kind: 'static', model: 'spillway-static', text: 'We are busy.' };
const events = (answer: Answer) =>
  renderResponse(answer, callFor(true))
    .body.split('\n\n')
    .filter((part) => part !== '')
    .map((part) => {
      const [, event, data = ''] = /^event: (\S+)\ndata: (.*)$/.exec(part) ?? [];
      return { event, ...JSON.parse(data) };
    });
const ZERO = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

describe('a prepared answer', () => {
  it('is a whole response of its own that says what it is', () => {
    const { status, headers, body } = renderResponse(STATIC, callFor(false));

    expect([status, headers]).toEqual([200, { 'content-type': 'application/json; charset=utf-8' }]);
    expect(JSON.parse(body)).toEqual({
      id: expect.stringMatching(/^resp_spillway_static_[\w-]{36}$/),
      object: 'response',
      created_at: 0,
      status: 'completed',
      background: false,
      error: null,
      incomplete_details: null,
      instructions: null,
      max_output_tokens: null,
      metadata: {},
      model: 'spillway-static',
      output: [
        {
          id: expect.stringMatching(/^msg_spillway_[\w-]{36}$/),
          type: 'message',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', annotations: [], logprobs: [], text: 'We are busy.' }],
        },
      ],
      parallel_tool_calls: true,
      previous_response_id: null,
      reasoning: { effort: null, summary: null },
      store: false,
      temperature: null,
      text: { format: { type: 'text' } },
      tool_choice: 'auto',
      tools: [],
      top_p: null,
      truncation: 'disabled',
      usage: ZERO,
      spillway: { outcome: 'static' },
    });
  });

  it('is accepted, not finished, when the work was deferred', () => {
    expect(renderResponse({ ...STATIC, kind: 'deferred' }, callFor(false)).status).toBe(202);
    expect(renderResponse({ ...STATIC, kind: 'deferred' }, callFor(true)).status).toBe(202);
  });

  it('has an identifier of its own each time', () => {
    const ids = [1, 2].map(() => JSON.parse(renderResponse(STATIC, callFor(false)).body).id);

    expect(ids[0]).not.toBe(ids[1]);
  });
});

describe('a stream', () => {
  it('is the whole sequence of events that a model would have sent', () => {
    const found = events(STATIC);
    const place = { item_id: found[2].item.id, output_index: 0, content_index: 0 };
    const part = { type: 'output_text', annotations: [], logprobs: [], text: 'We are busy.' };
    const item = { id: place.item_id, type: 'message', status: 'completed', role: 'assistant', content: [part] };

    expect(renderResponse(STATIC, callFor(true)).headers).toEqual({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
    });
    expect(found).toMatchObject([
      { type: 'response.created', response: { status: 'in_progress', output: [], usage: null }, spillway: { outcome: 'static' } },
      { type: 'response.in_progress', response: { status: 'in_progress', output: [], usage: null } },
      { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
      { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
      { type: 'response.output_text.delta', ...place, delta: 'We are busy.', logprobs: [] },
      { type: 'response.output_text.done', ...place, text: 'We are busy.', logprobs: [] },
      { type: 'response.content_part.done', ...place, part },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { status: 'completed', output: [item], usage: ZERO } },
    ]);
    expect(found.map(({ sequence_number }) => sequence_number)).toEqual([...found.keys()]);
    expect(found.map(({ event }) => event)).toEqual(found.map(({ type }) => type));
    expect(new Set(found.flatMap(({ response }) => (response ? [`${response.id} ${response.model}`] : []))).size).toBe(1);
    expect(found.flatMap(({ response }) => response?.spillway ?? [])).toEqual(Array(3).fill({ outcome: 'static' }));
  });

  it('cuts long text into pieces, and no surrogate pair', () => {
    const text = `x${'😀'.repeat(1_000)}`;
    const deltas = events({ ...STATIC, text }).flatMap(({ type, delta }) => (type === 'response.output_text.delta' ? delta : []));

    expect(deltas.join('')).toBe(text);
    expect(deltas.length).toBeGreaterThan(5);
    expect(deltas.filter((piece) => !piece.isWellFormed())).toEqual([]);
  });
});

describe('a kept answer', () => {
  const kept = (output: unknown[]): Answer => ({
    kind: 'cached',
    model: 'gpt-4o',
    text: '',
    body: {
      id: 'resp_7',
      object: 'response',
      created_at: 7,
      status: 'completed',
      model: 'gpt-4o',
      output,
      usage: { input_tokens: 5 },
    },
  });
  const told = (item: object) =>
    events(kept([item]))
      .slice(2, -1)
      .map(({ event: _, sequence_number: __, ...event }) => event);

  it('is given back as it was, apart from the mark', () => {
    const answer = kept([{ type: 'new_kind', anything: [1] }]);

    expect(JSON.parse(renderResponse(answer, callFor(false)).body)).toEqual({
      ...(answer.body as object),
      spillway: { outcome: 'cached' },
    });
    expect(events(answer).at(-1)?.response).toEqual({ ...(answer.body as object), spillway: { outcome: 'cached' } });
  });

  it('tells the name of a function before its arguments', () => {
    const given = `{"x":"${'y'.repeat(500)}"}`;
    const item = { id: 'fc_1', type: 'function_call', status: 'completed', call_id: 'c', name: 'f', arguments: given };

    const found = told(item);

    expect(found[0]).toEqual({
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...item, status: 'in_progress', arguments: '' },
    });
    expect(found.slice(1, -2).map(({ type }) => type)).toEqual(Array(3).fill('response.function_call_arguments.delta'));
    expect(
      found
        .slice(1, -2)
        .map(({ delta }) => delta)
        .join(''),
    ).toBe(given);
    expect(found.slice(-2)).toEqual([
      { type: 'response.function_call_arguments.done', item_id: 'fc_1', output_index: 0, arguments: given },
      { type: 'response.output_item.done', output_index: 0, item },
    ]);
  });

  it.each([
    ['custom_tool_call', 'input', 'response.custom_tool_call_input'],
    ['mcp_call', 'arguments', 'response.mcp_call_arguments'],
    ['code_interpreter_call', 'code', 'response.code_interpreter_call_code'],
  ])('tells what was written for a %s', (type, field, event) => {
    const item = { id: 'i', type, name: 'n', [field]: 'abc' };

    expect(told(item)).toEqual([
      { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', [field]: '' } },
      { type: `${event}.delta`, item_id: 'i', output_index: 0, delta: 'abc' },
      { type: `${event}.done`, item_id: 'i', output_index: 0, [field]: 'abc' },
      { type: 'response.output_item.done', output_index: 0, item },
    ]);
  });

  it('tells a refusal and the sources of a text', () => {
    const annotation = { type: 'url_citation', url: 'https://example.com', title: 'x', start_index: 0, end_index: 1 };
    const cited = { type: 'output_text', text: 'a', annotations: [annotation] };
    const refused = { type: 'refusal', refusal: 'b' };
    const place = (content_index: number) => ({ item_id: 'm', output_index: 0, content_index });

    expect(told({ id: 'm', type: 'message', content: [cited, refused] }).slice(1, -1)).toEqual([
      { type: 'response.content_part.added', ...place(0), part: { ...cited, text: '', annotations: [], logprobs: [] } },
      { type: 'response.output_text.delta', ...place(0), delta: 'a', logprobs: [] },
      { type: 'response.output_text.done', ...place(0), text: 'a', logprobs: [] },
      { type: 'response.output_text.annotation.added', ...place(0), annotation, annotation_index: 0 },
      { type: 'response.content_part.done', ...place(0), part: cited },
      { type: 'response.content_part.added', ...place(1), part: { type: 'refusal', refusal: '' } },
      { type: 'response.refusal.delta', ...place(1), delta: 'b' },
      { type: 'response.refusal.done', ...place(1), refusal: 'b' },
      { type: 'response.content_part.done', ...place(1), part: refused },
    ]);
  });

  it('tells what was thought, in summary and in full', () => {
    const summary = [{ type: 'summary_text', text: 'a' }];
    const content = [{ type: 'reasoning_text', text: 'b' }];
    const item = { id: 'r', type: 'reasoning', encrypted_content: 'AAAA', summary, content };
    const place = { item_id: 'r', output_index: 0 };

    expect(told(item)).toEqual([
      { type: 'response.output_item.added', output_index: 0, item: { ...item, summary: [], content: [] } },
      { type: 'response.reasoning_summary_part.added', ...place, summary_index: 0, part: { type: 'summary_text', text: '' } },
      { type: 'response.reasoning_summary_text.delta', ...place, summary_index: 0, delta: 'a' },
      { type: 'response.reasoning_summary_text.done', ...place, summary_index: 0, text: 'a' },
      { type: 'response.reasoning_summary_part.done', ...place, summary_index: 0, part: summary[0] },
      { type: 'response.content_part.added', ...place, content_index: 0, part: { type: 'reasoning_text', text: '' } },
      { type: 'response.reasoning_text.delta', ...place, content_index: 0, delta: 'b' },
      { type: 'response.reasoning_text.done', ...place, content_index: 0, text: 'b' },
      { type: 'response.content_part.done', ...place, content_index: 0, part: content[0] },
      { type: 'response.output_item.done', output_index: 0, item },
    ]);
  });

  it('tells an item of any other kind whole, under an identifier of its own where it has none', () => {
    const item = { type: 'web_search_call', status: 'completed' };

    expect(told(item)).toEqual([
      { type: 'response.output_item.added', output_index: 0, item: { ...item, id: 'item_spillway_0' } },
      { type: 'response.output_item.done', output_index: 0, item: { ...item, id: 'item_spillway_0' } },
    ]);
  });
});
