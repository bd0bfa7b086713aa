import { SpillwayError } from '../errors.js';

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
