import type { Draft, Part, Section } from './dialect.js';
import { either, readContentParts, resolutionOf } from './gemini-parts.js';
import { type GeminiTarget, geminiTarget, plainModel } from './gemini-path.js';
import { createLeft, type Left, readParts } from './parts.js';
import { type Fields, fieldsOf, listOf, MOST_TOKENS, maximumOf, textOf } from './values.js';

const GENERATING = new Set(['generateContent', 'streamGenerateContent']);
const MOST_CHOICES = 128;
/** Other formats have the prompt in these. */
const FOREIGN = ['messages', 'input', 'prompt'] as const;

/** Reads a body of generateContent; see `Dialect.read`. */
export function readGenerateContent(body: unknown, path?: string): Draft | undefined {
  const fields = fieldsOf(body);
  const target = geminiTarget(path);
  // The path decides, whatever a body says of its own model.
  const model = target ? target.model : plainModel(fields?.model);
  if (!fields || model === undefined || !isSpoken(fields, model, target)) return undefined;

  const left = createLeft();
  const settings = settingsOf(fields);
  const format = formatOf(settings);
  const system = readContentParts(contentParts(of(fields, settings, 'systemInstruction', 'system_instruction')), left);
  const contents = readContents(fields.contents, left);
  const tools = readTools(fields, settings, left);
  const stream = target ? target.method === 'streamGenerateContent' : fields.stream === true;
  const thinking = fieldsOf(either(settings, 'thinkingConfig', 'thinking_config'));
  const sections: Section[] = [
    ...(system.length > 0 ? [{ kind: 'message', role: 'system', parts: system } as const] : []),
    ...contents,
    ...(tools ? [tools] : []),
    ...(format === undefined ? [] : [{ kind: 'format', parts: [{ kind: 'json', value: format }] } as const]),
  ];
  const resolution = resolutionOf(either(settings, 'mediaResolution', 'media_resolution'));
  return {
    model,
    stream,
    // Every chunk of a stream tells the usage so far, asked or not.
    wantsUsage: stream,
    maximumOutputTokens: maximumOf(either(settings, 'maxOutputTokens', 'max_output_tokens'), MOST_TOKENS),
    choices: maximumOf(either(settings, 'candidateCount', 'candidate_count'), MOST_CHOICES) ?? 1,
    hasTools: tools !== undefined,
    hasFormat: format !== undefined || isOtherThanText(either(settings, 'responseMimeType', 'response_mime_type')),
    thinks: thinking !== undefined && either(thinking, 'thinkingBudget', 'thinking_budget') !== 0,
    sections: resolution === undefined ? sections : sections.map((section) => seenAt(resolution, section)),
    rules: target?.isVertex ? 'vertex' : 'gemini',
  };
}

/** At a route of an application, contents alone could be anybody's: they have parts, or the model's name tells. */
function isSpoken(fields: Fields, model: string, target: GeminiTarget | undefined): boolean {
  const { contents } = fields;
  if (target)
    return GENERATING.has(target.method) && (typeof contents === 'object' ? contents !== null : typeof contents === 'string');
  if (FOREIGN.some((name) => fields[name] !== undefined)) return false;
  const [first] = Array.isArray(contents) ? contents : [contents];
  return (
    fieldsOf(first)?.parts !== undefined || (isGoogles(model) && (typeof first === 'string' || fieldsOf(first) !== undefined))
  );
}

const isGoogles = (model: string): boolean => /^(?:google\/)?(?:gemini|gemma)-/.test(model);

/** How the answer is to be made, as the API names it, or as client libraries take it: together with tools and instructions. */
export function settingsOf(fields: Fields): Fields {
  return fieldsOf(either(fields, 'generationConfig', 'generation_config')) ?? fieldsOf(fields.config) ?? {};
}

function of(fields: Fields, settings: Fields, camel: string, snake: string): unknown {
  return either(fields, camel, snake) ?? either(settings, camel, snake);
}

/** Of a content its parts; some libraries take a text or a part in its place. */
function contentParts(content: unknown): unknown {
  const fields = fieldsOf(content);
  return fields?.parts === undefined ? content : fields.parts;
}

function readContents(contents: unknown, left: Left): Section[] {
  if (!Array.isArray(contents)) return contents === undefined ? [] : [readMessage(contents, left)];
  const sections: Section[] = [];
  let at = 0;
  for (; at < contents.length && left.parts > 0; at++) {
    left.parts--;
    const content: unknown = contents[at];
    if (typeof content === 'string' || fieldsOf(content)) sections.push(readMessage(content, left));
  }
  if (at < contents.length) sections.push({ kind: 'message', parts: [{ kind: 'json', value: contents.slice(at) }] });
  return sections;
}

/** Whoever asks alone need not say who they are. */
function readMessage(content: unknown, left: Left): Section {
  const role = textOf(fieldsOf(content)?.role) || 'user';
  return { kind: 'message', role, parts: readContentParts(contentParts(content), left) };
}

function readTools(fields: Fields, settings: Fields, left: Left): Section | undefined {
  const given = of(fields, settings, 'tools', 'tools');
  const tools = fieldsOf(given) ? [given] : listOf(given);
  if (tools.length === 0) return undefined;
  const choice = fieldsOf(of(fields, settings, 'toolConfig', 'tool_config'));
  const calling = fieldsOf(either(choice, 'functionCallingConfig', 'function_calling_config'));
  const parts = readParts(tools, left, (tool, rest) => readTool(fieldsOf(tool) ?? {}, rest));
  return { kind: 'tools', parts, mustCall: textOf(calling?.mode).toUpperCase() === 'ANY' };
}

/** A tool is a list of functions, or one of the provider's own with its settings: `{ googleSearch: {} }`. */
function readTool(tool: Fields, left: Left): Part[] {
  const functions = either(tool, 'functionDeclarations', 'function_declarations');
  if (functions === undefined) return [{ kind: 'json', value: tool }];
  return readParts(fieldsOf(functions) ? [functions] : listOf(functions), left, (value) => [{ kind: 'json', value }]);
}

function formatOf(settings: Fields): unknown {
  return either(settings, 'responseSchema', 'response_schema') ?? either(settings, 'responseJsonSchema', 'response_json_schema');
}

const isOtherThanText = (mimeType: unknown): boolean => typeof mimeType === 'string' && mimeType !== 'text/plain';

/** What a request says of all its media holds for those that say nothing themselves. */
function seenAt(resolution: string, section: Section): Section {
  const parts = section.parts.map((part) =>
    part.kind === 'image' || part.kind === 'file' ? { ...part, detail: part.detail ?? resolution } : part,
  );
  return { ...section, parts };
}
