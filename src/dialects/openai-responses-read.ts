import type { Draft, Part, Rewrite, Section } from './dialect.js';
import { readCalled, readContent, readFormat, readMessage } from './openai-content.js';
import { inputKind } from './openai-input.js';
import { declaredMaximum, withMaximum } from './openai-maximum.js';
import { createLeft, type Left, readMessages, readParts } from './parts.js';
import { copyable, type Fields, fieldsOf, listOf, modelOf, textOf } from './values.js';

/** Stands for what is part of the prompt and not of the body. */
const HIDDEN = { kind: 'tokens', count: 0, isGuessed: true } as const;

/** What tools take beside their definitions that come with the conversation: recorded twice in 2026. */
const ADDED_TOOLS = { kind: 'tokens', count: 65, isGuessed: true } as const;

/** Reads a body of the Responses API; see `Dialect.read`. */
export function readResponsesBody(body: unknown, path?: string): Draft | undefined {
  const fields = fieldsOf(body);
  const model = modelOf(fields?.model);
  if (!fields || model === undefined || inputKind(fields, path) !== 'responses') return undefined;

  const left = createLeft();
  const format = fieldsOf(fieldsOf(fields.text)?.format);
  const stream = fields.stream === true;
  return {
    model,
    stream,
    // The last event of every stream tells its usage, asked or not.
    wantsUsage: stream,
    maximumOutputTokens: declaredMaximum(fields),
    choices: 1,
    hasTools: listOf(fields.tools).length > 0,
    hasFormat: format !== undefined && format.type !== 'text',
    sections: [
      ...readInput(fields.instructions, 'system', left),
      ...readHidden(fields, left),
      ...readInput(fields.input, 'user', left),
      ...readTools(fields, left),
      ...(format?.type === 'json_schema' ? [readFormat(format)] : []),
    ],
    rules: 'responses',
  };
}

/** Changes a body of the Responses API; see `Dialect.rewrite`. */
export function rewriteResponsesBody(body: unknown, { model, maximumOutputTokens }: Rewrite): unknown {
  const fields = copyable(body);
  if (!fields) return body;
  const changed: Fields = model === undefined ? { ...fields } : { ...fields, model };
  return maximumOutputTokens === undefined ? changed : withMaximum(changed, maximumOutputTokens, 'max_output_tokens');
}

/** A text is one message of that role; a list says itself who speaks. */
function readInput(input: unknown, role: string, left: Left): Section[] {
  if (typeof input === 'string') return [{ kind: 'message', role, parts: [{ kind: 'text', text: input }] }];
  return readMessages(listOf(input), left, readItem);
}

/** What the provider keeps of earlier calls or as a template: only what is filled into that can be seen. */
function readHidden({ previous_response_id, conversation, prompt }: Fields, left: Left): Section[] {
  const kept = [previous_response_id, conversation, prompt].filter((value) => value !== undefined && value !== null);
  if (kept.length === 0) return [];
  const variables = fieldsOf(fieldsOf(prompt)?.variables) ?? {};
  const names = Object.keys(variables);
  return [
    { kind: 'message', parts: [HIDDEN, ...readParts(names, left, (name) => readContent(variables[name as string], left))] },
  ];
}

function readTools({ tools, tool_choice }: Fields, left: Left): Section[] {
  if (listOf(tools).length === 0) return [];
  return [
    { kind: 'tools', parts: readParts(listOf(tools), left, readTool), mustCallName: calledName(tool_choice, listOf(tools)) },
  ];
}

/** The function that must be called: a choice that leaves no other one names it too. */
function calledName(choice: unknown, tools: readonly unknown[]): string | undefined {
  const named = choice === 'required' && tools.length === 1 ? fieldsOf(tools[0]) : fieldsOf(choice);
  return named?.type === 'function' && typeof named.name === 'string' ? named.name : undefined;
}

/** What the prompt shows of a function; tools of other kinds are shown as they are, if at all. */
function readTool(value: unknown): Part[] {
  const { type, name, description, parameters } = fieldsOf(value) ?? {};
  if (type !== 'function') return [{ kind: 'json', value }];
  return [{ kind: 'json', value: description === undefined ? { name, parameters } : { name, description, parameters } }];
}

function readItem(item: Fields, left: Left): Section {
  switch (item.type) {
    case undefined:
    case null:
    case 'message':
      return readMessage(item, left);
    case 'function_call':
      return { kind: 'message', parts: readCalled(item) };
    case 'custom_tool_call':
      return { kind: 'message', parts: readCalled({ name: item.name, arguments: item.input }) };
    case 'function_call_output':
    case 'custom_tool_call_output':
    case 'computer_call_output':
      return { kind: 'message', role: 'tool', parts: readContent(item.output, left) };
    case 'image_generation_call':
      return { kind: 'message', parts: [{ kind: 'image', url: pictureUrl(item.result) }] };
    case 'additional_tools':
      return { kind: 'message', role: textOf(item.role), parts: [{ kind: 'json', value: item.tools }, ADDED_TOOLS] };
    case 'item_reference':
      return { kind: 'message', parts: [HIDDEN] };
    case 'reasoning':
    case 'compaction':
      return { kind: 'message', parts: readReasoning(item, left) };
    default:
      return { kind: 'message', parts: [{ kind: 'json', value: item }] };
  }
}

/** A picture that was made before is given as its bare content, of whatever form; its head tells which. */
const pictureUrl = (result: unknown): string => (textOf(result) === '' ? '' : `data:image/png;base64,${textOf(result)}`);

/** What was thought before. Encrypted, it is base64: guessed to hold a token in four bytes. */
function readReasoning({ content, summary, encrypted_content }: Fields, left: Left): Part[] {
  const count = Math.ceil((textOf(encrypted_content).length * 3) / 16);
  return [...readContent(content, left), ...readContent(summary, left), { ...HIDDEN, count }];
}
