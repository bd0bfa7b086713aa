import { createHash, randomUUID } from 'node:crypto';
import type { Identity, OutcomeKind, Usage } from '../../call.js';
import { type Cancel, type Clock, systemClock } from '../../clock.js';
import { OptionsError, SpillwayError } from '../../errors.js';
import { encodeKey } from '../../identity.js';
import {
  addTo,
  type Counts,
  HOUR_MS,
  HOURS_KEPT,
  HourlyCounts,
  type HourRow,
  hourOf,
  hoursOf,
  MOST_KEYS,
  OTHERS,
  topOf,
} from '../../observe/counts.js';
import type { Ledger, Tally, UsageQuery } from '../../observe/ledger.js';
import { whole } from '../amounts.js';
import type { StoreNotice } from '../store.js';
import { clientFault, numberFault, prefixFault } from './check-options.js';
import { type RedisClient, runScript } from './client.js';
import { createPatience, type Patience } from './patience.js';
import type { Script } from './scripts.js';

/** Options of {@link redisLedger}. */
export interface RedisLedgerOptions {
  /** Ledgers with the same prefix count together. Names the hash tag of all keys; may be the store's. @defaultValue `'spillway'` */
  readonly prefix?: string;
  /** How often Redis is told what was used, in milliseconds, 1 to 60,000. @defaultValue 1_000 */
  readonly flushMs?: number;
  /** How long an answer is waited for, in milliseconds, 1 to 60,000. Only `gate.usage` and `gate.close` wait. @defaultValue 1_000 */
  readonly timeoutMs?: number;
  /** Asked by `gate.usage`: a replica will do, which may lag. @defaultValue the client itself */
  readonly readClient?: RedisClient;
  /** By which hours begin. @defaultValue `systemClock` */
  readonly clock?: Clock;
}

/** Rows that are told in one command. */
const BATCH = 500;
/** Commands that have no answer yet: the client keeps them. */
const MOST_UNHEARD = 4;
const MOST_READING = 1_000;
/** After so many failures in a row an operator hears of it, and Redis is asked again so often at least, in milliseconds. */
const FAILURES_TOLD = 5;
const LONGEST_PAUSE_MS = 30_000;
/** Longer keys are shown as they are named in Redis: a model's name may be a caller's text. In UTF-16 units. */
const LONGEST_NAME = 512;

/** Rows under a number that Redis counts once, however often it hears of it. */
interface Batch {
  readonly number: number;
  readonly rows: readonly HourRow[];
}

/**
 * Counts who used what in Redis, for all instances together: `createSpillway({ ledger: redisLedger(client) })`. Redis is told once a
 * second, and nobody waits for it. While it does not answer, what was used is kept here for up to a day, and told once it is back, each
 * call once.
 *
 * Keys of scopes and names of models are in Redis as they are, for a day.
 * @param client - of ioredis 5 or 6; the caller makes, connects and closes it, after `gate.close()`
 * @throws {@link OptionsError} with every fault in the options
 */
export function redisLedger(client: RedisClient, options: RedisLedgerOptions = {}): Ledger {
  const { prefix = 'spillway', flushMs = 1_000, timeoutMs = 1_000, readClient = client, clock = systemClock } = options;
  const faults = [
    clientFault('redisLedger(client)', client),
    readClient === client ? undefined : clientFault('readClient', readClient),
    prefixFault(prefix),
    numberFault('flushMs', flushMs, 60_000),
    numberFault('timeoutMs', timeoutMs, 60_000),
  ].filter((fault) => fault !== undefined);
  if (faults.length > 0) throw new OptionsError(faults);
  return new OverRedis({ client, prefix, flushMs, timeoutMs, readClient, clock });
}

class OverRedis implements Ledger {
  readonly #parts: Required<RedisLedgerOptions> & { readonly client: RedisClient };
  readonly #tag: string;
  readonly #writing: Patience;
  readonly #reading: Patience;
  readonly #instance = randomUUID();
  /** What Redis was not told yet. */
  readonly #counts = new HourlyCounts();
  /** What it was told, without a word that it heard. */
  #batch: Batch | undefined;
  #batches = 0;
  #flushing: Promise<void> | undefined;
  #stopTimer: Cancel | undefined;
  #listener: ((notice: StoreNotice) => void) | undefined;
  #newestHour = 0;
  #failures = 0;
  #isClosed = false;

  constructor(parts: Required<RedisLedgerOptions> & { readonly client: RedisClient }) {
    this.#parts = parts;
    this.#tag = `{${encodeKey(parts.prefix)}}`;
    const { clock, timeoutMs } = parts;
    this.#writing = createPatience({ clock, timeoutMs, most: MOST_UNHEARD });
    this.#reading = createPatience({ clock, timeoutMs, most: MOST_READING });
  }

  add(identity: Identity, model: string | undefined, usage: Usage, microUsd: number): void {
    this.#counts.addCall(this.#thisHour(), identity, model, usage, microUsd);
    this.#scheduleFlush();
  }

  addAnswer(identity: Identity, _kind: OutcomeKind): void {
    this.#counts.addAnswer(this.#thisHour(), identity);
    this.#scheduleFlush();
  }

  async usage(query: UsageQuery): Promise<readonly Tally[]> {
    const { client, readClient, clock } = this.#parts;
    try {
      await this.#flushAll();
    } catch (cause) {
      if (readClient === client) throw unread(cause);
    }
    const sums = new Map<string, Counts>();
    try {
      // One after the other: Redis has others to answer in between.
      for (const hour of hoursOf(query, clock.now()))
        for (const [key, counts] of await this.#rowsOf(hour, query.scope)) addTo(sums, key, counts);
    } catch (cause) {
      throw unread(cause);
    }
    return topOf(sums, query);
  }

  onNotice(listener: (notice: StoreNotice) => void): void {
    this.#listener = listener;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    try {
      await this.#flushAll();
    } catch {
      const rows = this.#counts.size + (this.#batch?.rows.length ?? 0);
      this.#tell('lost', `Redis does not answer, and this instance ends: usage of ${rows} keys was not told to it`);
    }
  }

  #thisHour(): number {
    const hour = hourOf(this.#parts.clock.now());
    if (hour !== this.#newestHour) this.#forgetBefore(hour - HOURS_KEPT + 1);
    this.#newestHour = hour;
    return hour;
  }

  #forgetBefore(hour: number): void {
    const rows = this.#counts.forgetBefore(hour);
    if (rows > 0) this.#tell('lost', `Redis has not answered for a day: usage of ${rows} keys was not told to it`);
  }

  // ---- telling

  /** The longer the more often Redis has failed in a row. */
  #scheduleFlush(): void {
    if (this.#isClosed || this.#stopTimer || this.#flushing) return;
    const pauseMs = Math.min(Math.max(LONGEST_PAUSE_MS, this.#parts.flushMs), this.#parts.flushMs * 2 ** this.#failures);
    this.#stopTimer = this.#parts.clock.after(pauseMs, () => {
      this.#stopTimer = undefined;
      this.#flush().catch(() => {});
    });
  }

  /** Tells Redis what there is now, one batch after the other: an earlier number is never told after a later one. */
  #flush(): Promise<void> {
    this.#flushing ??= this.#tellRest().finally(() => {
      this.#flushing = undefined;
      if (this.#batch || this.#counts.size > 0) this.#scheduleFlush();
    });
    return this.#flushing;
  }

  /** One that is under way does not tell what came since. */
  async #flushAll(): Promise<void> {
    await this.#flushing;
    await this.#flush();
  }

  async #tellRest(): Promise<void> {
    // What comes meanwhile is another flush's.
    for (let left = Math.ceil(this.#counts.size / BATCH) + (this.#batch ? 1 : 0); left > 0; left--) {
      this.#batch ??= this.#nextBatch();
      if (!this.#batch) break;
      await this.#tellBatch(this.#batch);
      this.#batch = undefined;
    }
  }

  #nextBatch(): Batch | undefined {
    const rows = this.#counts.take(BATCH);
    return rows.length > 0 ? { number: ++this.#batches, rows } : undefined;
  }

  async #tellBatch({ number, rows }: Batch): Promise<void> {
    const nowMs = this.#parts.clock.now();
    const hours = new Map<string, string[]>();
    for (const { hour, scope, key, counts } of rows) {
      const name = this.#keyOf(hour, scope);
      const args = hours.get(name) ?? [String(Math.max(1_000, (hour + HOURS_KEPT + 1) * HOUR_MS - nowMs))];
      args.push(...argsOf(key, counts));
      hours.set(name, args);
    }
    const keys = [`${this.#tag}uf:${this.#instance}`, ...hours.keys()];
    const args = [String(number), String((HOURS_KEPT + 1) * HOUR_MS), String(MOST_KEYS), encodeKey(OTHERS)];
    for (const [ttl, ...values] of hours.values()) args.push(ttl as string, String(values.length / ROW_ARGS), ...values);
    try {
      await this.#writing.ask(() => runScript(this.#parts.client, TELL, keys, args));
    } catch (error) {
      this.#fail(error);
      throw error;
    }
    if (this.#failures >= FAILURES_TOLD) this.#tell('back', 'Redis answers again, and was told what was used meanwhile');
    this.#failures = 0;
  }

  #fail(error: unknown): void {
    this.#failures++;
    if (this.#failures !== FAILURES_TOLD) return;
    const reason = error instanceof Error ? error.message : String(error);
    this.#tell('away', `Redis does not answer (${reason}); what is used is kept here for a day, and told to it later`);
  }

  #tell(code: StoreNotice['code'], message: string): void {
    try {
      this.#listener?.({ code, message });
    } catch {
      // A listener observes.
    }
  }

  // ---- reading

  async #rowsOf(hour: number, scope: string): Promise<(readonly [string, Counts])[]> {
    const { readClient } = this.#parts;
    const reply = await this.#reading.ask(() => runScript(readClient, READ, [this.#keyOf(hour, scope)], []));
    const rows: (readonly [string, Counts])[] = [];
    const flat = reply as readonly string[];
    for (let at = 0; at + 1 < flat.length; at += 2) rows.push(rowOf(flat[at] as string, flat[at + 1] as string));
    return rows;
  }

  #keyOf(hour: number, scope: string): string {
    return `${this.#tag}u${hour}:${encodeKey(scope)}`;
  }
}

function unread(cause: unknown): SpillwayError {
  return new SpillwayError('SPILLWAY_STORE_AWAY', 'Redis does not answer, and usage is counted there; ask again later', {
    cause,
  });
}

// ---- rows as Redis has them

/** Encoded key, six counts, and the key itself where the encoded one does not tell it. */
const ROW_ARGS = 8;

function argsOf(key: string, { calls, inputTokens, outputTokens, cachedInputTokens, microUsd, answers }: Counts): string[] {
  const field = encodeKey(key);
  const counts = [calls, inputTokens, outputTokens, cachedInputTokens, microUsd, answers].map((count) => String(whole(count)));
  return [field, ...counts, field.startsWith('#') && key.length <= LONGEST_NAME ? JSON.stringify(key) : ''];
}

function rowOf(field: string, value: string): readonly [string, Counts] {
  const [counts = '', ...name] = value.split('|');
  const [calls = 0, inputTokens = 0, outputTokens = 0, cachedInputTokens = 0, microUsd = 0, answers = 0] = counts
    .split(' ')
    .map(Number);
  return [keyOf(field, name.join('|')), { calls, inputTokens, outputTokens, cachedInputTokens, microUsd, answers }];
}

/** What `encodeKey` made the field of. */
function keyOf(field: string, name: string): string {
  if (name !== '') return JSON.parse(name) as string;
  if (field === '%') return '';
  return field.replace(/%u([0-9A-F]{4})|%([0-9A-F]{2})/g, (_, long, short) =>
    String.fromCharCode(Number.parseInt(long ?? short, 16)),
  );
}

/**
 * Adds a batch once. KEYS: number of the last batch of this instance, then one hash for each hour and scope. ARGV: number, how long it is
 * remembered, most keys of a hash, the field of all others; then for each hash how long it stays, how many rows, and the rows.
 */
const TELL = script(`
local call = redis.call
if tonumber(ARGV[1]) <= tonumber(call('GET', KEYS[1]) or '0') then return 0 end
call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
local most, others = tonumber(ARGV[3]), ARGV[4]
local at = 5
for k = 2, #KEYS do
  local key = KEYS[k]
  local ttl, rows = ARGV[at], tonumber(ARGV[at + 1])
  at = at + 2
  local size = call('HLEN', key)
  for _ = 1, rows do
    local field, name = ARGV[at], ARGV[at + 7]
    local old = call('HGET', key, field)
    if not old and size >= most and field ~= others then
      field, name = others, ''
      old = call('HGET', key, field)
    end
    if not old then size = size + 1 end
    local sums, i = {}, 0
    for count in string.gmatch(old and string.match(old, '^[^|]*') or '0 0 0 0 0 0', '%d+') do
      i = i + 1
      sums[i] = string.format('%.0f', tonumber(count) + tonumber(ARGV[at + i]))
    end
    call('HSET', key, field, table.concat(sums, ' ') .. '|' .. (old and string.match(old, '|(.*)$') or name))
    at = at + ${ROW_ARGS}
  end
  call('PEXPIRE', key, ttl)
end
return 1
`);

/** KEYS: the hash of an hour and scope. */
const READ = script(`return redis.call('HGETALL', KEYS[1])`);

function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}
