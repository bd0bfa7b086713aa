import type { Part } from './dialect.js';
import { base64Length, type Left, readParts } from './parts.js';
import { type Fields, fieldsOf, listOf, textOf } from './values.js';

/** Bytes of plain text that take a token, whatever its script. */
const BYTES_PER_TOKEN = 4;

/** Reads the parts of a content: a text, a part, or a list of either. */
export function readContentParts(parts: unknown, left: Left): Part[] {
  return Array.isArray(parts) ? readParts(parts, left, readPart) : readPart(parts, left);
}

function readPart(value: unknown, left: Left): Part[] {
  const part = fieldsOf(value);
  const call = fieldsOf(either(part, 'functionCall', 'function_call'));
  if (call) {
    const named: Part = { kind: 'tool-call', name: textOf(call.name), arguments: '' };
    return fieldsOf(call.args) ? [named, { kind: 'json', value: call.args }] : [named];
  }
  const response = fieldsOf(either(part, 'functionResponse', 'function_response'));
  if (!response) return readLeaf(value);
  // Results hold media, but neither calls nor results: no body recurses.
  const media = readParts(listOf(response.parts), left, readLeaf);
  return [{ kind: 'text', text: textOf(response.name) }, { kind: 'json', value: response.response ?? null }, ...media];
}

function readLeaf(value: unknown): Part[] {
  if (typeof value === 'string') return [{ kind: 'text', text: value }];
  const part = fieldsOf(value);
  if (!part) return [];
  if (typeof part.text === 'string') return [{ kind: 'text', text: part.text }];
  const inline = fieldsOf(either(part, 'inlineData', 'inline_data'));
  if (inline) return [readMedia(part, mimeTypeOf(inline), { data: textOf(inline.data) })];
  const file = fieldsOf(either(part, 'fileData', 'file_data'));
  if (file) return [readMedia(part, mimeTypeOf(file), { uri: textOf(either(file, 'fileUri', 'file_uri')) })];
  const code = fieldsOf(either(part, 'executableCode', 'executable_code'));
  if (code) return [{ kind: 'text', text: textOf(code.code) }];
  const result = fieldsOf(either(part, 'codeExecutionResult', 'code_execution_result'));
  if (result) return [{ kind: 'text', text: textOf(result.output) }];
  return [{ kind: 'json', value: part }];
}

/** A medium in the body, or the address of one. */
type Content = { readonly data: string; readonly uri?: never } | { readonly uri: string; readonly data?: never };

function readMedia(part: Fields, mimeType: string, { data, uri }: Content): Part {
  const kind = mimeType.split('/', 1)[0] as string;
  const detail = resolutionOf(fieldsOf(either(part, 'mediaResolution', 'media_resolution'))?.level);
  if (kind === 'image') return { kind: 'image', url: uri ?? `data:${mimeType};base64,${data}`, detail };
  const length = base64Length(data);
  if (kind === 'text' && data !== undefined)
    return { kind: 'tokens', count: Math.ceil((length * 0.75) / BYTES_PER_TOKEN), isGuessed: true };
  const media = kind === 'audio' || kind === 'video' ? kind : isFilm(uri) ? 'video' : 'document';
  return { kind: 'file', media, base64Length: length, data, seconds: secondsOf(part), detail };
}

/** Films on YouTube are given by their address alone. */
const isFilm = (uri: string | undefined): boolean => /^https:\/\/(?:www\.youtube\.com|youtube\.com|youtu\.be)\//.test(uri ?? '');

const mimeTypeOf = (medium: Fields): string => textOf(either(medium, 'mimeType', 'mime_type')).toLowerCase();

/** `MEDIA_RESOLUTION_LOW` and the like, without what they all begin with. */
export function resolutionOf(value: unknown): string | undefined {
  const level = /^MEDIA_RESOLUTION_([A-Z_]{1,32})$/.exec(textOf(value))?.[1]?.toLowerCase();
  return level === 'unspecified' ? undefined : level;
}

/** Length of the stretch that the model is to look at. */
function secondsOf(part: Fields): number | undefined {
  const about = fieldsOf(either(part, 'videoMetadata', 'video_metadata'));
  const end = seconds(either(about, 'endOffset', 'end_offset'));
  const start = seconds(either(about, 'startOffset', 'start_offset')) ?? 0;
  return end === undefined || end <= start ? undefined : end - start;
}

/** `1.5s`, or an object with whole seconds as client libraries give them. */
function seconds(value: unknown): number | undefined {
  const given = typeof value === 'string' ? /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(value)?.[1] : fieldsOf(value)?.seconds;
  const count = given === undefined ? Number.NaN : Number(given);
  return count >= 0 && count < 1e9 ? count : undefined;
}

/** A field that JSON and client libraries write in two ways. */
export function either(fields: Fields | undefined, camel: string, snake: string): unknown {
  return fields?.[camel] ?? fields?.[snake];
}
