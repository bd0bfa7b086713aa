/** A wire format, and where a body of it has what an attacker fills. All values are JSON text: `JSON.stringify` gives up on the deepest. */
export interface Format {
  readonly name: 'openai-chat' | 'openai-responses' | 'openai-completions' | 'openai-embeddings' | 'anthropic-messages';
  readonly path: string;
  readonly model: string;
  /** A whole body around one piece of content, with further fields. */
  body(content: string, more?: string): string;
  /** A whole body around a list of messages, prompts or texts. */
  list(items: string): string;
  /** An item of that list which says nothing. */
  readonly emptyItem: string;
}

const format = (
  name: Format['name'],
  path: string,
  model: string,
  field: string,
  rest: string,
  item: (content: string) => string,
  emptyItem: string,
): Format => ({
  name,
  path,
  model,
  body: (content, more = '') => `{"model":${JSON.stringify(model)},${rest}"${field}":${item(content)}${more}}`,
  list: (items) => `{"model":${JSON.stringify(model)},${rest}"${field}":${items}}`,
  emptyItem,
});
const message = (content: string) => `[{"role":"user","content":${content}}]`;
const plain = (content: string) => content;
const EMPTY_MESSAGE = '{"role":"user","content":""}';

export const FORMATS: readonly Format[] = [
  format('openai-chat', '/v1/chat/completions', 'gpt-4o', 'messages', '', message, EMPTY_MESSAGE),
  format('openai-responses', '/v1/responses', 'gpt-4o', 'input', '"store":false,', plain, EMPTY_MESSAGE),
  format('openai-completions', '/v1/completions', 'gpt-3.5-turbo-instruct', 'prompt', '', plain, '""'),
  format('openai-embeddings', '/v1/embeddings', 'text-embedding-3-small', 'input', '', plain, '""'),
  format('anthropic-messages', '/v1/messages', 'claude-sonnet-4-5', 'messages', '"max_tokens":10,', message, EMPTY_MESSAGE),
];

/** How large the bodies are: what an attacker sends, or small enough for a test. */
export interface Sizes {
  readonly characters: number;
  readonly depths: readonly number[];
  readonly items: number;
  readonly keys: number;
  readonly idCharacters: number;
}
export const ATTACK: Sizes = {
  characters: 100_000,
  depths: [10_000, 100_000, 500_000],
  items: 50_000,
  keys: 300_000,
  idCharacters: 1_000_000,
};

const repeated = (text: string, times: number): string => JSON.stringify(text.repeat(times));
const listOf = (item: string, times: number): string => `[${Array<string>(times).fill(item).join(',')}]`;
const lists = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const objects = (depth: number): string => `${'{"content":'.repeat(depth)}1${'}'.repeat(depth)}`;
const keys = (count: number): string => `{${Array.from({ length: count }, (_, key) => `"key${key}":${key}`).join(',')}}`;
const within = (object: string): string => object.slice(1, -1);

/** Pixels of nothing behind a head that never tells a size. */
const endlessJpeg = (bytes: number): string =>
  Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(bytes, 0xff)]).toString('base64');

/** Bodies of a format that nobody sends by accident, by what is wrong with them. */
export function hostileBodies(at: Format, sizes: Sizes = ATTACK): Readonly<Record<string, string>> {
  const { characters, depths, items, idCharacters } = sizes;
  const wide = keys(sizes.keys);
  const hi = '"hi"';
  const texts: Record<string, string> = {
    'one letter': repeated('a', characters),
    spaces: repeated(' ', characters),
    'one Han character': repeated('漢', characters),
    punctuation: repeated('!', characters),
    emoji: repeated('😀', characters),
    'lone surrogates': `"${'\\ud83d'.repeat(characters)}"`,
    base64: repeated('kQ7Zt+0xW9/', Math.ceil((characters * 2) / 11)),
    'marks and digits': repeated('1!a"\\漢 ', Math.ceil(characters / 7)),
    'words without end': repeated('lorem ipsum ', Math.ceil((characters * 30) / 12)),
  };
  const deep = depths.flatMap((depth): [string, string][] => [
    [`lists ${depth} deep`, at.body(lists(depth))],
    [`objects ${depth} deep`, at.body(objects(depth))],
    [`an unknown field ${depth} deep`, at.body(hi, `,"extra":${objects(depth)}`)],
    [`tools ${depth} deep`, at.body(hi, `,"tools":[${objects(depth)}],"text":{"format":${objects(depth)}}`)],
  ]);
  return {
    ...Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, at.body(text)])),
    ...Object.fromEntries(deep),
    [`${items} empty messages`]: at.list(listOf(at.emptyItem, items)),
    [`${items} times nothing`]: at.list(listOf('null', items)),
    [`${items} empty objects`]: at.list(listOf('{}', items)),
    [`${items * 20} numbers`]: at.list(listOf('1', items * 20)),
    [`${items} parts`]: at.body(listOf('{"type":"text","text":"hi"}', items)),
    [`${items} images`]: at.body(listOf('{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo"}}', items)),
    'images without a size': at.body(
      listOf(
        `{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,${endlessJpeg(characters)}"},"source":{"type":"base64","media_type":"image/jpeg","data":"${endlessJpeg(characters)}"}}`,
        10,
      ),
    ),
    [`${items} tools`]: at.body(hi, `,"tools":${listOf('{"type":"function","function":{"name":"f"}}', items)}`),
    'keys in the content': at.body(`[${wide}]`),
    'keys in the body': at.body(hi, `,${within(wide)}`),
    'keys in an unknown field': at.body(hi, `,"extra":${wide}`),
    'keys in a tool': at.body(hi, `,"tools":[${wide}]`),
    'maxima that are none': at.body(
      hi,
      ',"max_tokens":1e308,"max_completion_tokens":-1,"max_output_tokens":"9","n":1e308,"best_of":-1',
    ),
    'infinite maxima': at.body(hi, ',"max_tokens":1e400,"max_output_tokens":1e400,"n":1e400'),
    'names of built-in members': at.body(
      '[{"type":"__proto__","__proto__":{"text":"x"},"constructor":{"prototype":[]},"text":"hi"}]',
      ',"__proto__":{"stream":true,"max_tokens":1},"constructor":{"prototype":{"model":"x"}},"toString":1,"hasOwnProperty":null',
    ),
    'a model named after a built-in member': at.body(hi).replace(JSON.stringify(at.model), '"__proto__"'),
    'a model with braces and newlines': at.body(hi).replace(JSON.stringify(at.model), '"{gpt}\\r\\nx-injected: 1|*%00"'),
    'a model without end': at.body(hi).replace(JSON.stringify(at.model), repeated('m', idCharacters)),
    'ids without end': at.body(
      hi,
      `,"user":${repeated('u', idCharacters)},"conversation":${repeated('{c}\n', idCharacters / 4)},"previous_response_id":${repeated('\u0000', idCharacters)}`,
    ),
    'a lone surrogate everywhere': at.body('"\\ud800"', ',"user":"\\udc00","\\ud800":"\\ud800","conversation":"\\ud800"'),
  };
}

/** Keys of scopes that break what is careless with them. */
export const HOSTILE_IDS: Readonly<Record<string, string>> = {
  braces: '{user}:{other}',
  separators: 'a|b|c%7C*',
  newlines: 'a\r\nx-injected: 1',
  'a built-in member': '__proto__',
  'another built-in member': 'constructor',
  'a lone surrogate': '\ud800',
  'a null character': '\u0000',
};
