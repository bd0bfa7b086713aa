import type { TokenEstimate } from '../tokens/estimate-tokens.js';
import type { Item, ItemizedPart } from './itemize.js';

/** An estimate and where it is from. */
export interface Reported {
  readonly line: number;
  readonly estimate: TokenEstimate;
  readonly parts: readonly ItemizedPart[];
}

/** What all bodies of a file take together. */
export interface Totals {
  bodies: number;
  inputTokens: number;
  heldInputTokens: number;
  outputTokens: number;
}

/** One line of JSON. */
export function jsonReport({ line, estimate, parts }: Reported): string {
  const { model, dialect, inputTokens, heldInputTokens, outputTokens, confidence } = estimate;
  const figures = { dialect, model: shownModel(model), inputTokens, heldInputTokens, outputTokens, confidence };
  return `${JSON.stringify({ line, ...figures, breakdown: parts })}\n`;
}

/** Figures of one body for people, a part on each line. */
export function textReport({ line, estimate, parts }: Reported, file: string): string {
  const { model, dialect, inputTokens, heldInputTokens, outputTokens, confidence } = estimate;
  const head = `${file}:${line}  ${dialect}  ${shownModel(model)}`;
  const figures = `input ${inputTokens} (held ${heldInputTokens}, ${confidence})  output ${outputTokens}`;
  const rows = parts.flatMap((part) => [
    row(2, partLabel(part), part.tokens),
    ...(part.items ?? []).map((item) => row(4, itemLabel(item), item.tokens)),
  ]);
  return `${[`${head}  ${figures}`, ...rows].join('\n')}\n`;
}

export function totalsReport({ bodies, inputTokens, heldInputTokens, outputTokens }: Totals): string {
  return `${bodies} bodies  input ${inputTokens} (held ${heldInputTokens})  output ${outputTokens}\n`;
}

/** Width that labels and figures are put into; longer ones push what follows. */
const LABEL = 48;
const FIGURE = 9;

function row(indent: number, label: string, tokens: number): string {
  return `${(' '.repeat(indent) + label).padEnd(LABEL)}${String(tokens).padStart(FIGURE)}`;
}

const partLabel = ({ kind, role }: ItemizedPart): string => (kind === 'message' ? (role ?? kind) : kind);

function itemLabel({ kind, name, width, height, bytes, count }: Item): string {
  if (name !== undefined) return `${kind} ${name}`;
  if (width !== undefined && height !== undefined) return `${kind} ${width} x ${height}`;
  if (bytes !== undefined) return `${kind} of ${bytes} bytes`;
  return count === undefined ? `${kind} elsewhere` : `${count} more`;
}

/** Names of models are the body's text: control characters could steer a terminal. */
function shownModel(model: string): string {
  return /^[\x21-\x7e]{1,128}$/.test(model) ? model : '?';
}
