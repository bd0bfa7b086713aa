import type { Answer, Call, Rendered, Usage } from '../call.js';
import { CALLS, PARTS } from './openai-responses-items.js';
import { type Fields, fieldsOf, listOf, textOf } from './values.js';
import { JSON_HEADERS, pieces, STREAM_HEADERS } from './writing.js';

/** Writes an answer as a response or as its events; see `Dialect.answer`. */
export function renderResponse(answer: Answer, call: Call): Rendered {
  const status = answer.kind === 'deferred' ? 202 : 200;
  const body = fieldsOf(answer.body) ?? freshResponse(answer);
  const response = { ...body, spillway: { outcome: answer.kind } };
  if (!call.stream) return { status, headers: JSON_HEADERS, body: JSON.stringify(response) };
  const told = call.draft?.wantsUsage === false ? { ...response, usage: usageFields(undefined) } : response;
  return { status, headers: STREAM_HEADERS, body: eventsOf(told).map(writeEvent).join('') };
}

/** A response with everything that the API always tells. It has no time of its own, for nothing here reads a clock. */
function freshResponse({ kind, model, text, usage }: Answer): Fields {
  return {
    id: `resp_spillway_${kind}_${crypto.randomUUID()}`,
    object: 'response',
    created_at: 0,
    status: 'completed',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    metadata: {},
    model,
    output: [
      {
        id: `msg_spillway_${crypto.randomUUID()}`,
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', annotations: [], logprobs: [], text }],
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
    usage: usageFields(usage),
  };
}

function usageFields(usage: Usage | undefined): Fields {
  const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0, reasoningTokens = 0 } = usage ?? {};
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
}

interface ResponseEvent extends Fields {
  readonly type: string;
}

function writeEvent(event: ResponseEvent, sequence_number: number): string {
  return `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`;
}

/** The whole sequence of a stream; the mark is in its first event and in each response that it shows. */
function eventsOf(response: Fields): ResponseEvent[] {
  const begun = { ...response, status: 'in_progress', output: [], usage: null };
  return [
    { type: 'response.created', response: begun, spillway: response.spillway },
    { type: 'response.in_progress', response: begun },
    ...listOf(response.output).flatMap((item, at) => itemEvents(fieldsOf(item) ?? {}, at)),
    { type: 'response.completed', response },
  ];
}

/** Where an event belongs. */
interface Place extends Fields {
  readonly item_id: string;
  readonly output_index: number;
}

function itemEvents(given: Fields, output_index: number): ResponseEvent[] {
  const item_id = textOf(given.id) || `item_spillway_${output_index}`;
  const item = { ...given, id: item_id };
  const { begun, events } = unfolded(item, { item_id, output_index });
  return [
    { type: 'response.output_item.added', output_index, item: begun },
    ...events,
    { type: 'response.output_item.done', output_index, item },
  ];
}

/** What an item begins with, and the events that complete it. */
function unfolded(item: Fields, place: Place): { readonly begun: Fields; readonly events: readonly ResponseEvent[] } {
  const call = CALLS.get(item.type);
  if (call) {
    const text = textOf(item[call.field]);
    const begun = { ...item, status: 'in_progress', [call.field]: '' };
    return { begun, events: textEvents(call.event, text, place, { [call.field]: text }) };
  }
  if (item.type !== 'message' && item.type !== 'reasoning') return { begun: item, events: [] };
  const content = listOf(item.content).flatMap((part, content_index) =>
    partEvents('response.content_part', fieldsOf(part) ?? {}, { ...place, content_index }),
  );
  if (item.type === 'message') return { begun: { ...item, status: 'in_progress', content: [] }, events: content };
  const summary = listOf(item.summary).flatMap((part, summary_index) =>
    partEvents('response.reasoning_summary_part', fieldsOf(part) ?? {}, { ...place, summary_index }),
  );
  const begun = { ...item, summary: [], ...(item.content ? { content: [] } : {}) };
  return { begun, events: [...summary, ...content] };
}

function partEvents(event: string, part: Fields, place: Place): ResponseEvent[] {
  const streamed = PARTS.get(part.type);
  const text = streamed ? textOf(part[streamed.field]) : '';
  const empty = streamed ? { ...part, [streamed.field]: '' } : part;
  const isText = part.type === 'output_text';
  const begun = isText ? { ...empty, annotations: [], logprobs: [] } : empty;
  const logprobs = isText ? { logprobs: [] } : {};
  return [
    { type: `${event}.added`, ...place, part: begun },
    ...(streamed ? textEvents(streamed.event, text, { ...place, ...logprobs }, { [streamed.field]: text }) : []),
    ...(isText ? annotationEvents(part, place) : []),
    { type: `${event}.done`, ...place, part },
  ];
}

function textEvents(event: string, text: string, place: Place, whole: Fields): ResponseEvent[] {
  return [
    ...pieces(text).map((delta) => ({ type: `${event}.delta`, ...place, delta })),
    { type: `${event}.done`, ...place, ...whole },
  ];
}

function annotationEvents(part: Fields, place: Place): ResponseEvent[] {
  return listOf(part.annotations).map((annotation, annotation_index) => ({
    type: 'response.output_text.annotation.added',
    ...place,
    annotation,
    annotation_index,
  }));
}
