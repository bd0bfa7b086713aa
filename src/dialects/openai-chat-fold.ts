import type { StreamEvent } from './dialect.js';
import { countOf, type Fields, fieldsOf, listOf, textOf } from './values.js';

/** Where servers put reasoning that they show. */
export const REASONING_FIELDS = ['reasoning_content', 'reasoning'] as const;

const HEAD_FIELDS = ['id', 'created', 'model', 'system_fingerprint', 'service_tier'] as const;
const MOST_CHOICES = 128;
const MOST_CALLS = 1_024;

/** What is said to people: servers give it as text or as a list of parts. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map((part) => textOf(fieldsOf(part)?.text))
    .join('');
}

/** A tool call, or the older function call, as far as its deltas have told it. */
interface FoldedCall {
  id: string | undefined;
  type: string;
  name: string;
  arguments: string;
}

interface FoldedChoice {
  readonly said: Map<'content' | 'refusal' | (typeof REASONING_FIELDS)[number], string>;
  readonly calls: FoldedCall[];
  called: FoldedCall | undefined;
  end: unknown;
}

/**
 * Puts the chunks of a stream together to the completion they tell. `undefined` when the stream reports an error, says what is
 * not put together here (audio, calls of custom tools), or names a choice that cannot be.
 */
export function foldChunks(events: readonly StreamEvent[]): Fields | undefined {
  const head: Record<string, unknown> = {};
  const choices = new Map<number, FoldedChoice>();
  let usage: Fields | undefined;
  for (const { data, text } of events) {
    if (text === '[DONE]') break;
    const chunk = fieldsOf(data);
    if (!chunk) continue;
    if (chunk.error) return undefined;
    for (const name of HEAD_FIELDS)
      if (chunk[name] !== undefined && chunk[name] !== null && chunk[name] !== '') head[name] ??= chunk[name];
    usage = fieldsOf(chunk.usage) ?? usage;
    for (const choice of listOf(chunk.choices)) if (!foldChoice(fieldsOf(choice), choices)) return undefined;
  }
  const folded = [...choices].sort(([a], [b]) => a - b).map(([index, choice]) => writeChoice(index, choice));
  return { ...head, object: 'chat.completion', choices: folded, ...(usage ? { usage } : {}) };
}

function foldChoice(choice: Fields | undefined, choices: Map<number, FoldedChoice>): boolean {
  const index = countOf(choice?.index ?? 0);
  if (!choice || index === undefined || index >= MOST_CHOICES) return false;
  const folded = choices.get(index) ?? { said: new Map(), calls: [], called: undefined, end: undefined };
  choices.set(index, folded);
  folded.end = choice.finish_reason ?? folded.end;
  const delta = fieldsOf(choice.delta);
  if (!delta) return true;
  if (fieldsOf(delta.audio)) return false;
  for (const name of ['content', 'refusal', ...REASONING_FIELDS] as const) {
    const piece = name === 'content' ? contentText(delta.content) : textOf(delta[name]);
    if (piece !== '') folded.said.set(name, (folded.said.get(name) ?? '') + piece);
  }
  const called = fieldsOf(delta.function_call);
  if (called) folded.called = foldCall(folded.called, { function: called });
  return listOf(delta.tool_calls).every((call) => foldToolCall(fieldsOf(call), folded.calls));
}

/** Servers that send whole calls at once leave the index out: each one with an id is then a new call. */
function foldToolCall(call: Fields | undefined, calls: FoldedCall[]): boolean {
  if (!call || fieldsOf(call.custom)) return false;
  const next = typeof call.id === 'string' || calls.length === 0 ? calls.length : calls.length - 1;
  const index = call.index === undefined || call.index === null ? next : countOf(call.index);
  if (index === undefined || index > calls.length || index >= MOST_CALLS) return false;
  calls[index] = foldCall(calls[index], call);
  return true;
}

function foldCall(before: FoldedCall | undefined, call: Fields): FoldedCall {
  const { name, arguments: piece } = fieldsOf(call.function) ?? {};
  return {
    id: before?.id ?? (typeof call.id === 'string' ? call.id : undefined),
    type: before?.type ?? (textOf(call.type) || 'function'),
    name: (before?.name ?? '') + textOf(name),
    arguments: (before?.arguments ?? '') + textOf(piece),
  };
}

function writeChoice(index: number, { said, calls, called, end }: FoldedChoice): Fields {
  const written = ({ name, arguments: given }: FoldedCall) => ({ name, arguments: given });
  const message: Record<string, unknown> = {
    role: 'assistant',
    content: said.get('content') ?? (calls.length > 0 || called || said.get('refusal') ? null : ''),
    refusal: said.get('refusal') ?? null,
  };
  for (const name of REASONING_FIELDS) if (said.get(name)) message[name] = said.get(name);
  if (calls.length > 0) message.tool_calls = calls.map((call) => ({ id: call.id, type: call.type, function: written(call) }));
  if (called) message.function_call = written(called);
  return { index, message, logprobs: null, finish_reason: end ?? null };
}
