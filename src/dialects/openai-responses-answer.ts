import type { Usage } from '../call.js';
import type { CompleteAnswer, StreamEvent } from './dialect.js';
import { CALLS, DELTAS, itemText, partsText } from './openai-responses-items.js';
import { countOf, type Fields, fieldsOf, listOf, modelOf, nestsDeeper, textOf } from './values.js';

/** Last events of a stream: they carry the response as it came to be. */
const LAST_EVENTS = new Set<unknown>(['response.completed', 'response.incomplete', 'response.failed']);
/** Levels of an answer worth keeping; it repeats the schemas it was asked for. */
const DEEPEST = 64;

/** Usage of a response, or of the last event of its stream; see `Dialect.usage`. */
export function responseUsage(bodyOrData: unknown): Usage | undefined {
  const response = responseOf(bodyOrData);
  const usage = fieldsOf(response?.usage);
  if (!response || !usage) return undefined;
  const inputTokens = countOf(usage.input_tokens) || undefined;
  const outputTokens = countOf(usage.output_tokens);
  // Streams that were cut off report zeros and have counted nothing.
  if (inputTokens === undefined && !outputTokens) return undefined;
  return {
    inputTokens,
    outputTokens,
    cachedInputTokens: countOf(fieldsOf(usage.input_tokens_details)?.cached_tokens),
    reasoningTokens: countOf(fieldsOf(usage.output_tokens_details)?.reasoning_tokens),
    model: modelOf(response.model),
  };
}

/** Everything that a response or an event adds to the output; see `Dialect.text`. */
export function responseText(bodyOrData: unknown): string {
  const fields = fieldsOf(bodyOrData);
  if (!fields) return '';
  if (DELTAS.has(fields.type)) return textOf(fields.delta);
  // The name of what is called comes whole, and in no delta.
  if (fields.type === 'response.output_item.added') return calledName(fieldsOf(fields.item));
  if (isEvent(fields)) return '';
  return listOf(fields.output)
    .map((item) => itemText(fieldsOf(item)))
    .join('');
}

/** The whole response; see `Dialect.collect`. */
export function collectResponse(
  given: { readonly body: unknown } | { readonly events: readonly StreamEvent[] },
): CompleteAnswer | undefined {
  const body = fieldsOf('body' in given ? given.body : lastResponse(given.events));
  if (body?.status !== 'completed' || body.error || nestsDeeper(body, DEEPEST)) return undefined;
  // What is said in a conversation depends on what was said there before, and is remembered there.
  if (body.conversation) return undefined;
  const items = listOf(body.output).map(fieldsOf);
  if (items.length === 0 || !items.every(isWhole)) return undefined;
  const messages = items.filter((item) => item?.type === 'message');
  const said = (type: string) => messages.map((item) => partsText(item?.content, type)).join('');
  return {
    model: modelOf(body.model),
    text: said('output_text') || said('refusal'),
    hasToolCalls: items.some((item) => item?.type !== 'message' && item?.type !== 'reasoning'),
    usage: responseUsage(body),
    body,
  };
}

function responseOf(bodyOrData: unknown): Fields | undefined {
  const fields = fieldsOf(bodyOrData);
  if (!fields || !isEvent(fields)) return fields;
  return LAST_EVENTS.has(fields.type) ? fieldsOf(fields.response) : undefined;
}

/** A response says in `object` what it is, an event in `type`. */
function isEvent({ type }: Fields): boolean {
  return typeof type === 'string';
}

function lastResponse(events: readonly StreamEvent[]): unknown {
  return fieldsOf(events.find(({ data }) => fieldsOf(data)?.type === 'response.completed')?.data)?.response;
}

function isWhole(item: Fields | undefined): boolean {
  return item !== undefined && item.status !== 'incomplete' && item.status !== 'in_progress';
}

function calledName(item: Fields | undefined): string {
  return CALLS.has(item?.type) ? textOf(item?.name) : '';
}
