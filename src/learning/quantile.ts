/** Ascending copy of some figures. */
export function ascending(values: readonly number[]): Float64Array {
  return Float64Array.from(values).sort();
}

/**
 * The figure that this share of later ones will not exceed, on average over samples of this size: between the order statistics around
 * ratio * (n + 1), and never beyond the largest. `sorted` must not be empty.
 */
export function upperQuantile(sorted: Float64Array, ratio: number): number {
  const rank = Math.min(sorted.length, Math.max(1, ratio * (sorted.length + 1)));
  const whole = Math.floor(rank);
  const lower = sorted[whole - 1] as number;
  const upper = sorted[Math.min(sorted.length, whole + 1) - 1] as number;
  return lower + (upper - lower) * (rank - whole);
}

/** The middle one, or the mean of the middle two. `sorted` must not be empty. */
export function median(sorted: Float64Array): number {
  const half = sorted.length >> 1;
  const upper = sorted[half] as number;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] as number) + upper) / 2;
}
