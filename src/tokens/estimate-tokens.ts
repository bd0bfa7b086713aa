import { countedCall } from '../dialects/counted.js';
import type { Draft } from '../dialects/dialect.js';
import { createRegistry } from '../dialects/registry.js';
import { EXPECTED_OUTPUT_TOKENS } from '../draft-call.js';
import { SpillwayError } from '../errors.js';
import { DEFAULTS } from '../options.js';
import { encodingFor } from './encodings.js';
import { estimatePrompt, type PromptEstimate } from './estimate.js';
import { createTokenizer } from './tokenizer.js';

export interface EstimateTokensOptions {
  /** Path that the body is sent to: tells apart wire formats whose bodies look alike. */
  readonly path?: string;
  /** Estimates for this model, whatever the body names. */
  readonly model?: string;
}

/** What a body will probably take. All figures in tokens. */
export interface TokenEstimate extends PromptEstimate {
  /** Output expected before anything is known of it: the declared maximum, at most 512, for each choice. */
  readonly outputTokens: number;
  readonly model: string;
  /** Name of the wire format that read the body. */
  readonly dialect: string;
}

const registry = createRegistry([]);
const tokenizer = createTokenizer();

/**
 * Estimates the tokens of a call from its body, as a gate with default overheads would; loads the model's vocabulary first. A body
 * for an endpoint that only counts (`:countTokens`, `count_tokens`, `input_tokens`) is estimated as the call that it is about.
 * @throws {@link SpillwayError} `SPILLWAY_BAD_CALL` when no built-in dialect reads the body
 */
export async function estimateTokens(body: unknown, options: EstimateTokensOptions = {}): Promise<TokenEstimate> {
  const { draft, estimate } = await readForEstimate(body, options);
  return estimate(draft);
}

/** A body as a dialect reads it, and what that takes, or a part of it. */
export interface ReadForEstimate {
  readonly draft: Draft;
  estimate(draft: Draft): TokenEstimate;
}

/** Reads a body as {@link estimateTokens} does, and throws what it throws. */
export async function readForEstimate(given: unknown, options: EstimateTokensOptions): Promise<ReadForEstimate> {
  const { model: wanted } = options;
  const { body, path } = countedCall(given, options.path);
  const found = registry.detect(body, path) ?? registry.detect(withModel(body, wanted), path);
  if (!found) throw unreadable(body, path);
  const dialect = found.dialect.name;
  const model = wanted ?? found.draft.model;
  await tokenizer.ready([encodingFor(model)]);
  return {
    draft: found.draft,
    estimate: (draft) => ({
      ...estimatePrompt(draft, model, tokenizer, DEFAULTS),
      outputTokens: expectedOutput(draft),
      model,
      dialect,
    }),
  };
}

/** Some wire formats name the model in the path only. */
function withModel(body: unknown, model: string | undefined): unknown {
  return model !== undefined && typeof body === 'object' && body !== null && !Array.isArray(body) ? { ...body, model } : body;
}

function expectedOutput({ maximumOutputTokens, choices }: Draft): number {
  return Math.min(maximumOutputTokens ?? Infinity, EXPECTED_OUTPUT_TOKENS) * choices;
}

function unreadable(body: unknown, path: string | undefined): SpillwayError {
  const got = Array.isArray(body)
    ? 'a list'
    : body === null
      ? 'null'
      : typeof body === 'object'
        ? 'an object without them'
        : `a ${typeof body}`;
  return new SpillwayError(
    'SPILLWAY_BAD_CALL',
    `estimateTokens(body): no dialect reads this body${path === undefined ? '' : ` as one for ${path}`}; a chat completions body has a string ` +
      `\`model\` and a list \`messages\`, got ${got}. Pass the parsed body of the call, and { model } when the body names none`,
    { status: 400 },
  );
}
