import { type EncodingName, knownFamily, type NamelessFamily, UNKNOWN_FAMILY } from './model-table.js';

export type { EncodingName } from './model-table.js';

/** Longest name that is looked at, in characters. */
const LONGEST_NAME = 256;

/** What a model's name says of it. */
interface Named {
  readonly base: string;
  readonly family: NamelessFamily;
  readonly isKnown: boolean;
  readonly isClaude: boolean;
  readonly isGemini: boolean;
}

/** Names looked at, which are the caller's text: few and short are remembered. */
const MOST_NAMES = 256;
const names = new Map<string, Named>();

function read(model: string): Named {
  const known = names.get(model);
  if (known) return known;
  const base = readBaseName(model);
  const family = knownFamily(base);
  const named: Named = {
    base,
    family: family ?? UNKNOWN_FAMILY,
    isKnown: family !== undefined,
    isClaude: /(?:^|\.)claude(?:-|$)/.test(base),
    isGemini: /^(?:gemini|gemma|learnlm)-/.test(base),
  };
  if (names.size >= MOST_NAMES) names.clear();
  if (model.length <= LONGEST_NAME) names.set(model, named);
  return named;
}

function readBaseName(model: string): string {
  let name = model.slice(0, LONGEST_NAME).toLowerCase();
  name = name.slice(name.lastIndexOf('/') + 1);
  if (name.startsWith('ft:')) name = name.slice(3);
  return name.split(':', 1)[0] as string;
}

/**
 * The model that a name means, in lower case, without what is put around it: `ft:gpt-4o-mini:team::id`,
 * `curie:ft-team`, `openai/gpt-4o`, `azure/openai/gpt-4o`.
 */
export const baseName = (model: string): string => read(model).base;

/** The family of a model by its name; one that stands for all others when it is not known. */
export const familyOf = (model: string): NamelessFamily => read(model).family;

/**
 * The encoding of a model's vocabulary. For models that are not known it is only a guess: cl100k_base for Claude, whose vocabulary
 * knows languages other than English about as well, o200k_base for all others.
 */
export function encodingFor(model: string): EncodingName {
  const { family, isClaude: isOfAnthropic } = read(model);
  return isOfAnthropic ? 'cl100k_base' : family.encoding;
}

/** Whether a model is Claude, as Anthropic and those who host it call it: `anthropic.claude-opus-4-1`, `anthropic/claude-haiku-4.5`. */
export const isClaude = (model: string): boolean => read(model).isClaude;

/** Whether a model's own vocabulary is known here. Names of Azure deployments may say one model and be another. */
export const hasKnownEncoding = (model: string): boolean => read(model).isKnown;

/** Whether there are rules for a model, by its name: those of its provider, or of a vocabulary that is named in its place. */
export function hasRules(model: string): boolean {
  const { isKnown, isClaude: isOfAnthropic, isGemini } = read(model);
  return isKnown || isOfAnthropic || isGemini;
}

/** Whether a model is of the families that reason before they answer: o-series, gpt-5 and later. */
export const isReasoningModel = (model: string): boolean => familyOf(model).reasons;
