import type { OwnLimit } from './dialect.js';

type Told = OwnLimit['dimension'];

/** `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`, resets as Go writes durations; see `Dialect.limits`. */
export function openaiLimits(own: readonly OwnLimit[]): Record<string, string> {
  return headersOf(
    own,
    { requests: 'requests', tokens: 'tokens' },
    (figure, kind) => `x-ratelimit-${figure}-${kind}`,
    goDuration,
  );
}

/**
 * `anthropic-ratelimit-{requests,tokens,input-tokens,output-tokens}-{limit,remaining,reset}`, resets as instants of RFC 3339;
 * see `Dialect.limits`.
 */
export function anthropicLimits(own: readonly OwnLimit[], nowMs: number): Record<string, string> {
  const kinds = { requests: 'requests', tokens: 'tokens', inputTokens: 'input-tokens', outputTokens: 'output-tokens' };
  const nameOf = (figure: string, kind: string) => `anthropic-ratelimit-${kind}-${figure}`;
  return headersOf(own, kinds, nameOf, (resetMs) => instant(nowMs + resetMs));
}

function headersOf(
  own: readonly OwnLimit[],
  kinds: Readonly<Partial<Record<Told, string>>>,
  nameOf: (figure: 'limit' | 'remaining' | 'reset', kind: string) => string,
  writeReset: (resetMs: number) => string,
): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [dimension, kind] of Object.entries(kinds)) {
    const limit = tightest(own.filter((candidate) => candidate.dimension === dimension));
    if (!limit) continue;
    headers[nameOf('limit', kind)] = String(limit.limit);
    headers[nameOf('remaining', kind)] = String(limit.remaining);
    if (limit.resetMs !== undefined) headers[nameOf('reset', kind)] = writeReset(limit.resetMs);
  }
  return headers;
}

/** The limit that is met first; of two alike, the one that takes longer to come back. */
function tightest(limits: readonly OwnLimit[]): OwnLimit | undefined {
  return limits.reduce<OwnLimit | undefined>((found, next) => {
    if (!found || next.remaining < found.remaining) return next;
    return next.remaining === found.remaining && (next.resetMs ?? 0) > (found.resetMs ?? 0) ? next : found;
  }, undefined);
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
