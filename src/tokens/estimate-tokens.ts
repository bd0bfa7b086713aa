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
 * Estimates the tokens of a call from its body, as a gate with default overheads would; loads the model's vocabulary first.
 * @throws {@link SpillwayError} `SPILLWAY_BAD_CALL` when no built-in dialect reads the body
 */
export async function estimateTokens(body: unknown, options: EstimateTokensOptions = {}): Promise<TokenEstimate> {
  const { path, model: wanted } = options;
  const found = registry.detect(body, path) ?? registry.detect(withModel(body, wanted), path);
  if (!found) throw unreadable(body, path);
  const { dialect, draft } = found;
  const model = wanted ?? draft.model;
  await tokenizer.ready([encodingFor(model)]);
  const prompt = estimatePrompt(draft, model, tokenizer, DEFAULTS);
  return { ...prompt, outputTokens: expectedOutput(draft), model, dialect: dialect.name };
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
