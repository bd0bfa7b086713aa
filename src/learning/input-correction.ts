import { FairSample } from './fair-sample.js';
import { fitInput, type InputFit } from './input-fit.js';
import { forgetOutdated } from './outdated.js';

/** Ratios beyond are taken for these: a prompt of which the body shows only a part says nothing about counting. */
const LEAST_OBSERVED = 1 / 8;
const MOST_OBSERVED = 8;
/** What is learned never moves an estimate beyond these, whatever was observed. */
const LEAST_RATIO = 0.5;
const MOST_RATIO = 3;
/** Observations over which the correction grows from nothing to all that was learned. */
const RAMP = 32;

/** Input tokens of a call. */
export interface InputFigures {
  /** Best estimate. */
  readonly inputTokens: number;
  /** What is held. */
  readonly heldInputTokens: number;
}

/** What is learned about the input of one route, model and kind of prompt. */
export class InputCorrection {
  readonly #sample = new FairSample();
  readonly #afterCalls: number;
  #fit: InputFit | undefined;
  #sinceFit = 0;

  /** @param afterCalls - observations before which nothing is corrected */
  constructor(afterCalls: number) {
    this.#afterCalls = afterCalls;
  }

  /** Prompts that were learned from. */
  get calls(): number {
    return this.#sample.added;
  }

  /** How much of what was learned is put in, 0 to 1. */
  get share(): number {
    return this.#fit ? Math.min(1, Math.max(0, (this.calls - this.#afterCalls) / RAMP)) : 0;
  }

  /** `undefined` before there are enough observations. */
  get fit(): InputFit | undefined {
    return this.#fit;
  }

  /** Notes what a prompt estimated at `estimated`, before any correction, really took. Both 1 or more. */
  add(tenant: number, estimated: number, real: number): void {
    const ratio = Math.min(MOST_OBSERVED, Math.max(LEAST_OBSERVED, real / estimated));
    this.#sample.add(tenant, Math.log(ratio));
    this.#sinceFit++;
    if (this.calls < this.#afterCalls || !this.#sample.isWorthFitting(this.#sinceFit)) return;
    forgetOutdated(this.#sample);
    this.#fit = fitInput(this.#sample);
    this.#sinceFit = 0;
  }

  /** The figures that a tenant's prompt is corrected to; the same while nothing is known. */
  correct(tenant: number, given: InputFigures): InputFigures {
    const { share } = this;
    if (!this.#fit || share === 0) return given;
    const { inputTokens, heldInputTokens } = given;
    const { centre, margin } = this.#fit.places.get(tenant) ?? this.#fit.newcomers;
    const ratio = bounded(Math.exp(share * centre));
    const overhead = overheadOf(margin, share, heldInputTokens / inputTokens - 1);
    const corrected = Math.max(1, Math.round(inputTokens * ratio));
    const held = Math.ceil(inputTokens * bounded(ratio * (1 + overhead)) - 1e-6);
    return { inputTokens: corrected, heldInputTokens: Math.max(corrected, held) };
  }

  /** What is put in for everybody without figures of their own: a factor on the estimate, and the share held on top. */
  get shared(): { readonly inputRatio: number; readonly overheadRatio: number } | undefined {
    const { share } = this;
    if (!this.#fit || share === 0) return undefined;
    const { centre, margin } = this.#fit;
    return { inputRatio: bounded(Math.exp(share * centre)), overheadRatio: Math.expm1(margin) };
  }
}

/** The overhead on its way from the static one to what was learned. */
function overheadOf(margin: number, share: number, staticRatio: number): number {
  return share * Math.expm1(margin) + (1 - share) * staticRatio;
}

const bounded = (ratio: number): number => Math.min(MOST_RATIO, Math.max(LEAST_RATIO, ratio));
