import { looksLikeMessages } from './anthropic-shape.js';
import type { Draft, Part, Section } from './dialect.js';
import { createLeft, type Left, readFile, readMessages, readParts } from './parts.js';
import { endpointOf } from './paths.js';
import { type Fields, fieldsOf, listOf, MOST_TOKENS, maximumOf, modelOf, textOf } from './values.js';

/** Reads a body of the messages API; see `Dialect.read`. */
export function readMessagesBody(body: unknown, path?: string): Draft | undefined {
  const fields = fieldsOf(body);
  const model = modelOf(fields?.model);
  if (!fields || model === undefined || !Array.isArray(fields.messages)) return undefined;
  const endpoint = endpointOf(path);
  if (endpoint === undefined ? !looksLikeMessages(fields, model) : endpoint !== 'messages') return undefined;

  const left = createLeft();
  const system = readContent(fields.system, left, readLeaf);
  const messages = readMessages(fields.messages, left, readMessage);
  const tools = readTools(fields, left);
  const format = fieldsOf(fields.output_format) ?? fieldsOf(fieldsOf(fields.output_config)?.format);
  return {
    model,
    stream: fields.stream === true,
    // Every stream tells its usage, asked or not.
    wantsUsage: fields.stream === true,
    maximumOutputTokens: maximumOf(fields.max_tokens, MOST_TOKENS),
    choices: 1,
    hasTools: tools !== undefined,
    hasFormat: format !== undefined && format.type !== 'text',
    thinks: ['enabled', 'adaptive'].includes(textOf(fieldsOf(fields.thinking)?.type)),
    sections: [
      ...(system.length > 0 ? [{ kind: 'message', role: 'system', parts: system } as const] : []),
      ...messages,
      ...(tools ? [tools] : []),
      ...(format?.type === 'json_schema' ? [formatSection(format)] : []),
    ],
  };
}

function formatSection({ schema }: Fields): Section {
  return { kind: 'format', parts: [{ kind: 'json', value: schema ?? null }] };
}

function readTools({ tools, tool_choice }: Fields, left: Left): Section | undefined {
  if (listOf(tools).length === 0) return undefined;
  const choice = fieldsOf(tool_choice)?.type;
  const parts = readParts(listOf(tools), left, readTool);
  return { kind: 'tools', parts, mustCall: choice === 'any' || choice === 'tool' };
}

/** What the prompt shows of a tool; those that the provider runs itself have settings in place of a schema. */
function readTool(value: unknown): Part[] {
  const { name, description, input_schema } = fieldsOf(value) ?? {};
  if (input_schema === undefined) return [{ kind: 'json', value }];
  return [{ kind: 'json', value: description === undefined ? { name, input_schema } : { name, description, input_schema } }];
}

function readMessage({ role, content }: Fields, left: Left): Section {
  return { kind: 'message', role: textOf(role), parts: readContent(content, left, readBlock) };
}

type ReadBlock = (value: unknown, left: Left) => readonly Part[];

function readContent(content: unknown, left: Left, read: ReadBlock): Part[] {
  return Array.isArray(content) ? readParts(content, left, read) : [...read(content, left)];
}

// Results hold documents, and documents hold text and images: each of the three reads one level, so that no body recurses.

function readBlock(value: unknown, left: Left): Part[] {
  const block = fieldsOf(value);
  switch (block?.type) {
    case 'tool_use': {
      const call: Part = { kind: 'tool-call', name: textOf(block.name), arguments: textOf(block.input) };
      return typeof block.input === 'object' && block.input !== null ? [call, { kind: 'json', value: block.input }] : [call];
    }
    case 'tool_result':
      return readContent(block.content, left, readInner);
    default:
      return readInner(value, left);
  }
}

function readInner(value: unknown, left: Left): Part[] {
  const block = fieldsOf(value);
  return block?.type === 'document' ? readDocument(block, left) : readLeaf(value);
}

/** What surrounds a document that is text: recorded three times, in 2025 and 2026. */
const TEXT_DOCUMENT = { kind: 'tokens', count: 38, isGuessed: true } as const;

function readDocument({ title, context, source: given }: Fields, left: Left): Part[] {
  const source = fieldsOf(given);
  const about = [title, context].flatMap((text) => (textOf(text) === '' ? [] : readLeaf(text)));
  switch (source?.type) {
    case 'text':
      return [...about, ...readLeaf(source.data), TEXT_DOCUMENT];
    case 'content':
      return [...about, ...readContent(source.content, left, readLeaf), TEXT_DOCUMENT];
    default:
      return [...about, ...readFile('document', source?.data, left)];
  }
}

function readLeaf(value: unknown): Part[] {
  if (typeof value === 'string') return [{ kind: 'text', text: value }];
  const block = fieldsOf(value);
  if (!block) return [];
  if (block.type === 'image') return [{ kind: 'image', url: imageUrl(fieldsOf(block.source)) }];
  if (block.type === 'thinking') return [{ kind: 'text', text: textOf(block.thinking) }];
  return [typeof block.text === 'string' ? { kind: 'text', text: block.text } : { kind: 'json', value: block }];
}

/** Its id where an image was uploaded before. */
function imageUrl(source: Fields | undefined): string {
  if (source?.type === 'file') return textOf(source.file_id);
  if (source?.type !== 'base64') return textOf(source?.url);
  return `data:${textOf(source.media_type)};base64,${textOf(source.data)}`;
}
