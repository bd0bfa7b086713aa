import { baseName } from '../tokens/encodings.js';
import { endpointOf, makesNoText } from './paths.js';
import { type Fields, fieldsOf, textOf } from './values.js';

/** Fields that say, beside an `input`, that an answer is wanted, and that the embeddings API does not know. */
const RESPONSE_FIELDS = [
  'instructions',
  'max_output_tokens',
  'previous_response_id',
  'reasoning',
  'text',
  'tools',
  'conversation',
  'stream',
] as const;

/**
 * Whether a body asks for a response or for embeddings, for both name what they are given `input`. The path decides; on a route of the
 * application the name of the model, then what only the one or the other takes. A text alone is taken for a question.
 */
export function inputKind(fields: Fields, path: string | undefined): 'responses' | 'embeddings' | undefined {
  const { input } = fields;
  const endpoint = endpointOf(path);
  if (endpoint === 'embeddings') return isInput(input) ? 'embeddings' : undefined;
  if (endpoint === 'responses') return isInput(input) || goesOn(fields) ? 'responses' : undefined;
  if (endpoint !== undefined || makesNoText(path) || Array.isArray(fields.messages) || !isInput(input)) return undefined;
  if (/embed/.test(baseName(textOf(fields.model)))) return 'embeddings';
  if (RESPONSE_FIELDS.some((name) => isGiven(fields[name]))) return 'responses';
  return Array.isArray(input) && input.length > 0 && !hasObject(input) ? 'embeddings' : 'responses';
}

const isInput = (input: unknown): boolean => typeof input === 'string' || Array.isArray(input);

/** Lists of tokens are long: a callback for each would take ten times as long. */
function hasObject(list: readonly unknown[]): boolean {
  for (let at = 0; at < list.length; at++) if (fieldsOf(list[at])) return true;
  return false;
}

/** Whether there is something to answer without an input: what the provider keeps, or instructions. */
function goesOn({ instructions, previous_response_id, conversation, prompt }: Fields): boolean {
  return [instructions, previous_response_id, conversation, fieldsOf(prompt)].some(isGiven);
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;
