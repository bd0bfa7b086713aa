import type { Draft, Rewrite, Section } from './dialect.js';
import { inputKind } from './openai-input.js';
import { declaredMaximum, withMaximum } from './openai-maximum.js';
import { promptCount, readPrompts } from './openai-prompts.js';
import { wantsUsage, withUsage } from './openai-usage.js';
import { endpointOf, makesNoText } from './paths.js';
import { copyable, type Fields, fieldsOf, maximumOf, modelOf, textOf } from './values.js';

/** Choices that are made for one prompt at most. */
const MOST_OF_EACH = 128;
/** Choices of a whole call that are counted: OpenAI takes 2,048 prompts at most. */
export const MOST_CHOICES = 2_048 * MOST_OF_EACH;

/** Reads a completions body; see `Dialect.read`. */
export function readCompletionsBody(body: unknown, path?: string): Draft | undefined {
  const fields = fieldsOf(body);
  const model = modelOf(fields?.model);
  if (!fields || model === undefined || !isCompletion(fields, path)) return undefined;

  const prompts = readPrompts(fields.prompt);
  const each = Math.max(...[fields.n, fields.best_of].map((value) => maximumOf(value, MOST_OF_EACH) ?? 1));
  const format = fieldsOf(fields.response_format);
  return {
    model,
    stream: fields.stream === true,
    wantsUsage: wantsUsage(fields),
    maximumOutputTokens: declaredMaximum(fields),
    choices: Math.min(MOST_CHOICES, prompts.count * each),
    hasTools: false,
    hasFormat: format !== undefined && format.type !== 'text',
    sections: [prompts.section, ...readSuffix(fields)],
  };
}

/** Changes a completions body; see `Dialect.rewrite`. */
export function rewriteCompletionsBody(body: unknown, change: Rewrite): unknown {
  const fields = copyable(body);
  if (!fields) return body;
  let changed: Fields = change.model === undefined ? { ...fields } : { ...fields, model: change.model };
  if (change.maximumOutputTokens !== undefined) changed = withMaximum(changed, change.maximumOutputTokens, 'max_tokens');
  return change.includeUsage ? withUsage(changed) : changed;
}

/** How many choices a body gets back, where `best_of` are made and only the best `n` shown. */
export function choicesShown(body: unknown): number {
  const { prompt, n } = fieldsOf(body) ?? {};
  return promptCount(prompt) * (maximumOf(n, MOST_OF_EACH) ?? 1);
}

function isCompletion(fields: Fields, path: string | undefined): boolean {
  const { prompt, messages } = fields;
  const endpoint = endpointOf(path);
  // A body without a prompt goes on with nothing, and is no less a call.
  if (endpoint === 'completions') return prompt !== undefined || !Array.isArray(messages);
  if (endpoint !== undefined || makesNoText(path) || Array.isArray(messages)) return false;
  return (typeof prompt === 'string' || Array.isArray(prompt)) && inputKind(fields, path) === undefined;
}

/** What comes after the completion, and is part of the prompt. */
function readSuffix({ suffix }: Fields): Section[] {
  return textOf(suffix) === '' ? [] : [{ kind: 'prompt', parts: [{ kind: 'text', text: textOf(suffix) }] }];
}
