import type { Call } from './call.js';
import type { Dialect, Draft } from './dialects/dialect.js';
import type { InputFigures } from './learning/input-correction.js';
import type { Learning, PromptKind } from './learning/learning.js';
import { countingOf } from './models.js';
import type { ResolvedOptions } from './options.js';
import { estimatePrompt, type PromptEstimate } from './tokens/estimate.js';
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
  learning: Learning | undefined,
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
  const { overheadRatio, imageOverheadRatio, imageSize } = options;
  const counting = countingOf(options.findModel, draft.model);
  const settings = { overheadRatio, imageOverheadRatio, imageSize, tokenFactor: counting.tokenFactor };
  const prompt = estimatePrompt(draft, counting.model, tokenizer, settings);
  const declared = draft.maximumOutputTokens;
  const unlearned = Math.min(declared ?? Infinity, EXPECTED_OUTPUT_TOKENS) * draft.choices;
  const learned = learning && applyLearned(learning, { visit, model, draft, prompt, unlearned });
  const { inputTokens, heldInputTokens } = learned ?? prompt;
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
    expectedOutputTokens: learned?.expectedOutputTokens ?? unlearned,
    maximumOutputTokens: declared === undefined ? undefined : declared * draft.choices,
    callsPerRequest,
    uncorrected: learned?.uncorrected,
  };
}

interface EstimateFacts {
  readonly visit: Visit;
  readonly model: string;
  readonly draft: Draft;
  readonly prompt: PromptEstimate;
  /** Output expected before anything is known, all choices together. */
  readonly unlearned: number;
}

/** Puts into an estimate what is known of this route and model. */
function applyLearned(
  learning: Learning,
  { visit, model, draft, prompt, unlearned }: EstimateFacts,
): InputFigures & Required<Pick<Call, 'expectedOutputTokens' | 'uncorrected'>> {
  const kind = promptKind(draft, prompt);
  const { inputTokens, heldInputTokens, outputTokens } = learning.correct(visit, model, kind, prompt);
  const { maximumOutputTokens = Infinity, choices } = draft;
  return {
    inputTokens,
    heldInputTokens,
    expectedOutputTokens: outputTokens === undefined ? unlearned : Math.min(maximumOutputTokens, outputTokens) * choices,
    uncorrected: { inputTokens: prompt.inputTokens, expectedOutputTokens: unlearned, prompt: kind },
  };
}

/** Prompts are told apart by how they are counted: the errors of guesses must not widen the margin of what is exact. */
function promptKind({ sections }: Draft, { confidence }: PromptEstimate): PromptKind {
  const hasMedia = sections.some(({ parts }) => parts.some(({ kind }) => kind === 'image' || kind === 'file'));
  return hasMedia ? 'media' : confidence;
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
