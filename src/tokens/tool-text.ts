import { type Fields, fieldsOf, listOf, textOf } from '../dialects/values.js';
import { createJsonLeft, jsonText } from './json-text.js';

/** A function as a request defines it, whichever way its wire format wraps it. */
export interface FunctionDefinition {
  readonly name: string;
  readonly description: string;
  readonly parameters: Fields | undefined;
}

/** Definitions as a prompt shows them; `undefined`: too much to write down. */
export interface ToolText {
  readonly text: string;
  /** Functions none of whose properties are explained. */
  readonly bareFunctions: number;
}

/** Schemas written before the rest counts as JSON, and how deep they may lie in one another: references may be endless. */
const MOST_SCHEMAS = 5_000;
const DEEPEST = 12;
/** Characters written before the rest counts as JSON, and names listed: what is long or wide may be referred to thousands of times. */
const MOST_TEXT = 524_288;
const MOST_LISTED = 20_000;
/** Longest reference that is followed, in characters. */
const LONGEST_REFERENCE = 1_024;
/** What is read of a schema. */
const READ = [
  'title',
  'description',
  'default',
  'enum',
  'const',
  'anyOf',
  'oneOf',
  'allOf',
  'type',
  'items',
  'properties',
  'required',
] as const;

/** The function that a tool defines: `{ type: 'function', function }`, or its own fields; `undefined` for tools of other kinds. */
export function functionOf(tool: unknown): FunctionDefinition | undefined {
  const fields = fieldsOf(tool);
  const own = fieldsOf(fields?.function) ?? fields;
  if (!own || textOf(own.name) === '' || (fields?.type !== undefined && fields.type !== 'function')) return undefined;
  return { name: textOf(own.name), description: textOf(own.description), parameters: fieldsOf(own.parameters) };
}

/**
 * Functions as OpenAI's models see them, which is known from the usage that they report: a namespace of TypeScript, where comments
 * hold descriptions, titles and defaults.
 * @param explainsNested - whether members of members are explained too: models that count by cl100k_base are not told
 */
export function toolText(functions: readonly FunctionDefinition[], explainsNested = true): ToolText | undefined {
  const writer = new Writer(explainsNested);
  const blocks = functions.map((definition) => writer.function(definition));
  if (writer.left < 0) return undefined;
  const text = ['namespace functions {', '', ...blocks.flatMap((block) => [block, '']), '} // namespace functions'].join('\n');
  return { text, bareFunctions: writer.bareFunctions };
}

class Writer {
  left = MOST_SCHEMAS;
  bareFunctions = 0;
  #root: Fields = {};
  #textLeft = MOST_TEXT;
  #listedLeft = MOST_LISTED;
  readonly #json = createJsonLeft();
  #hasExplained = false;

  constructor(private readonly explainsNested: boolean) {}

  function({ name, description, parameters }: FunctionDefinition): string {
    this.#root = parameters ?? {};
    this.#hasExplained = false;
    const lines = this.#comments(undefined, description);
    const members = parameters ? this.#members(parameters, 0) : [];
    if (members.length === 0) return [...lines, `type ${this.#said(name)} = () => any;`].join('\n');
    lines.push(...this.#comments(parameters?.title, ''), `type ${this.#said(name)} = (_: {`, ...members, '}) => any;');
    if (!this.#hasExplained) this.bareFunctions++;
    return lines.join('\n');
  }

  #members(schema: Fields, level: number): string[] {
    const properties = fieldsOf(schema.properties);
    if (!properties || this.left < 0) return [];
    const names = Object.keys(properties);
    const needed = listOf(schema.required);
    this.#listedLeft -= names.length + needed.length;
    if (this.#listedLeft < 0) this.left = -1;
    if (this.left < 0) return [];
    const required = new Set(needed);
    const indent = ' '.repeat(level);
    const lines: string[] = [];
    for (const name of names) {
      if (--this.left < 0) return lines;
      const member = this.#resolved(properties[name]);
      const explained = level === 0 || this.explainsNested ? this.#comments(member.title, textOf(member.description)) : [];
      if (explained.length > 0) this.#hasExplained = true;
      const fallback =
        member.default === undefined || member.default === null ? '' : ` // default: ${this.#plainText(member.default)}`;
      for (const line of explained) lines.push(`${indent}${line}`);
      lines.push(`${indent}${this.#said(name)}${required.has(name) ? '' : '?'}: ${this.#type(member, level)},${fallback}`);
    }
    return lines;
  }

  #type(given: unknown, level: number): string {
    if (--this.left < 0 || level > 2 * DEEPEST) return 'any';
    const schema = this.#resolved(given);
    const choices = listOf(schema.enum);
    if (choices.length > 0) return this.#union(choices, (choice) => this.#quotedText(choice));
    if (schema.const !== undefined) return this.#quotedText(schema.const);
    const alternatives = [schema.anyOf, schema.oneOf, schema.allOf].map(listOf).find((list) => list.length > 0);
    if (alternatives) return this.#union(alternatives, (alternative) => this.#type(alternative, level));
    if (Array.isArray(schema.type)) return this.#union(schema.type, (type) => this.#type({ ...readOf(schema, {}), type }, level));
    switch (schema.type) {
      case 'integer':
      case 'number':
        return 'number';
      case 'array':
        return schema.items === undefined ? 'any[]' : `${this.#type(schema.items, level)}[]`;
      case 'object':
        return this.#object(schema, level);
      case undefined:
        return schema.properties === undefined ? 'any' : this.#object(schema, level);
      default:
        return this.#said(textOf(schema.type)) || 'any';
    }
  }

  #object(schema: Fields, level: number): string {
    const members = this.#members(schema, level + 2);
    return members.length === 0 ? 'object' : ['{', ...members, `${' '.repeat(level)}}`].join('\n');
  }

  #union(list: readonly unknown[], write: (item: unknown) => string): string {
    this.left -= list.length;
    return this.left < 0 || list.length === 0 ? 'any' : list.map(write).join(' | ');
  }

  /** A schema, or the one that it refers to. */
  #resolved(given: unknown): Fields {
    const schema = fieldsOf(given) ?? {};
    const reference = textOf(schema.$ref);
    if (!reference.startsWith('#/') || reference.length > LONGEST_REFERENCE) return schema;
    let found: unknown = this.#root;
    for (const step of reference.slice(2).split('/')) found = fieldsOf(found)?.[step];
    return readOf(schema, fieldsOf(found) ?? {});
  }

  /** However many lines it has, a description is marked as a comment once. */
  #comments(title: unknown, description: string): string[] {
    return [textOf(title), description].filter((text) => text !== '').map((text) => `// ${this.#said(text)}`);
  }

  #quotedText(value: unknown): string {
    return typeof value === 'string' ? `"${this.#said(value)}"` : this.#plainText(value);
  }

  #plainText(value: unknown): string {
    if (typeof value === 'string') return this.#said(value);
    const { text, restLength } = jsonText(value, this.#json);
    if (restLength > 0) this.left = -1;
    return this.#said(text);
  }

  /** Takes a text of the body's from what may still be written. */
  #said(text: string): string {
    this.#textLeft -= text.length;
    if (this.#textLeft >= 0) return text;
    this.left = -1;
    return '';
  }
}

/** What is read of a schema, or else of the one that it refers to: whatever else they hold is not copied. */
function readOf(own: Fields, referred: Fields): Fields {
  const read: Record<string, unknown> = {};
  for (const name of READ) read[name] = own[name] === undefined ? referred[name] : own[name];
  if (referred.$ref !== undefined) read.$ref = referred.$ref;
  return read;
}
