import { at, type Check } from '../options-check.js';
import type { LearningOptions } from './learning.js';

/** How estimates learn from the usage that calls report. */
export interface CalibrationOptions {
  /**
   * Calls of a route on a model before anything learned is put in: all at once for output, over the next 32 calls for input.
   * A whole number, 1 to 10_000. @defaultValue 10
   */
  readonly afterCalls?: number;
  /** Share of answers that are to be no longer than the output held for them, 0.5 to 0.99. @defaultValue 0.9 */
  readonly coveredOutputRatio?: number;
}

const FIELDS = ['afterCalls', 'coveredOutputRatio'] as const satisfies readonly (keyof CalibrationOptions)[];
const CALLS = { least: 1, most: 10_000, whole: true, mend: 'give a number of calls like 10' };
const COVERED = { least: 0.5, most: 0.99, mend: 'give a share like 0.9' };

/** Checks how estimates learn; `undefined` when they are not to. */
export function readCalibration(
  check: Check,
  path: string,
  given: unknown,
  { afterCalls, coveredOutputRatio }: LearningOptions,
): LearningOptions | undefined {
  if (given === false) return undefined;
  const mend = 'give false for none, or some like { afterCalls: 20 }';
  const fields = given === undefined ? undefined : check.fields(path, given, FIELDS, mend);
  return Object.freeze({
    afterCalls: check.number(at(path, 'afterCalls'), fields?.afterCalls, CALLS, afterCalls),
    coveredOutputRatio: check.number(at(path, 'coveredOutputRatio'), fields?.coveredOutputRatio, COVERED, coveredOutputRatio),
  });
}
