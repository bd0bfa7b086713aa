import { isReasoningModel } from '../tokens/encodings.js';
import type { Draft, Part, Rewrite, Section } from './dialect.js';
import { type Fields, fieldsOf, listOf, MOST_TOKENS, maximumOf, modelOf, textOf } from './values.js';

/** Last segments of paths whose bodies may look like chat completions, or are certainly none. */
const OTHER_ENDPOINTS = new Set([
  'responses',
  'embeddings',
  'messages',
  'count_tokens',
  'input_tokens',
  'moderations',
  'batches',
]);
/** Gemini's methods stand behind a colon. */
const OTHER_METHODS = /:\w*(?:Content|Tokens)$/;

const MAXIMUM_FIELDS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'] as const;
const MOST_CHOICES = 128;

/** Reads a chat completions body; see `Dialect.read`. */
export function readChat(body: unknown, path?: string): Draft | undefined {
  const fields = fieldsOf(body);
  const model = modelOf(fields?.model);
  if (!fields || model === undefined || !Array.isArray(fields.messages) || isOtherEndpoint(path)) return undefined;

  const maxima = MAXIMUM_FIELDS.map((name) => maximumOf(fields[name], MOST_TOKENS) ?? 0);
  const largest = Math.max(...maxima);
  const stream = fields.stream === true;
  const format = fieldsOf(fields.response_format);
  const tools = readTools(fields);
  const sections = fields.messages.flatMap(readMessage);
  if (tools) sections.push(tools);
  if (format?.type === 'json_schema')
    sections.push({ kind: 'format', parts: [{ kind: 'json', value: format.json_schema ?? null }] });
  return {
    model,
    stream,
    wantsUsage: stream && fieldsOf(fields.stream_options)?.include_usage === true,
    maximumOutputTokens: largest > 0 ? largest : undefined,
    choices: maximumOf(fields.n, MOST_CHOICES) ?? 1,
    hasTools: tools !== undefined,
    hasFormat: format !== undefined && format.type !== 'text',
    sections,
  };
}

/** Changes a chat completions body; see `Dialect.rewrite`. */
export function rewriteChat(body: unknown, change: Rewrite): unknown {
  const fields = fieldsOf(body);
  if (!fields) return body;
  let changed: Fields = { ...fields };
  if (change.model !== undefined) changed = forModel({ ...changed, model: change.model }, change.model);
  if (change.maximumOutputTokens !== undefined) changed = withMaximum(changed, change.maximumOutputTokens);
  if (change.includeUsage && changed.stream === true)
    changed = { ...changed, stream_options: { ...fieldsOf(changed.stream_options), include_usage: true } };
  return changed;
}

/** Reasoning models refuse `max_tokens`: a substitute of that family gets the same maximum in the field it knows. */
function forModel(fields: Fields, model: string): Fields {
  const { max_tokens: maximum, ...others } = fields;
  if (maximumOf(maximum, MOST_TOKENS) === undefined || !isReasoningModel(model)) return fields;
  return { max_completion_tokens: maximum, ...others };
}

function withMaximum(fields: Fields, maximum: number): Fields {
  const declared = MAXIMUM_FIELDS.filter((name) => maximumOf(fields[name], MOST_TOKENS) !== undefined);
  if (declared.length > 0) {
    const lowered = declared.map((name) => [name, Math.min(fields[name] as number, maximum)]);
    return { ...fields, ...Object.fromEntries(lowered) };
  }
  // Compatible servers often know max_tokens only; OpenAI's models take it but for those that reason.
  const field = isReasoningModel(textOf(fields.model)) ? 'max_completion_tokens' : 'max_tokens';
  return { ...fields, [field]: maximum };
}

function isOtherEndpoint(path: string | undefined): boolean {
  if (path === undefined) return false;
  const segments = (path.split(/[?#]/, 1)[0] as string).split('/').filter((segment) => segment !== '');
  const last = segments[segments.length - 1] ?? '';
  return OTHER_ENDPOINTS.has(last) || OTHER_METHODS.test(last);
}

/** Definitions of tools, and the one that must be called, as far as the prompt shows them. */
function readTools(fields: Fields): Section | undefined {
  const lists = [fields.tools, fields.functions].filter((list) => listOf(list).length > 0);
  if (lists.length === 0) return undefined;
  const choices = [fields.tool_choice, fields.function_call].filter((choice) => fieldsOf(choice) !== undefined);
  return { kind: 'tools', parts: [...lists, ...choices].map((value): Part => ({ kind: 'json', value })) };
}

/** None for what is no message at all: a provider refuses the body. */
function readMessage(value: unknown): Section[] {
  const message = fieldsOf(value);
  if (!message) return [];
  const parts = readContent(message.content);
  if (textOf(message.refusal) !== '') parts.push({ kind: 'text', text: textOf(message.refusal) });
  for (const call of listOf(message.tool_calls)) parts.push(...readToolCall(fieldsOf(call)));
  if (fieldsOf(message.function_call)) parts.push(...readCalled(fieldsOf(message.function_call)));
  const section = { kind: 'message', role: textOf(message.role), parts } as const;
  return [typeof message.name === 'string' ? { ...section, name: message.name } : section];
}

function readContent(content: unknown): Part[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  if (Array.isArray(content)) return content.flatMap(readPart);
  return fieldsOf(content) ? [{ kind: 'json', value: content }] : [];
}

function readPart(value: unknown): Part[] {
  if (typeof value === 'string') return [{ kind: 'text', text: value }];
  const part = fieldsOf(value);
  if (!part) return [];
  switch (part.type) {
    case 'refusal':
      return [{ kind: 'text', text: textOf(part.refusal) }];
    case 'image_url': {
      const image = fieldsOf(part.image_url);
      const detail = image?.detail;
      return [
        {
          kind: 'image',
          url: textOf(image ? image.url : part.image_url),
          detail: typeof detail === 'string' ? detail : undefined,
        },
      ];
    }
    case 'input_audio':
      return [{ kind: 'file', media: 'audio', base64Length: base64Length(fieldsOf(part.input_audio)?.data) }];
    case 'file':
      return [{ kind: 'file', media: 'document', base64Length: base64Length(fieldsOf(part.file)?.file_data) }];
    default:
      return [typeof part.text === 'string' ? { kind: 'text', text: part.text } : { kind: 'json', value: part }];
  }
}

/** Length of what is encoded, without the head of a data URL. */
function base64Length(data: unknown): number {
  const text = textOf(data);
  return text.startsWith('data:') ? text.length - text.indexOf(',') - 1 : text.length;
}

function readToolCall(call: Fields | undefined): Part[] {
  const custom = fieldsOf(call?.custom);
  if (custom) return readCalled({ name: custom.name, arguments: custom.input });
  return readCalled(fieldsOf(call?.function));
}

function readCalled(called: Fields | undefined): Part[] {
  if (!called) return [];
  const given = called.arguments;
  const parts: Part[] = [{ kind: 'tool-call', name: textOf(called.name), arguments: textOf(given) }];
  // Some servers take arguments as objects.
  if (typeof given === 'object' && given !== null) parts.push({ kind: 'json', value: given });
  return parts;
}
