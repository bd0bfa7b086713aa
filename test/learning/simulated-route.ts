import { InputCorrection } from '../../src/learning/input-correction.js';

export type Random = () => number;

/** Uniform in [0, 1), the same for the same seed (mulberry32). */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Of mean 0 and standard deviation 1. */
export function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** Of mean 0 and standard deviation 1, never beyond the square root of 3. */
export const uniform = (random: Random): number => (2 * random() - 1) * Math.sqrt(3);

/** A route whose real input is known: the estimate times `ratio`, times noise. */
export interface RouteFacts {
  readonly seed: number;
  readonly ratio: number | ((call: number, tenant: number) => number);
  /** Standard deviation of the logarithm of real / estimated. */
  readonly noise: number;
  readonly draw?: (random: Random) => number;
  readonly tenants?: number;
  readonly calls?: number;
}

export interface Played {
  readonly call: number;
  readonly tenant: number;
  readonly estimated: number;
  readonly inputTokens: number;
  readonly heldInputTokens: number;
  readonly real: number;
}

/** Plays calls of 50 to 5,000 tokens, each one learned from before the next is made; 10 % overhead to begin with. */
export function play({ seed, ratio, noise, draw = normal, tenants = 1, calls = 1_000 }: RouteFacts): Played[] {
  const random = randomOf(seed);
  const correction = new InputCorrection(10);
  return Array.from({ length: calls }, (_, call) => {
    const tenant = Math.floor(random() * tenants);
    const estimated = Math.round(50 * 100 ** random());
    const centre = typeof ratio === 'number' ? ratio : ratio(call, tenant);
    const real = Math.max(1, Math.round(estimated * centre * Math.exp(noise * draw(random))));
    const figures = correction.correct(tenant, { inputTokens: estimated, heldInputTokens: Math.ceil(estimated * 1.1) });
    correction.add(tenant, estimated, real);
    return { call, tenant, estimated, real, ...figures };
  });
}

export const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Share of calls for which too little was held. */
export const underRatio = (played: readonly Played[]): number =>
  meanOf(played.map(({ heldInputTokens, real }) => (heldInputTokens < real ? 1 : 0)));

/** How much more was held than used, on average. */
export const overRatio = (played: readonly Played[]): number =>
  meanOf(played.map(({ heldInputTokens, real }) => heldInputTokens / real - 1));
