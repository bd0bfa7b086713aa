import type { Rewrite } from './dialect.js';
import { either } from './gemini-parts.js';
import { copyable, type Fields, fieldsOf, MOST_TOKENS, maximumOf, textOf } from './values.js';

/** Changes a body of generateContent; see `Dialect.rewrite`. A model that only the path names is not written into the body. */
export function rewriteGenerateContent(body: unknown, { model, maximumOutputTokens }: Rewrite): unknown {
  const fields = copyable(body);
  if (!fields) return body;
  const changed = model === undefined || fields.model === undefined ? { ...fields } : { ...fields, model: named(fields, model) };
  return maximumOutputTokens === undefined ? changed : withMaximum(changed, maximumOutputTokens);
}

/** As the body names its own. */
const named = (fields: Fields, model: string): string => (textOf(fields.model).startsWith('models/') ? `models/${model}` : model);

/** In the settings that the body has, under the name that it gives a maximum. */
function withMaximum(fields: Fields, maximum: number): Fields {
  const place =
    ['generationConfig', 'generation_config', 'config'].find((name) => fieldsOf(fields[name]) !== undefined) ??
    'generationConfig';
  const settings = copyable(fields[place]) ?? {};
  // What a maximum says is not believed when it is no number, for a server might read it.
  const declared = maximumOf(either(settings, 'maxOutputTokens', 'max_output_tokens'), MOST_TOKENS) ?? maximum;
  const lowered = Math.min(declared, maximum);
  const { maxOutputTokens: _, max_output_tokens: snake, ...others } = settings;
  const name = snake === undefined ? 'maxOutputTokens' : 'max_output_tokens';
  return { ...fields, [place]: { ...others, [name]: lowered } };
}
