/** Vocabularies by which models count, as their publisher names them. */
export type EncodingName = 'o200k_base' | 'cl100k_base' | 'p50k_base' | 'r50k_base';

/** Longest name that is looked at, in characters. */
const LONGEST_NAME = 256;

/**
 * Beginnings of model names, the first match counts: OpenAI's models as its vocabularies and measured usage of 2023 to 2026
 * have them. Azure writes `gpt-35`; fine-tuned models carry the name of their base.
 */
const PREFIXES: readonly (readonly [prefix: string, encoding: EncodingName])[] = [
  ['gpt-4o', 'o200k_base'],
  ['gpt-4.', 'o200k_base'],
  ['gpt-41', 'o200k_base'],
  ['gpt-45', 'o200k_base'],
  ['gpt-4', 'cl100k_base'],
  ['gpt-3', 'cl100k_base'],
  ['gpt-', 'o200k_base'],
  ['chatgpt-', 'o200k_base'],
  ['codex-', 'o200k_base'],
  ['computer-use', 'o200k_base'],
  ['omni-', 'o200k_base'],
  ['text-embedding-', 'cl100k_base'],
  ['davinci-002', 'cl100k_base'],
  ['babbage-002', 'cl100k_base'],
  ['text-davinci-002', 'p50k_base'],
  ['text-davinci-003', 'p50k_base'],
  ['text-davinci-edit', 'p50k_base'],
  ['code-davinci', 'p50k_base'],
  ['code-cushman', 'p50k_base'],
  ['davinci-codex', 'p50k_base'],
  ['cushman-codex', 'p50k_base'],
];

/** `o1`, `o3-mini`, `o4-mini-2025-04-16` and whatever follows them, but no `orca` and no `o1x`. */
const O_SERIES = /^o[1-9](?:-|$)/;

/** The first base models and the embeddings made from them. */
const FIRST_MODELS = /^(?:(?:text-)?(?:ada|babbage|curie|davinci)(?:-|$)|(?:text|code)-(?:search|similarity)-)/;

/** What a model's name says of it. */
interface Family {
  readonly base: string;
  /** `undefined`: its vocabulary is not known here. */
  readonly encoding: EncodingName | undefined;
  readonly isClaude: boolean;
  readonly isReasoning: boolean;
  readonly marksChannels: boolean;
}

/** Names looked at, which are the caller's text: few and short are remembered. */
const MOST_FAMILIES = 256;
const families = new Map<string, Family>();

function familyOf(model: string): Family {
  const known = families.get(model);
  if (known) return known;
  const family = readFamily(model);
  if (families.size >= MOST_FAMILIES) families.clear();
  if (model.length <= LONGEST_NAME) families.set(model, family);
  return family;
}

function readFamily(model: string): Family {
  const base = readBaseName(model);
  const isReasoning = O_SERIES.test(base) || /^gpt-(?:[5-9]|oss)/.test(base);
  return {
    base,
    encoding: knownEncoding(base),
    isClaude: /(?:^|\.)claude(?:-|$)/.test(base),
    isReasoning,
    marksChannels: isReasoning && !/^o1-(?:mini|preview)/.test(base),
  };
}

function readBaseName(model: string): string {
  let name = model.slice(0, LONGEST_NAME).toLowerCase();
  name = name.slice(name.lastIndexOf('/') + 1);
  if (name.startsWith('ft:')) name = name.slice(3);
  return name.split(':', 1)[0] as string;
}

function knownEncoding(name: string): EncodingName | undefined {
  if (O_SERIES.test(name)) return 'o200k_base';
  return PREFIXES.find(([prefix]) => name.startsWith(prefix))?.[1] ?? (FIRST_MODELS.test(name) ? 'r50k_base' : undefined);
}

/**
 * The model that a name means, in lower case, without what is put around it: `ft:gpt-4o-mini:team::id`,
 * `curie:ft-team`, `openai/gpt-4o`, `azure/openai/gpt-4o`.
 */
export const baseName = (model: string): string => familyOf(model).base;

/**
 * The encoding of a model's vocabulary. For models that are not known it is only a guess: cl100k_base for Claude, whose vocabulary
 * knows languages other than English about as well, o200k_base for all others.
 */
export function encodingFor(model: string): EncodingName {
  const { encoding, isClaude: isOfAnthropic } = familyOf(model);
  return encoding ?? (isOfAnthropic ? 'cl100k_base' : 'o200k_base');
}

/** Whether a model is Claude, as Anthropic and those who host it call it: `anthropic.claude-opus-4-1`, `anthropic/claude-haiku-4.5`. */
export const isClaude = (model: string): boolean => familyOf(model).isClaude;

/** Whether a model's own vocabulary is known here. Names of Azure deployments may say one model and be another. */
export const hasKnownEncoding = (model: string): boolean => familyOf(model).encoding !== undefined;

/** Whether a model is of the families that reason before they answer: o-series, gpt-5 and later. */
export const isReasoningModel = (model: string): boolean => familyOf(model).isReasoning;

/**
 * Whether a model's prompt holds a marker for the channel of each answer in the history: all that reason but o1-mini and
 * o1-preview (measured in 2024 to 2026).
 */
export const marksChannels = (model: string): boolean => familyOf(model).marksChannels;
