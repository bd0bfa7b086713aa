import { type Fields, MOST_TOKENS, maximumOf } from './values.js';

/** Fields that declare an output maximum, in the order in which OpenAI has had them; servers take one for another. */
const MAXIMUM_FIELDS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'] as const;
export type MaximumField = (typeof MAXIMUM_FIELDS)[number];

/** The largest output maximum that a body declares; `undefined` when none of its fields is a positive number. */
export function declaredMaximum(fields: Fields): number | undefined {
  const largest = Math.max(...MAXIMUM_FIELDS.map((name) => maximumOf(fields[name], MOST_TOKENS) ?? 0));
  return largest > 0 ? largest : undefined;
}

/**
 * Lowers every field that says something, and raises none; what it says is not believed when it is no number, for a server might
 * read it.
 * @param otherwise - where the maximum goes when no field declares one
 */
export function withMaximum(fields: Fields, maximum: number, otherwise: MaximumField): Fields {
  const declared = MAXIMUM_FIELDS.filter((name) => fields[name] !== undefined && fields[name] !== null);
  if (declared.length === 0) return { ...fields, [otherwise]: maximum };
  const lowered = declared.map((name) => [name, Math.min(maximumOf(fields[name], MOST_TOKENS) ?? maximum, maximum)]);
  return { ...fields, ...Object.fromEntries(lowered) };
}
