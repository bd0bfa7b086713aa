import { type Fields, fieldsOf, listOf } from './values.js';

/** Fields and roles of chat completions that the messages API refuses. */
const CHAT_FIELDS = [
  'frequency_penalty',
  'functions',
  'logit_bias',
  'logprobs',
  'max_completion_tokens',
  'n',
  'parallel_tool_calls',
  'presence_penalty',
  'reasoning_effort',
  'response_format',
  'seed',
  'stop',
  'stream_options',
] as const;
/** Members of a list that are asked what they are. */
const MOST_ASKED = 1_000;
const someOf = (list: unknown, test: (value: unknown, at: number) => boolean): boolean =>
  listOf(list).slice(0, MOST_ASKED).some(test);
const CHAT_ROLES = new Set<unknown>(['developer', 'tool', 'function']);

/**
 * Tells a call of the messages API from a chat completion where the path does not: by what only the one has, or by the model
 * where nothing speaks for the other, for Claude is called through both.
 */
export function looksLikeMessages(fields: Fields, model: string): boolean {
  return isOwn(fields) || (model.startsWith('claude') && !isChat(fields));
}

function isOwn({ system, anthropic_version, max_tokens, thinking, tools, messages }: Fields): boolean {
  return (
    typeof system === 'string' ||
    Array.isArray(system) ||
    typeof anthropic_version === 'string' ||
    (typeof max_tokens === 'number' && fieldsOf(thinking) !== undefined) ||
    someOf(tools, (tool) => fieldsOf(tool)?.input_schema !== undefined) ||
    someOf(messages, (message) => someOf(fieldsOf(message)?.content, isOwnBlock))
  );
}

function isOwnBlock(value: unknown): boolean {
  const block = fieldsOf(value);
  switch (block?.type) {
    case 'tool_use':
    case 'tool_result':
      return true;
    case 'image':
    case 'document':
      return fieldsOf(block.source) !== undefined;
    default:
      return false;
  }
}

function isChat(fields: Fields): boolean {
  return (
    CHAT_FIELDS.some((name) => fields[name] !== undefined) ||
    someOf(fields.tools, (tool) => fieldsOf(fieldsOf(tool)?.function) !== undefined) ||
    someOf(fields.messages, (message, at) => isChatMessage(fieldsOf(message), at))
  );
}

/** Claude may be told something by `system` between other messages, not before them. */
function isChatMessage(message: Fields | undefined, at: number): boolean {
  if (!message) return false;
  return (
    CHAT_ROLES.has(message.role) ||
    (at === 0 && message.role === 'system') ||
    message.tool_calls !== undefined ||
    someOf(message.content, (part) => fieldsOf(part)?.type === 'image_url')
  );
}
