import type { Part } from '../dialects/dialect.js';
import { fieldsOf } from '../dialects/values.js';
import { familyOf } from './encodings.js';
import { hostedToolTokens } from './hosted-tools.js';
import { CUSTOM_TOOL_TOKENS, type ToolFigures } from './openai-table.js';
import type { Measure } from './rules.js';
import { shownSchema } from './schema-text.js';
import { type FunctionDefinition, functionOf, toolText } from './tool-text.js';

/** Functions that are written as models see them. */
const MOST_FUNCTIONS = 2_000;

/** Functions as OpenAI's models see them; tools of other kinds, and more than anybody means to give, as JSON. */
export function toolTokens(parts: readonly Part[], measure: Measure, figures: ToolFigures): number {
  const functions: FunctionDefinition[] = [];
  const others: unknown[] = [];
  const values = parts.flatMap((part) => (part.kind === 'json' ? part.value : []));
  for (const value of values.length <= MOST_FUNCTIONS ? values : []) {
    const definition = functionOf(value);
    if (definition) functions.push(definition);
    else others.push(value);
  }
  let rest = others.length > 0 ? measure.countJson(others) : 0;
  for (const other of others) rest += fieldsOf(other)?.type === 'custom' ? CUSTOM_TOOL_TOKENS : hostedToolTokens(other);
  if (functions.length === 0) return others.length > 0 ? rest : measure.countJson(values);

  const written = toolText(functions, familyOf(measure.model).encoding !== 'cl100k_base');
  if (!written) return rest + measure.countJson(values.filter((value) => functionOf(value)));
  const overhead = measure.hasSystem ? figures.tools : figures.toolsAlone;
  return rest + overhead + measure.count(written.text) - written.bareFunctions;
}

/** The schema of an answer as OpenAI's models see it. */
export function formatTokens(parts: readonly Part[], measure: Measure, figures: ToolFigures): number {
  let tokens = measure.hasSystem ? figures.format : figures.formatAlone;
  if (measure.hasTools) tokens = figures.formatBesideTools;
  for (const part of parts) {
    if (part.kind === 'text') tokens += measure.count(part.text);
    else if (part.kind === 'json') tokens += measure.countJson(shownSchema(part.value));
  }
  return tokens;
}
