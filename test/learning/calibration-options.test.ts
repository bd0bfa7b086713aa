import { describe, expect, it } from 'vitest';
import { type Options, resolveOptions } from '../../src/options.js';
import { memoryStore } from '../../src/stores/memory.js';

const resolve = (options: Options) => resolveOptions(options, { ladder: [], store: () => memoryStore() });
const faulty = (calibration: unknown) => () => resolve({ calibration } as Options);

describe('the option calibration', () => {
  it('is on, with defaults for what is left out', () => {
    expect(resolve({}).calibration).toEqual({ afterCalls: 10, coveredOutputRatio: 0.9 });
    expect(resolve({ calibration: {} }).calibration).toEqual({ afterCalls: 10, coveredOutputRatio: 0.9 });
    expect(resolve({ calibration: { afterCalls: 50 } }).calibration).toEqual({ afterCalls: 50, coveredOutputRatio: 0.9 });
  });

  it('is switched off by false', () => {
    expect(resolve({ calibration: false }).calibration).toBeUndefined();
  });

  it.each([
    [true, 'calibration must be an object, got true; give false for none, or some like { afterCalls: 20 }'],
    [{ afterCalls: 0 }, 'calibration.afterCalls must be a whole number from 1 to 10_000, got 0; give a number of calls like 10'],
    [{ coveredOutputRatio: 1 }, 'calibration.coveredOutputRatio must be a number from 0.5 to 0.99, got 1; give a share like 0.9'],
    [{ aftercalls: 5 }, 'calibration.aftercalls is not an option; did you mean afterCalls?'],
  ])('says what is wrong with %j', (given, message) => {
    expect(faulty(given)).toThrow(message);
  });
});
