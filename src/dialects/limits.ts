import type { OwnLimit } from './dialect.js';

type Told = OwnLimit['dimension'];

/** What the three headers about one dimension are called. */
interface Names {
  readonly limit: string;
  readonly remaining: string;
  readonly reset: string;
}

type Table = readonly (readonly [Told, Names])[];

const openai = (kind: string): Names => ({
  limit: `x-ratelimit-limit-${kind}`,
  remaining: `x-ratelimit-remaining-${kind}`,
  reset: `x-ratelimit-reset-${kind}`,
});
const anthropic = (kind: string): Names => ({
  limit: `anthropic-ratelimit-${kind}-limit`,
  remaining: `anthropic-ratelimit-${kind}-remaining`,
  reset: `anthropic-ratelimit-${kind}-reset`,
});

const OPENAI: Table = [
  ['requests', openai('requests')],
  ['tokens', openai('tokens')],
];
const ANTHROPIC: Table = [
  ['requests', anthropic('requests')],
  ['tokens', anthropic('tokens')],
  ['inputTokens', anthropic('input-tokens')],
  ['outputTokens', anthropic('output-tokens')],
];

/** `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`, resets as Go writes durations; see `Dialect.limits`. */
export function openaiLimits(own: readonly OwnLimit[]): Record<string, string> {
  return headersOf(own, OPENAI, goDuration);
}

/**
 * `anthropic-ratelimit-{requests,tokens,input-tokens,output-tokens}-{limit,remaining,reset}`, resets as instants of RFC 3339;
 * see `Dialect.limits`.
 */
export function anthropicLimits(own: readonly OwnLimit[], nowMs: number): Record<string, string> {
  return headersOf(own, ANTHROPIC, (resetMs) => instant(nowMs + resetMs));
}

function headersOf(own: readonly OwnLimit[], table: Table, writeReset: (resetMs: number) => string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [dimension, names] of table) {
    const limit = tightest(own, dimension);
    if (!limit) continue;
    headers[names.limit] = String(limit.limit);
    headers[names.remaining] = String(limit.remaining);
    if (limit.resetMs !== undefined) headers[names.reset] = writeReset(limit.resetMs);
  }
  return headers;
}

/** The limit that is met first; of two alike, the one that takes longer to come back. */
function tightest(limits: readonly OwnLimit[], dimension: Told): OwnLimit | undefined {
  let found: OwnLimit | undefined;
  for (const next of limits) {
    if (next.dimension !== dimension) continue;
    const isLonger = found?.remaining === next.remaining && (next.resetMs ?? 0) > (found.resetMs ?? 0);
    if (!found || next.remaining < found.remaining || isLonger) found = next;
  }
  return found;
}

/** A duration as Go writes it, never too short: `9ms`, `1.2s`, `6m0s`, `1h2m3s`; whole seconds from a minute on. */
export function goDuration(ms: number): string {
  const whole = Math.ceil(ms);
  if (whole <= 0) return '0s';
  if (whole < 1_000) return `${whole}ms`;
  if (whole < 60_000) return `${whole / 1_000}s`;
  const seconds = Math.ceil(whole / 1_000);
  const minutes = Math.floor(seconds / 60);
  const rest = `${minutes % 60}m${seconds % 60}s`;
  return minutes < 60 ? rest : `${Math.floor(minutes / 60)}h${rest}`;
}

/** An instant as RFC 3339 writes it, in UTC and whole seconds, never too early. */
function instant(ms: number): string {
  return new Date(Math.ceil(ms / 1_000) * 1_000).toISOString().replace('.000Z', 'Z');
}
