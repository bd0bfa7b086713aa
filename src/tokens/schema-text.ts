import { type Fields, fieldsOf } from '../dialects/values.js';

/** What a model is not shown of the schema that its answer must follow: the provider sees to it. */
const HIDDEN = new Set(['additionalProperties', 'required']);
/** Members of these are named by whoever wrote the schema. */
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions']);
const MOST_VALUES = 5_000;
const DEEPEST = 64;

/** A schema as a model is shown it; what is too large or too deep to be gone through is left as it is. */
export function shownSchema(schema: unknown): unknown {
  let left = MOST_VALUES;

  function shown(value: unknown, depth: number, isNamed: boolean): unknown {
    if (typeof value !== 'object' || value === null || depth > DEEPEST || --left < 0) return value;
    if (Array.isArray(value)) return value.length > left ? value : value.map((item) => shown(item, depth + 1, false));
    const names = Object.keys(fieldsOf(value) ?? {});
    if (names.length > left) return value;
    const copy: Record<string, unknown> = Object.create(null);
    for (const name of names)
      if (isNamed || !HIDDEN.has(name)) copy[name] = shown((value as Fields)[name], depth + 1, !isNamed && NAMED.has(name));
    return copy;
  }

  return shown(schema, 0, false);
}
