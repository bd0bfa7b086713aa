import type { Usage } from '../call.js';
import type { Price } from './budget.js';

/**
 * Money for a call, in whole micro-dollars, rounded up. Dollars per million tokens are micro-dollars per token.
 * Cached and cache-write tokens are part of the input and priced apart when a price for them is known.
 */
export function priceOf(
  usage: Pick<Usage, 'inputTokens' | 'outputTokens' | 'cachedInputTokens' | 'cacheWriteTokens'>,
  price: Price,
): number {
  const input = usage.inputTokens ?? 0;
  const cached = Math.min(input, usage.cachedInputTokens ?? 0);
  const written = Math.min(input - cached, usage.cacheWriteTokens ?? 0);
  const plain = input - cached - written;
  const money =
    plain * price.input +
    cached * (price.cachedInput ?? price.input) +
    written * (price.cacheWrite ?? price.input) +
    (usage.outputTokens ?? 0) * price.output +
    (price.perRequest ?? 0) * 1_000_000;
  return toWhole(money);
}

/** Rounds up, but not for the dust that binary fractions leave behind. */
function toWhole(money: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.ceil(money - 1e-6)));
}
