import type { Part } from '../dialects/dialect.js';
import { type Fields, fieldsOf, listOf, textOf } from '../dialects/values.js';
import type { GeminiText } from './gemini-text.js';

/** What surrounds the texts of a definition, in tokens. */
export interface GeminiToolFrame {
  readonly function: number;
  readonly description: number;
  /** Of a property, and of a choice between schemas. */
  readonly property: number;
  /** Of an object inside of the parameters. */
  readonly object: number;
  /** Of each value that an enumeration allows. */
  readonly value: number;
}

/** Schemas that are gone through before the rest counts as JSON, and how deep they may lie: references may be endless. */
const MOST_SCHEMAS = 5_000;
const DEEPEST = 8;
/** Levels that a reference to what is around it is followed again. */
const MOST_RETURNS = 2;
/** What is read of a schema: nothing else is copied of one that is referred to, for it may hold anything. */
const READ = [
  'description',
  'properties',
  'enum',
  'anyOf',
  'any_of',
  'oneOf',
  'allOf',
  'prefixItems',
  'items',
  'additionalProperties',
] as const;

/** Tokens of definitions of tools, each in a part or in lists; what is no function counts as its JSON text. */
export function geminiToolTokens(parts: readonly Part[], frame: GeminiToolFrame, text: GeminiText): number {
  const walk: Walk = { frame, text, left: MOST_SCHEMAS };
  let tokens = 0;
  for (const part of parts) {
    const values = part.kind !== 'json' ? [] : Array.isArray(part.value) ? part.value : [part.value];
    for (const value of values) tokens += definitionTokens(fieldsOf(value) ?? {}, walk);
  }
  return tokens;
}

interface Walk {
  readonly frame: GeminiToolFrame;
  readonly text: GeminiText;
  left: number;
}

/** As Gemini's own API has it, or as compatible ones wrap it. */
function definitionTokens(tool: Fields, walk: Walk): number {
  const { frame, text } = walk;
  const own = fieldsOf(tool.function) ?? tool;
  const { name, description } = own;
  if (textOf(name) === '' || walk.left <= 0) return text.jsonTokens(tool);
  const schema = own.parameters ?? own.parametersJsonSchema ?? own.parameters_json_schema ?? own.input_schema;
  const described = textOf(description) === '' ? 0 : frame.description + text.tokens(textOf(description));
  const root = fieldsOf(schema) ?? {};
  const tokens =
    frame.function + text.tokens(textOf(name)) + described + schemaTokens(root, { root, level: 0, within: [] }, walk);
  return walk.left > 0 ? tokens : Math.max(tokens, text.jsonTokens(own));
}

/** Where a schema lies. */
interface Place {
  readonly root: Fields;
  readonly level: number;
  /** References that led here. */
  readonly within: readonly string[];
}

function schemaTokens(given: unknown, place: Place, walk: Walk): number {
  const schema = fieldsOf(given);
  if (!schema || walk.left-- <= 0 || place.level > DEEPEST) return 0;
  const reference = textOf(schema.$ref);
  if (reference.startsWith('#/')) return referredTokens(schema, reference, place, walk);

  const { frame, text } = walk;
  const inner = { ...place, level: place.level + 1 };
  let tokens = text.tokens(textOf(schema.description));
  const properties = fieldsOf(schema.properties) ?? {};
  const names = Object.keys(properties);
  if (names.length > 0 && place.level > 0) tokens += frame.object;
  for (const name of affordable(names, walk))
    tokens += frame.property + text.tokens(name) + schemaTokens(properties[name], inner, walk);
  for (const value of affordable(listOf(schema.enum), walk)) tokens += frame.value + text.tokens(textOf(value));
  const choices = listOf(schema.anyOf ?? schema.any_of ?? schema.oneOf ?? schema.allOf);
  if (choices.length > 1) tokens += frame.property;
  const others = [
    ...affordable(choices, walk),
    ...affordable(listOf(schema.prefixItems), walk),
    schema.items,
    schema.additionalProperties,
  ];
  return others.reduce<number>((sum, other) => sum + schemaTokens(other, inner, walk), tokens);
}

/** A list that may still be gone through; of one that is too long nothing, for then all counts as JSON. */
function affordable<T>(list: readonly T[], walk: Walk): readonly T[] {
  walk.left -= list.length;
  return walk.left > 0 || list.length === 0 ? list : [];
}

/** A model is shown what is referred to in its place; where that holds itself, only so often. */
function referredTokens(own: Fields, reference: string, place: Place, walk: Walk): number {
  const { root, level, within } = place;
  if (within.filter((name) => name === reference).length > MOST_RETURNS) return 0;
  let found: unknown = root;
  for (const step of reference.slice(2).split('/', DEEPEST)) found = fieldsOf(found)?.[step];
  const referred = fieldsOf(found) ?? {};
  const schema: Record<string, unknown> = { $ref: referred.$ref };
  for (const name of READ) schema[name] = own[name] === undefined ? referred[name] : own[name];
  return schemaTokens(schema, { root, level, within: [...within, reference] }, walk);
}
