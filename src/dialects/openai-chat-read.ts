import type { Draft, Part, Section } from './dialect.js';
import { readFormat, readMessage } from './openai-content.js';
import { declaredMaximum } from './openai-maximum.js';
import { wantsUsage } from './openai-usage.js';
import { createLeft, readMessages } from './parts.js';
import { endpointOf } from './paths.js';
import { type Fields, fieldsOf, listOf, maximumOf, modelOf } from './values.js';

const MOST_CHOICES = 128;

/** Reads a chat completions body; see `Dialect.read`. */
export function readChat(body: unknown, path?: string): Draft | undefined {
  const fields = fieldsOf(body);
  const model = modelOf(fields?.model);
  if (!fields || model === undefined || !Array.isArray(fields.messages) || !isSpoken(fields, path)) return undefined;

  const format = fieldsOf(fields.response_format);
  const tools = readTools(fields);
  const sections = readMessages(fields.messages, createLeft(), readMessage);
  if (tools) sections.push(tools);
  if (format?.type === 'json_schema') sections.push(readFormat(fieldsOf(format.json_schema) ?? {}));
  return {
    model,
    stream: fields.stream === true,
    wantsUsage: wantsUsage(fields),
    maximumOutputTokens: declaredMaximum(fields),
    choices: maximumOf(fields.n, MOST_CHOICES) ?? 1,
    hasTools: tools !== undefined,
    hasFormat: format !== undefined && format.type !== 'text',
    sections,
  };
}

/** Whether chats are spoken at a path: at that of the older completions it is the prompt that counts, where there is one. */
function isSpoken(fields: Fields, path: string | undefined): boolean {
  const endpoint = endpointOf(path);
  if (endpoint === 'completions') return fields.prompt === undefined;
  return endpoint === undefined || endpoint === 'chat/completions';
}

/** Definitions of tools, and the one that must be called. */
function readTools(fields: Fields): Section | undefined {
  const lists = [fields.tools, fields.functions].filter((list) => listOf(list).length > 0);
  if (lists.length === 0) return undefined;
  const choice = fieldsOf(fieldsOf(fields.tool_choice)?.function) ?? fieldsOf(fields.function_call);
  const parts = lists.map((value): Part => ({ kind: 'json', value }));
  return { kind: 'tools', parts, mustCallName: typeof choice?.name === 'string' ? choice.name : undefined };
}
