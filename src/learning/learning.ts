import { type BoundedMap, createBoundedMap } from '../cache/bounded-map.js';
import type { Call, Uncorrected } from '../call.js';
import type { Clock } from '../clock.js';
import type { Events } from '../observe/events.js';
import { isPlainModel, routeOf } from '../observe/facts.js';
import type { Visit } from '../visit.js';
import { InputCorrection, type InputFigures } from './input-correction.js';
import type { Lesson } from './lesson.js';
import { OutputExpectation } from './output-expectation.js';
import { tenantOf } from './tenant.js';

/** What is learned of the calls of one route on one model, for one kind of prompt. All of it is figures: no text, no identity. */
export interface EstimateState {
  /** The mount's name; `undefined` for calls outside named mounts. */
  readonly route: string | undefined;
  readonly model: string;
  /** `counted` by the model's own vocabulary, `guessed` in part, or with `media`: images, audio, documents. */
  readonly prompt: PromptKind;
  /** Prompts that were learned from. */
  readonly calls: number;
  /** Factor that estimates of input are multiplied by now, 0.5 to 3; 1 until there are enough calls. */
  readonly inputRatio: number;
  /** About the standard deviation of real / estimated input, outliers aside; `undefined` until there are enough calls. */
  readonly inputSpread: number | undefined;
  /** Share held on top of the corrected estimate; `undefined`: the configured one. */
  readonly overheadRatio: number | undefined;
  /** Output expected of one choice, in tokens; `undefined`: the smaller of the declared maximum and 512. */
  readonly outputTokens: number | undefined;
  /** Answers that this was learned from, of all kinds of prompts. */
  readonly answers: number;
}

export type PromptKind = Uncorrected['prompt'];

/** What a gate learns from the usage that its calls report. State of this process: each instance learns for itself. */
export interface Learning {
  /** An estimate as experience corrects it: the same input while there is none. */
  correct(visit: Visit, model: string, prompt: PromptKind, given: InputFigures): Corrected;
  /** Takes in what a call, which was estimated here, has really used. */
  learn(call: Call, lesson: Lesson): void;
  /** What is known, most calls first; at most 200 rows. */
  states(): readonly EstimateState[];
}

export interface Corrected extends InputFigures {
  /** Output that one choice will probably take, in tokens; `undefined`: not known. */
  readonly outputTokens: number | undefined;
}

/** When learning acts, and how safe it is. */
export interface LearningOptions {
  readonly afterCalls: number;
  readonly coveredOutputRatio: number;
}

export interface LearningParts extends LearningOptions {
  readonly clock: Clock;
  readonly events: Events;
  /** Widest first. */
  readonly scopeNames: readonly string[];
  /** Whether a model is configured: names of others are the callers' text. */
  isConfigured(model: string): boolean;
}

const MOST_STATES = 1_000;
/** Of models that are not configured; apart, so that made-up names push nothing out that matters. */
const MOST_UNCONFIGURED = 100;
const MOST_ROWS = 200;
/** Longer names are no models, and looking them up would take time. */
const LONGEST_MODEL = 128;
/** A correction that moved by more is told, but no more often than this. */
const TOLD_RATIO = 1.1;
const TOLD_EVERY_MS = 60_000;

interface Learned {
  readonly route: string | undefined;
  readonly model: string;
  readonly inputs: Map<PromptKind, InputState>;
  readonly output: OutputExpectation;
}

interface InputState {
  readonly correction: InputCorrection;
  toldFactor: number;
  toldAtMs: number;
}

export function createLearning(parts: LearningParts): Learning {
  const { afterCalls, coveredOutputRatio, clock, events, scopeNames } = parts;
  const configured = createBoundedMap<Learned>({ maxBytes: MOST_STATES, sizeOf: () => 1 });
  const others = createBoundedMap<Learned>({ maxBytes: MOST_UNCONFIGURED, sizeOf: () => 1 });
  const mapFor = (model: string): BoundedMap<Learned> => (parts.isConfigured(model) ? configured : others);

  function made(route: string | undefined, model: string): Learned {
    const name = nameOf(route, model);
    const known = mapFor(model).get(name);
    if (known) return known;
    const output = new OutputExpectation(afterCalls, coveredOutputRatio);
    const learned: Learned = { route, model, inputs: new Map(), output };
    mapFor(model).set(name, learned);
    return learned;
  }

  function learn(call: Call, lesson: Lesson): void {
    const { visit, requestedModel: model, uncorrected, draft } = call;
    if (!uncorrected || !draft || model === undefined || !isPlainModel(model)) return;
    const learned = made(routeOf(visit), model);
    const tenant = tenantOf(visit.identity, scopeNames);
    const { inputTokens, outputTokens, isCut } = lesson;
    if (inputTokens && uncorrected.inputTokens > 0) {
      const input = inputState(learned, uncorrected.prompt, afterCalls);
      input.correction.add(tenant, uncorrected.inputTokens, inputTokens);
      tell(learned, uncorrected.prompt, input);
    }
    if (outputTokens === undefined || draft.maximumOutputTokens === 0) return;
    const ofOne = outputTokens / draft.choices;
    const expected = learned.output.expected(tenant) ?? uncorrected.expectedOutputTokens / draft.choices;
    // How long a cut answer would have been, nobody knows: it can say that more is to be expected, but never that less is.
    if (!isCut || ofOne >= expected) learned.output.add(tenant, ofOne);
  }

  function tell(learned: Learned, prompt: PromptKind, input: InputState): void {
    const { shared } = input.correction;
    if (!shared) return;
    const factor = shared.inputRatio * (1 + shared.overheadRatio);
    const moved = Math.max(factor / input.toldFactor, input.toldFactor / factor);
    const nowMs = clock.now();
    // A clock that was set back must not silence it.
    if (moved <= TOLD_RATIO || Math.abs(nowMs - input.toldAtMs) < TOLD_EVERY_MS) return;
    input.toldFactor = factor;
    input.toldAtMs = nowMs;
    if (events.has('estimate-calibrated')) events.emit('estimate-calibrated', stateOf(learned, prompt, input.correction));
  }

  return {
    correct(visit, model, prompt, given) {
      const learned = model.length <= LONGEST_MODEL ? mapFor(model).get(nameOf(routeOf(visit), model)) : undefined;
      const tenant = learned ? tenantOf(visit.identity, scopeNames) : 0;
      const { inputTokens, heldInputTokens } = learned?.inputs.get(prompt)?.correction.correct(tenant, given) ?? given;
      return { inputTokens, heldInputTokens, outputTokens: learned?.output.expected(tenant) };
    },
    learn,
    states: () =>
      [...configured.values(), ...others.values()]
        .flatMap((learned) => [...learned.inputs].map(([prompt, { correction }]) => stateOf(learned, prompt, correction)))
        .sort((a, b) => b.calls - a.calls)
        .slice(0, MOST_ROWS),
  };
}

/** Routes are the application's text, models that get here are plain: neither has a line break. */
const nameOf = (route: string | undefined, model: string): string => `${route ?? ''}\n${model}`;

function inputState({ inputs }: Learned, prompt: PromptKind, afterCalls: number): InputState {
  const known = inputs.get(prompt);
  if (known) return known;
  const state = { correction: new InputCorrection(afterCalls), toldFactor: 1, toldAtMs: -Infinity };
  inputs.set(prompt, state);
  return state;
}

function stateOf({ route, model, output }: Learned, prompt: PromptKind, correction: InputCorrection): EstimateState {
  const { shared, fit, calls } = correction;
  return {
    route,
    model,
    prompt,
    calls,
    inputRatio: shared?.inputRatio ?? 1,
    inputSpread: fit?.spread,
    overheadRatio: shared?.overheadRatio,
    outputTokens: output.shared,
    answers: output.calls,
  };
}
