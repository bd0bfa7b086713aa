import type { Usage } from '../call.js';
import type { Dialect } from './dialect.js';
import { countOf, fieldsOf, modelOf } from './values.js';

/** The part of a dialect that reads answers. */
export type Reading = Pick<Dialect, 'usage' | 'text' | 'isUsageOnly' | 'collect'>;

/**
 * A dialect's reading of answers, which happens beside their way to the caller and must not harm it: an application's own dialect
 * that throws has read nothing, and what it takes for usage is believed only where it can be.
 */
export function carefulReading(dialect: Reading): Reading {
  return {
    usage: (data) => readUsage(tried(() => dialect.usage(data))),
    text(data) {
      const text: unknown = tried(() => dialect.text(data));
      return typeof text === 'string' ? text : '';
    },
    isUsageOnly: (event) => tried(() => dialect.isUsageOnly(event)) === true,
    collect: (given) => tried(() => dialect.collect(given)),
  };
}

/** Figures that can be: whole numbers, 0 or more; the rest counts as not reported. `undefined` when none is left. */
export function readUsage(given: unknown): Usage | undefined {
  const fields = fieldsOf(given);
  const inputTokens = countOf(fields?.inputTokens);
  const outputTokens = countOf(fields?.outputTokens);
  if (!fields || (inputTokens === undefined && outputTokens === undefined)) return undefined;
  return {
    inputTokens,
    outputTokens,
    cachedInputTokens: countOf(fields.cachedInputTokens),
    cacheWriteTokens: countOf(fields.cacheWriteTokens),
    reasoningTokens: countOf(fields.reasoningTokens),
    model: modelOf(fields.model),
  };
}

/** The newer report wins, field by field; what it does not say stays. */
export function mergeUsage(before: Usage | undefined, next: Usage | undefined): Usage | undefined {
  if (!before || !next) return next ?? before;
  const said = Object.fromEntries(Object.entries(next).filter(([, value]) => value !== undefined));
  return { ...before, ...said };
}

function tried<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
