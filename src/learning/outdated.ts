import type { FairSample } from './fair-sample.js';
import { ascending, median, upperQuantile } from './quantile.js';

/** Observations that tell a change from chance. */
const RECENT = 12;
/** How far medians must be apart, in standard errors of their difference, and at least: a change of 2 % is none. */
const APART_ERRORS = 4;
const APART_LEAST = 0.02;
/** Standard error of a median, in standard errors of a mean. */
export const MEDIAN_ERROR = 1.2533;

/**
 * Forgets what tenants gave before their ratio changed, so that an update of a model is followed within a dozen of its calls, and not
 * when half of the sample is new. Seeing a change where there is none costs precision for a while, nothing else.
 */
export function forgetOutdated(sample: FairSample): void {
  for (const [tenant, { values }] of sample.tenants) {
    if (values.length < 2 * RECENT) continue;
    const now = median(ascending(values.slice(-RECENT)));
    const earlier = ascending(values.slice(0, -RECENT));
    const before = median(earlier);
    const error = MEDIAN_ERROR * spreadOf(earlier) * Math.sqrt(1 / RECENT + 1 / earlier.length);
    if (Math.abs(now - before) <= Math.max(APART_LEAST, APART_ERRORS * error)) continue;
    // The change may have come in their midst.
    sample.keepLatest(tenant, RECENT, (value) => Math.abs(value - now) < Math.abs(value - before));
  }
}

/** About the standard deviation, outliers aside: half of what the middle 68 % cover. */
export function spreadOf(sorted: Float64Array): number {
  return (upperQuantile(sorted, 0.84) - upperQuantile(sorted, 0.16)) / 2;
}
