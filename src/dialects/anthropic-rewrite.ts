import type { Rewrite } from './dialect.js';
import { copyable, type Fields, fieldsOf, MOST_TOKENS, maximumOf } from './values.js';

/** Least budget for thinking that the API takes (documentation of 2025). */
const LEAST_THINKING = 1_024;

/** Changes a body of the messages API; see `Dialect.rewrite`. */
export function rewriteMessagesBody(body: unknown, { model, maximumOutputTokens }: Rewrite): unknown {
  const fields = copyable(body);
  if (!fields) return body;
  const changed = model === undefined ? { ...fields } : { ...fields, model };
  return maximumOutputTokens === undefined ? changed : withMaximum(changed, maximumOutputTokens);
}

/** What a maximum says is not believed when it is no number, for a server might read it. */
function withMaximum(fields: Fields, maximum: number): Fields {
  const declared = maximumOf(fields.max_tokens, MOST_TOKENS) ?? maximum;
  const lowered = Math.min(declared, maximum);
  const { thinking } = fields;
  return { ...fields, max_tokens: lowered, ...(thinking === undefined ? {} : { thinking: fitted(thinking, declared, lowered) }) };
}

/** The API refuses a budget for thinking that is not under the maximum, but for one that was meant for several turns. */
function fitted(thinking: unknown, declared: number, lowered: number): unknown {
  const budget = fieldsOf(thinking)?.budget_tokens;
  if (typeof budget !== 'number' || budget >= declared || budget < lowered) return thinking;
  return lowered > LEAST_THINKING ? { ...copyable(thinking), budget_tokens: lowered - 1 } : { type: 'disabled' };
}
