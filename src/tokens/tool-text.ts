import { type Fields, fieldsOf, listOf, textOf } from '../dialects/values.js';

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
  #hasExplained = false;

  constructor(private readonly explainsNested: boolean) {}

  function({ name, description, parameters }: FunctionDefinition): string {
    this.#root = parameters ?? {};
    this.#hasExplained = false;
    const lines = comments(undefined, description);
    const properties = Object.entries(fieldsOf(parameters?.properties) ?? {});
    if (properties.length === 0) return [...lines, `type ${name} = () => any;`].join('\n');
    lines.push(
      ...comments(parameters?.title, ''),
      `type ${name} = (_: {`,
      ...this.#members(parameters as Fields, 0),
      '}) => any;',
    );
    if (!this.#hasExplained) this.bareFunctions++;
    return lines.join('\n');
  }

  #members(schema: Fields, level: number): string[] {
    const required = new Set(listOf(schema.required));
    const indent = ' '.repeat(level);
    const lines: string[] = [];
    for (const [name, given] of Object.entries(fieldsOf(schema.properties) ?? {})) {
      if (--this.left < 0) return lines;
      const member = this.#resolved(given);
      const explained = level === 0 || this.explainsNested ? comments(member.title, textOf(member.description)) : [];
      if (explained.length > 0) this.#hasExplained = true;
      const fallback = member.default === undefined || member.default === null ? '' : ` // default: ${plainText(member.default)}`;
      for (const line of explained) lines.push(`${indent}${line}`);
      lines.push(`${indent}${name}${required.has(name) ? '' : '?'}: ${this.#type(member, level)},${fallback}`);
    }
    return lines;
  }

  #type(given: unknown, level: number): string {
    if (--this.left < 0 || level > 2 * DEEPEST) return 'any';
    const schema = this.#resolved(given);
    const choices = listOf(schema.enum);
    if (choices.length > 0)
      return this.#union(choices, (choice) => (typeof choice === 'string' ? `"${choice}"` : plainText(choice)));
    if (schema.const !== undefined) return typeof schema.const === 'string' ? `"${schema.const}"` : plainText(schema.const);
    const alternatives = [schema.anyOf, schema.oneOf, schema.allOf].map(listOf).find((list) => list.length > 0);
    if (alternatives) return this.#union(alternatives, (alternative) => this.#type(alternative, level));
    if (Array.isArray(schema.type)) return this.#union(schema.type, (type) => this.#type({ ...schema, type }, level));
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
        return textOf(schema.type) === '' ? 'any' : textOf(schema.type);
    }
  }

  #object(schema: Fields, level: number): string {
    if (Object.keys(fieldsOf(schema.properties) ?? {}).length === 0) return 'object';
    return ['{', ...this.#members(schema, level + 2), `${' '.repeat(level)}}`].join('\n');
  }

  #union(list: readonly unknown[], write: (item: unknown) => string): string {
    this.left -= list.length;
    return this.left < 0 || list.length === 0 ? 'any' : list.map(write).join(' | ');
  }

  /** A schema, or the one that it refers to. */
  #resolved(given: unknown): Fields {
    const schema = fieldsOf(given) ?? {};
    const reference = textOf(schema.$ref);
    if (!reference.startsWith('#/')) return schema;
    let found: unknown = this.#root;
    for (const step of reference.slice(2).split('/')) found = fieldsOf(found)?.[step];
    const { $ref: _, ...own } = schema;
    return { ...(fieldsOf(found) ?? {}), ...own };
  }
}

/** However many lines it has, a description is marked as a comment once. */
function comments(title: unknown, description: string): string[] {
  return [textOf(title), description].filter((text) => text !== '').map((text) => `// ${text}`);
}

function plainText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null');
}
