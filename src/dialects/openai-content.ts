import type { Part, Section } from './dialect.js';
import { type Left, readFile, readParts } from './parts.js';
import { type Fields, fieldsOf, listOf, textOf } from './values.js';

/** Reads a message of OpenAI's chat completions, or of its responses, whose parts only have other names. */
export function readMessage(message: Fields, left: Left): Section {
  const { content, name } = message;
  const parts = readContent(content, left);
  if (textOf(message.refusal) !== '') parts.push({ kind: 'text', text: textOf(message.refusal) });
  parts.push(...readParts(listOf(message.tool_calls), left, readToolCall), ...readCalled(fieldsOf(message.function_call)));
  const section = { kind: 'message', role: textOf(message.role), parts } as const;
  return typeof name === 'string' ? { ...section, name } : section;
}

/** Reads content: a text, a part, or a list of parts. */
export function readContent(content: unknown, left: Left): Part[] {
  return Array.isArray(content) ? readParts(content, left, readPart) : readPart(content, left);
}

/** Reads a call of a function; some servers take its arguments as an object. */
export function readCalled(called: Fields | undefined): Part[] {
  if (!called) return [];
  const given = called.arguments;
  const parts: Part[] = [{ kind: 'tool-call', name: textOf(called.name), arguments: textOf(given) }];
  if (typeof given === 'object' && given !== null) parts.push({ kind: 'json', value: given });
  return parts;
}

function readPart(value: unknown, left: Left): Part[] {
  if (typeof value === 'string') return [{ kind: 'text', text: value }];
  const part = fieldsOf(value);
  if (!part) return [];
  switch (part.type) {
    case 'refusal':
      return [{ kind: 'text', text: textOf(part.refusal) }];
    case 'image_url':
    case 'input_image':
    case 'computer_screenshot': {
      const image = fieldsOf(part.image_url) ?? { url: part.image_url ?? part.file_id, detail: part.detail };
      return [{ kind: 'image', url: textOf(image.url), detail: typeof image.detail === 'string' ? image.detail : undefined }];
    }
    case 'input_audio':
      return readFile('audio', fieldsOf(part.input_audio)?.data, left);
    case 'file':
    case 'input_file':
      return readFile('document', (fieldsOf(part.file) ?? part).file_data, left);
    default:
      return [typeof part.text === 'string' ? { kind: 'text', text: part.text } : { kind: 'json', value: part }];
  }
}

function readToolCall(value: unknown): Part[] {
  const call = fieldsOf(value);
  const custom = fieldsOf(call?.custom);
  if (custom) return readCalled({ name: custom.name, arguments: custom.input });
  return readCalled(fieldsOf(call?.function));
}

/** Reads the schema that an answer must follow, with what is said about it. */
export function readFormat({ name, description, schema }: Fields): Section {
  const about = [name, description].map((text): Part => ({ kind: 'text', text: textOf(text) }));
  return { kind: 'format', parts: [...about, { kind: 'json', value: schema ?? null }] };
}
