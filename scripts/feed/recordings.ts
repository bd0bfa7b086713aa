/** Where bodies of an api are sent. */
export const PATHS = {
  'openai.chat': '/v1/chat/completions',
  'openai.responses': '/v1/responses',
  'openai.responses_count': '/v1/responses',
  'openai.completions': '/v1/completions',
  'openai.embeddings': '/v1/embeddings',
  'anthropic.messages': '/v1/messages',
  'anthropic.count_tokens': '/v1/messages',
} as const;
export type Api = keyof typeof PATHS;

/** Traits by which bodies are grouped; one with several is in the first group of them. */
const KINDS = ['files', 'remote images', 'images', 'tool results', 'tools', 'schemas', 'multi-turn', 'plain'] as const;
export type Kind = (typeof KINDS)[number];

/** One request body, and what the provider said that it took. */
export interface Recording {
  readonly name: string;
  readonly api: Api;
  readonly kind: Kind;
  readonly body: Fields;
  /** Input tokens, 1 or more. */
  readonly reported: number;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads lines of JSON; see the head of `feed-bodies.ts`.
 * @param path - for messages
 * @throws Error that names the line that is none, and says what one looks like
 */
export function parseRecords(text: string, path: string): { recordings: Recording[]; passedOver: number } {
  const recordings: Recording[] = [];
  let passedOver = 0;
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const where = `${path}:${index + 1}`;
    const record = fieldsOf(parsed(line, where));
    const api = record?.api;
    if (!record || typeof api !== 'string')
      throw new Error(`${where}: expected {"api": ..., "body": ..., "usage": {"input": ...}}`);
    if (!isApi(api)) {
      passedOver++;
      continue;
    }
    recordings.push(recordingOf(record, api, where));
  }
  return { recordings, passedOver };
}

function recordingOf({ body: given, usage, model, id, source }: Fields, api: Api, where: string): Recording {
  const body = fieldsOf(given);
  const reported = fieldsOf(usage)?.input;
  if (!body) throw new Error(`${where}: body must be a JSON object, the request as it was sent`);
  if (typeof reported !== 'number' || !(reported >= 1))
    throw new Error(`${where}: usage.input must be the input tokens that the provider reported, 1 or more`);
  return {
    name: [id ?? where, source].filter((part) => typeof part === 'string').join(' '),
    api,
    kind: kindOf(body),
    body: body.model === undefined && typeof model === 'string' ? { ...body, model } : body,
    reported,
  };
}

function kindOf(body: Fields): Kind {
  const traits = new Set<Kind>(['plain']);
  if ([body.tools, body.functions].some((list) => Array.isArray(list) && list.length > 0)) traits.add('tools');
  for (const format of [
    body.response_format,
    fieldsOf(body.text)?.format,
    body.output_format,
    fieldsOf(body.output_config)?.format,
  ])
    if (fieldsOf(format)?.type === 'json_schema') traits.add('schemas');
  // What stands in tools and schemas is text, whatever it is called.
  const open: unknown[] = [body.system, body.messages, body.input];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    const trait = traitOf(value as Fields);
    if (trait) traits.add(trait);
    open.push(...Object.values(value));
  }
  return KINDS.find((kind) => traits.has(kind)) ?? 'plain';
}

function traitOf({ type, role, image_url, source }: Fields): Kind | undefined {
  if (role === 'assistant') return 'multi-turn';
  if (role === 'tool' || role === 'function') return 'tool results';
  switch (type) {
    case 'file':
    case 'input_file':
    case 'input_audio':
    case 'document':
      return 'files';
    case 'tool_result':
    case 'function_call_output':
    case 'custom_tool_call_output':
      return 'tool results';
    case 'image_url':
    case 'input_image': {
      const url = fieldsOf(image_url)?.url ?? image_url;
      return typeof url === 'string' && url.startsWith('data:') ? 'images' : 'remote images';
    }
    case 'image':
      return fieldsOf(source)?.type === 'base64' ? 'images' : 'remote images';
    default:
      return undefined;
  }
}

function parsed(line: string, where: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new Error(`${where}: not JSON; each line must be one JSON object`);
  }
}

const isApi = (api: string): api is Api => Object.hasOwn(PATHS, api);

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}
