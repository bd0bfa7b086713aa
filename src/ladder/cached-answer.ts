import { createBoundedMap } from '../cache/bounded-map.js';
import { cacheKey, type Partition } from '../cache/cache-key.js';
import type { Answer, Call } from '../call.js';
import { type Clock, systemClock } from '../clock.js';
import type { CompleteAnswer } from '../dialects/dialect.js';
import { SpillwayError } from '../errors.js';
import { checkOptions, checkWholeNumber } from './check.js';
import type { Step } from './step.js';

/** Options of {@link cachedAnswer}. */
export interface CachedAnswerOptions {
  /**
   * Who shares answers: callers with the same keys in all scopes, with the same key in the named scope, or everyone. A call
   * without a key of the partition is never cached. A mount's answers are read before its handler runs: authorize before
   * spillway, and widen the partition only where everyone in it may see whatever the route answers. @defaultValue `'identity'`
   */
  readonly partition?: Partition;
  /** Oldest answer that is given while budgets are full, in milliseconds. @defaultValue 86_400_000 */
  readonly staleMs?: number;
  /** All answers together, in bytes. @defaultValue 67_108_864 */
  readonly maxBytes?: number;
  /** Longest answer that is kept, in bytes. @defaultValue 262_144 */
  readonly maxAnswerBytes?: number;
  /** Keeps answers that call tools too. @defaultValue false */
  readonly toolCalls?: boolean;
  /** By which answers age. @defaultValue `systemClock` */
  readonly clock?: Clock;
}

interface Kept {
  readonly answer: CompleteAnswer;
  readonly atMs: number;
  readonly bytes: number;
}

/**
 * An answer kept from an earlier, complete, undegraded call with exactly the same prompt and settings, of the same
 * partition; replayed in the caller's mode. Only read while budgets are full.
 * @throws {@link SpillwayError} when a bound is not a whole number above 0
 */
export function cachedAnswer(options: CachedAnswerOptions = {}): Step {
  checkOptions('cachedAnswer', options, ['partition', 'staleMs', 'maxBytes', 'maxAnswerBytes', 'toolCalls', 'clock']);
  const partition = options.partition ?? 'identity';
  if (typeof partition !== 'string' || partition === '')
    throw new SpillwayError(
      'SPILLWAY_BAD_OPTIONS',
      "cachedAnswer.partition must be 'identity', 'everyone' or the name of a scope",
    );
  const clock = options.clock ?? systemClock;
  const staleMs = checkWholeNumber('cachedAnswer', 'staleMs', options.staleMs ?? 86_400_000);
  const maxBytes = checkWholeNumber('cachedAnswer', 'maxBytes', options.maxBytes ?? 67_108_864);
  const learnBytes = checkWholeNumber('cachedAnswer', 'maxAnswerBytes', options.maxAnswerBytes ?? 262_144);
  const kept = createBoundedMap<Kept>({ maxBytes, sizeOf: ({ bytes }) => bytes });

  function find(call: Call): Answer | undefined {
    const key = cacheKey(call, partition);
    const found = key === undefined ? undefined : kept.get(key);
    if (!found) return undefined;
    const ageMs = Math.max(0, clock.now() - found.atMs);
    if (ageMs > staleMs) return undefined;
    const { model, text, body, usage } = found.answer;
    return { kind: 'cached', model: model ?? call.requestedModel ?? 'unknown', text, body, usage, ageMs };
  }

  return {
    name: 'cachedAnswer',
    learnBytes,
    canHelp: (_refusal, call) => call.dialect !== undefined && call.draft !== undefined,
    attempt: async ({ call }) => find(call),
    learn(call, answer) {
      if (answer.hasToolCalls && !options.toolCalls) return;
      const key = cacheKey(call, partition);
      if (key === undefined) return;
      const bytes = Buffer.byteLength(JSON.stringify(answer.body)) + 256;
      if (bytes <= learnBytes) kept.set(key, { answer, atMs: clock.now(), bytes });
    },
  };
}
