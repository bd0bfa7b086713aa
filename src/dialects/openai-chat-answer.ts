import type { CompleteAnswer, StreamEvent } from './dialect.js';
import { contentText, foldChunks, REASONING_FIELDS } from './openai-chat-fold.js';
import { completionUsage } from './openai-usage.js';
import { type Fields, fieldsOf, listOf, modelOf, nestsDeeper, textOf } from './values.js';

/** Ends of a choice that is whole; everything else was cut off, filtered or went wrong. */
const GOOD_ENDS = new Set<unknown>(['stop', 'tool_calls', 'function_call']);
/** Levels of an answer worth keeping; real ones have about six. */
const DEEPEST = 64;

/** Everything that a completion or a chunk adds to the output, all choices one after the other; see `Dialect.text`. */
export function chatText(bodyOrData: unknown): string {
  let text = '';
  for (const choice of listOf(fieldsOf(bodyOrData)?.choices)) {
    const message = messageOf(fieldsOf(choice));
    if (!message) continue;
    for (const name of REASONING_FIELDS) text += textOf(message[name]);
    text += contentText(message.content) + textOf(message.refusal);
    for (const call of listOf(message.tool_calls))
      text += calledText(fieldsOf(fieldsOf(call)?.function)) + calledText(fieldsOf(fieldsOf(call)?.custom));
    text += calledText(fieldsOf(message.function_call));
  }
  return text;
}

/** The whole answer; see `Dialect.collect`. */
export function collectChat(
  given: { readonly body: unknown } | { readonly events: readonly StreamEvent[] },
): CompleteAnswer | undefined {
  const body = fieldsOf('body' in given ? given.body : foldChunks(given.events));
  if (!body || body.error || nestsDeeper(body, DEEPEST)) return undefined;
  const choices = listOf(body.choices).map(fieldsOf);
  const isWhole = (choice: Fields | undefined) => GOOD_ENDS.has(choice?.finish_reason) && fieldsOf(choice?.message) !== undefined;
  if (choices.length === 0 || !choices.every(isWhole)) return undefined;
  const messages = choices.map((choice) => fieldsOf(choice?.message) as Fields);
  const [first = {}] = messages;
  return {
    model: modelOf(body.model),
    text: contentText(first.content) || textOf(first.refusal),
    hasToolCalls: messages.some(({ tool_calls, function_call }) => listOf(tool_calls).length > 0 || !!fieldsOf(function_call)),
    usage: completionUsage(body),
    body,
  };
}

function messageOf(choice: Fields | undefined): Fields | undefined {
  return fieldsOf(choice?.message) ?? fieldsOf(choice?.delta);
}

function calledText(called: Fields | undefined): string {
  return textOf(called?.name) + textOf(called?.arguments) + textOf(called?.input);
}
