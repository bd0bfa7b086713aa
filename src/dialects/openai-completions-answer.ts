import type { CompleteAnswer, StreamEvent } from './dialect.js';
import { MOST_CHOICES } from './openai-completions-read.js';
import { completionUsage } from './openai-usage.js';
import { countOf, type Fields, fieldsOf, listOf, modelOf, nestsDeeper, textOf } from './values.js';

const HEAD_FIELDS = ['id', 'created', 'model', 'system_fingerprint'] as const;
/** Levels of an answer worth keeping; real ones have about six. */
const DEEPEST = 64;

/** Everything that a completion or a chunk adds to the output, all choices one after the other; see `Dialect.text`. */
export function completionText(bodyOrData: unknown): string {
  return listOf(fieldsOf(bodyOrData)?.choices)
    .map((choice) => textOf(fieldsOf(choice)?.text))
    .join('');
}

/** The whole answer; see `Dialect.collect`. */
export function collectCompletion(
  given: { readonly body: unknown } | { readonly events: readonly StreamEvent[] },
): CompleteAnswer | undefined {
  const body = fieldsOf('body' in given ? given.body : foldChunks(given.events));
  if (!body || body.error || nestsDeeper(body, DEEPEST)) return undefined;
  const choices = listOf(body.choices).map(fieldsOf);
  if (choices.length === 0 || !choices.every(isWhole)) return undefined;
  return {
    model: modelOf(body.model),
    text: textOf(choices[0]?.text),
    hasToolCalls: false,
    usage: completionUsage(body),
    body,
  };
}

function isWhole(choice: Fields | undefined): boolean {
  return choice?.finish_reason === 'stop' && typeof choice.text === 'string';
}

interface FoldedChoice {
  text: string;
  end: unknown;
}

/** Puts the chunks of a stream together; `undefined` when it reports an error, or says what is not put together here. */
function foldChunks(events: readonly StreamEvent[]): Fields | undefined {
  const head: Record<string, unknown> = {};
  const choices = new Map<number, FoldedChoice>();
  let usage: Fields | undefined;
  for (const { data, text } of events) {
    if (text === '[DONE]') break;
    const chunk = fieldsOf(data);
    if (!chunk) continue;
    if (chunk.error) return undefined;
    for (const name of HEAD_FIELDS) if (chunk[name] !== undefined && chunk[name] !== null) head[name] ??= chunk[name];
    usage = fieldsOf(chunk.usage) ?? usage;
    for (const choice of listOf(chunk.choices)) if (!foldChoice(fieldsOf(choice), choices)) return undefined;
  }
  const folded = [...choices]
    .sort(([a], [b]) => a - b)
    .map(([index, { text, end }]) => ({ text, index, logprobs: null, finish_reason: end ?? null }));
  return { ...head, object: 'text_completion', choices: folded, ...(usage ? { usage } : {}) };
}

function foldChoice(choice: Fields | undefined, choices: Map<number, FoldedChoice>): boolean {
  const index = countOf(choice?.index ?? 0);
  if (!choice || index === undefined || index >= MOST_CHOICES || choice.logprobs) return false;
  const folded = choices.get(index) ?? { text: '', end: undefined };
  choices.set(index, folded);
  folded.text += textOf(choice.text);
  folded.end = choice.finish_reason ?? folded.end;
  return true;
}
