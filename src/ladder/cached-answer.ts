import { createHash } from 'node:crypto';
import type { AnswerCache } from '../cache/answer-cache.js';
import { cacheKey, type Partition, partitionOf } from '../cache/cache-key.js';
import { memoryAnswerCache } from '../cache/memory-answer-cache.js';
import type { Answer, Call } from '../call.js';
import { type Clock, systemClock } from '../clock.js';
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
  /**
   * Where answers are kept: `redisAnswerCache(client)` of `spillway/redis` shares them among all instances, and prompts' answers are
   * then in Redis as they are. @defaultValue the memory of this process
   */
  readonly cache?: AnswerCache;
  /** All answers together, in bytes; of this process: another `cache` has a bound of its own. @defaultValue 67_108_864 */
  readonly maxBytes?: number;
  /** Longest answer that is kept, in bytes. @defaultValue 262_144 */
  readonly maxAnswerBytes?: number;
  /** Keeps answers that call tools too. @defaultValue false */
  readonly toolCalls?: boolean;
  /** By which answers age. @defaultValue `systemClock` */
  readonly clock?: Clock;
}

/** Where an answer lies. */
interface Place {
  readonly partition: string;
  readonly key: string;
}

/**
 * An answer kept from an earlier, complete, undegraded call with exactly the same prompt and settings, of the same
 * partition; replayed in the caller's mode. Only read while budgets are full.
 * @throws {@link SpillwayError} when a bound is not a whole number above 0, or `cache` is none
 */
export function cachedAnswer(options: CachedAnswerOptions = {}): Step {
  checkOptions('cachedAnswer', options, ['partition', 'staleMs', 'cache', 'maxBytes', 'maxAnswerBytes', 'toolCalls', 'clock']);
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
  const cache = checkCache(options) ?? memoryAnswerCache(maxBytes);

  function placeOf(call: Call): Place | undefined {
    const who = partitionOf(call, partition);
    const key = cacheKey(call, partition);
    if (who === undefined || key === undefined) return undefined;
    return { partition: createHash('sha256').update(who).digest('base64url'), key };
  }

  async function find(call: Call): Promise<Answer | undefined> {
    const place = placeOf(call);
    const found = place && (await cache.get(place.partition, place.key));
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
    attempt: ({ call }) => find(call),
    async learn(call, answer) {
      if (answer.hasToolCalls && !options.toolCalls) return;
      const place = placeOf(call);
      if (!place) return;
      const bytes = Buffer.byteLength(JSON.stringify(answer.body)) + 256;
      if (bytes > learnBytes) return;
      await cache.set(place.partition, place.key, { answer, atMs: clock.now() }, { bytes, ttlMs: staleMs });
    },
  };
}

function checkCache({ cache, maxBytes }: CachedAnswerOptions): AnswerCache | undefined {
  if (cache === undefined) return undefined;
  const lacking = ['get', 'set', 'delete'].filter((method) => typeof cache?.[method as keyof AnswerCache] !== 'function');
  if (lacking.length > 0)
    throw new SpillwayError(
      'SPILLWAY_BAD_OPTIONS',
      `cachedAnswer.cache must be a cache, which has the methods get, set and delete, but lacks ${lacking.join(', ')}; give one like redisAnswerCache(client)`,
    );
  if (maxBytes !== undefined)
    throw new SpillwayError(
      'SPILLWAY_BAD_OPTIONS',
      'cachedAnswer.maxBytes bounds the memory of this process, and cachedAnswer.cache is another place; give its bound to the cache',
    );
  return cache;
}
