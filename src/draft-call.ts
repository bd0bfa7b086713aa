import type { Call } from './call.js';
import type { Dialect, Draft } from './dialects/dialect.js';
import type { ResolvedOptions } from './options.js';
import { estimatePrompt } from './tokens/estimate.js';
import type { Tokenizer } from './tokens/tokenizer.js';
import type { Visit } from './visit.js';

/** Output expected of one choice before anything is known about the route and the model, in tokens. */
export const EXPECTED_OUTPUT_TOKENS = 512;

export interface DraftFacts {
  readonly visit: Visit;
  readonly dialect: Dialect | undefined;
  readonly draft: Draft | undefined;
  readonly body: unknown;
  readonly callsPerRequest?: number;
}

/** Makes the call that a draft asks for: resolves its model, estimates its tokens. */
export function draftCall(
  { visit, dialect, draft, body, callsPerRequest = 1 }: DraftFacts,
  options: ResolvedOptions,
  tokenizer: Tokenizer,
): Call {
  if (!draft) {
    return {
      visit,
      dialect,
      draft,
      body,
      stream: false,
      requestedModel: undefined,
      model: undefined,
      inputTokens: 0,
      heldInputTokens: 0,
      expectedOutputTokens: 0,
      maximumOutputTokens: undefined,
      callsPerRequest,
    };
  }
  const model = options.findModel(draft.model)?.name ?? draft.model;
  const { inputTokens, heldInputTokens } = estimatePrompt(draft, model, tokenizer, options);
  const declared = draft.maximumOutputTokens;
  return {
    visit,
    dialect,
    draft,
    body,
    stream: draft.stream,
    requestedModel: model,
    // A run that asks for what a run around it asked for is sent with what was admitted there.
    model: visit.holderOf(model)?.call?.model ?? model,
    inputTokens,
    heldInputTokens,
    expectedOutputTokens: Math.min(declared ?? Infinity, EXPECTED_OUTPUT_TOKENS) * draft.choices,
    maximumOutputTokens: declared === undefined ? undefined : declared * draft.choices,
    callsPerRequest,
  };
}

/** The body as it must be sent for this call: on its model, with its output maximum; the very same when nothing changed. */
export function bodyToSend(call: Call): unknown {
  const { draft, dialect } = call;
  if (!draft || !dialect) return call.body;
  const declared = draft.maximumOutputTokens === undefined ? undefined : draft.maximumOutputTokens * draft.choices;
  const model = call.model !== call.requestedModel ? call.model : undefined;
  const maximumOutputTokens =
    call.maximumOutputTokens !== declared && call.maximumOutputTokens !== undefined
      ? Math.max(1, Math.floor(call.maximumOutputTokens / draft.choices))
      : undefined;
  if (model === undefined && maximumOutputTokens === undefined) return call.body;
  return dialect.rewrite(call.body, { model, maximumOutputTokens });
}
