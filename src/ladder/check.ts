import { SpillwayError } from '../errors.js';
import { nearest } from '../options-check.js';

/**
 * @returns `given`, an object of no other options than `known`
 * @throws {@link SpillwayError} naming the step, what was given and what to give
 */
export function checkOptions<T extends object>(step: string, given: T, known: readonly string[]): T {
  if (typeof given !== 'object' || given === null)
    throw new SpillwayError(
      'SPILLWAY_BAD_OPTIONS',
      `${step} needs an object of options, got ${String(given)}; known are ${known.join(', ')}`,
    );
  const odd = Object.keys(given).find((name) => !known.includes(name));
  if (odd === undefined) return given;
  const near = nearest(odd, known);
  const mend = near === undefined ? `known are ${known.join(', ')}` : `did you mean ${near}?`;
  throw new SpillwayError('SPILLWAY_BAD_OPTIONS', `${step}.${odd} is not an option; ${mend}`);
}

/**
 * @returns `value`, a whole number above 0
 * @throws {@link SpillwayError} naming the step's option, what was given and what to give
 */
export function checkWholeNumber(step: string, option: string, value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
  const given = typeof value === 'string' ? JSON.stringify(value) : String(value);
  throw new SpillwayError(
    'SPILLWAY_BAD_OPTIONS',
    `${step}.${option} must be a whole number above 0, got ${given}; give a number like 2_000`,
  );
}
