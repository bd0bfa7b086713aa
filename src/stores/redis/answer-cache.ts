import { createHash } from 'node:crypto';
import type { AnswerCache, KeptAnswer } from '../../cache/answer-cache.js';
import { type Clock, systemClock } from '../../clock.js';
import type { CompleteAnswer } from '../../dialects/dialect.js';
import { OptionsError } from '../../errors.js';
import { encodeKey } from '../../identity.js';
import { ANSWER_SCRIPTS, OVERHEAD_BYTES } from './answer-scripts.js';
import { createBreaker } from './breaker.js';
import { clientFault, numberFault, prefixFault } from './check-options.js';
import { type RedisClient, runScript } from './client.js';
import { createPatience } from './patience.js';
import type { Script } from './scripts.js';

/** Options of {@link redisAnswerCache}. */
export interface RedisAnswerCacheOptions {
  /** Caches with the same prefix share answers. Names the hash tag of all keys; may be the store's. @defaultValue `'spillway'` */
  readonly prefix?: string;
  /** All answers together, in bytes, of all instances. @defaultValue 67_108_864 */
  readonly maxBytes?: number;
  /** How long an answer is waited for, in milliseconds, 1 to 10,000; after that there is none. @defaultValue 50 */
  readonly timeoutMs?: number;
  /** For this process. Answers are kept by the server's time. @defaultValue `systemClock` */
  readonly clock?: Clock;
}

/** While Redis does not answer it is asked again so often, in milliseconds. */
const PROBE_MS = 500;
/** Commands, and bytes in them, that have no answer yet. */
const MOST_UNANSWERED = 1_000;
const MOST_UNANSWERED_BYTES = 16_777_216;
/** Ten years: what is kept for longer is kept for so long. */
const LONGEST_MS = 315_360_000_000;

/**
 * Answers in Redis, shared by all instances: `cachedAnswer({ cache: redisAnswerCache(client) })`. The oldest leave first. When Redis does
 * not answer in time there is no answer and none is kept; no call ever fails for it.
 *
 * Answers are in Redis as they are, for as long as `cachedAnswer.staleMs`, or twice as long where nothing else is kept meanwhile: whoever
 * reads that Redis reads them. Prompts and identities are there as hashes only.
 * @param client - of ioredis 5 or 6; the caller makes, connects and closes it
 * @throws {@link OptionsError} with every fault in the options
 */
export function redisAnswerCache(client: RedisClient, options: RedisAnswerCacheOptions = {}): AnswerCache {
  const { prefix = 'spillway', maxBytes = 67_108_864, timeoutMs = 50, clock = systemClock } = options;
  const faults = [
    clientFault('redisAnswerCache(client)', client),
    prefixFault(prefix),
    numberFault('maxBytes', maxBytes, Number.MAX_SAFE_INTEGER),
    numberFault('timeoutMs', timeoutMs, 10_000),
  ].filter((fault) => fault !== undefined);
  if (faults.length > 0) throw new OptionsError(faults);

  const tag = `{${encodeKey(prefix)}}`;
  const keys = [`${tag}a`, `${tag}ax`];
  const breaker = createBreaker();
  const patience = createPatience({ clock, timeoutMs, most: MOST_UNANSWERED, mostBytes: MOST_UNANSWERED_BYTES });
  let askAgainAtMs = 0;

  /** Whether to ask at all: while Redis is away only now and then, to hear when it is back. */
  function isWorthAsking(): boolean {
    if (!breaker.isOpen) return true;
    const nowMs = clock.now();
    if (nowMs < askAgainAtMs && askAgainAtMs - nowMs <= PROBE_MS) return false;
    askAgainAtMs = nowMs + PROBE_MS;
    return true;
  }

  /** @returns `undefined` when Redis does not answer, or not in time */
  async function ask(script: Script, args: readonly string[]): Promise<unknown> {
    const bytes = args.reduce((sum, arg) => sum + arg.length, 0);
    if (patience.isBusy(bytes) || !isWorthAsking()) return undefined;
    try {
      const reply = await patience.ask(() => runScript(client, script, keys, args), bytes);
      if (breaker.isOpen) breaker.close();
      breaker.succeeded(clock.now());
      return reply;
    } catch {
      if (breaker.failed(clock.now())) askAgainAtMs = clock.now() + PROBE_MS;
      return undefined;
    }
  }

  return {
    async get(partition, key) {
      const field = fieldOf(partition, key);
      const reply = await ask(ANSWER_SCRIPTS.get, [field]);
      return typeof reply === 'string' ? parse(reply) : undefined;
    },
    async set(partition, key, { answer, atMs }, { ttlMs }) {
      const field = fieldOf(partition, key);
      const value = JSON.stringify({ v: VERSION, atMs, answer });
      // A client without a server keeps what it is to send: that it is back is found out with something small.
      if (breaker.isOpen) await ask(ANSWER_SCRIPTS.get, [field]);
      if (breaker.isOpen) return;
      const isTooLarge = Buffer.byteLength(value) + OVERHEAD_BYTES > maxBytes;
      // The one that it was to replace is not the newest any more.
      if (isTooLarge) await ask(ANSWER_SCRIPTS.delete, [field]);
      else await ask(ANSWER_SCRIPTS.set, [field, value, String(Math.ceil(Math.min(ttlMs, LONGEST_MS))), String(maxBytes)]);
    },
    async delete(partition, key) {
      await ask(ANSWER_SCRIPTS.delete, [fieldOf(partition, key)]);
    },
  };
}

/** Of the form of what is kept: another one is not read. */
const VERSION = 1;

/** The partition is in it: no answer of another one has the same name, whatever the key. */
function fieldOf(partition: string, key: string): string {
  return createHash('sha256')
    .update(JSON.stringify([partition, key]))
    .digest('base64url');
}

function parse(text: string): KeptAnswer | undefined {
  try {
    const { v, atMs, answer } = JSON.parse(text) as { v: unknown; atMs: unknown; answer: Partial<CompleteAnswer> | null };
    if (v !== VERSION || typeof atMs !== 'number' || typeof answer?.text !== 'string') return undefined;
    const { model, text: words, hasToolCalls, usage, body } = answer;
    return { atMs, answer: { model, text: words, hasToolCalls: hasToolCalls === true, usage, body } };
  } catch {
    return undefined;
  }
}
