import { randomInt } from 'node:crypto';
import { type Cancel, type Clock, systemClock } from '../../clock.js';
import { OptionsError, SpillwayError } from '../../errors.js';
import { leaseOf } from '../amounts.js';
import type { Counted } from '../counters.js';
import type { Full, Held, Item, ReserveHow, Store, StoreNotice } from '../store.js';
import { type Breaker, createBreaker } from './breaker.js';
import { checkServer } from './check-server.js';
import type { RedisClient } from './client.js';
import { Debts } from './debts.js';
import { type Adopted, type Answered, createExact, EPOCH, type Exact } from './exact.js';
import { createShares, type Shares } from './shares.js';

export interface RedisStoreOptions {
  /** Stores with the same prefix count together. Names the hash tag of all keys. @defaultValue `'spillway'` */
  readonly prefix?: string;
  /**
   * How long an answer is waited for, in milliseconds, 1 to 10,000; after that the budgets' `onStoreError` decides. The client's own
   * time-outs play no part. @defaultValue 50
   */
  readonly timeoutMs?: number;
  /** At least so many instances are taken to share the limits while Redis is away, 1 to 10,000. @defaultValue 1 */
  readonly expectedInstances?: number;
  /** Asked by snapshots: a replica will do. @defaultValue the client itself */
  readonly readClient?: RedisClient;
  /** Most keys that this instance counts for itself, for the time without Redis, 1 to 10,000,000. @defaultValue 100_000 */
  readonly maxKeys?: number;
  /** For this process. The counts go by the server's time. @defaultValue the machine's clock */
  readonly clock?: Clock;
}

/** Counts in Redis, for all instances of one provider account. */
export interface RedisStore extends Store {
  /** Whether Redis does not answer, and every instance decides for itself. */
  readonly isAway: boolean;
  /** Instances that shared the counts when Redis was last heard. */
  readonly instances: number;
  onNotice(listener: (notice: StoreNotice) => void): void;
}

/** Instances say that they live so often, and count for so long after their last word, in milliseconds. */
const BEAT_MS = 10_000;
const ALIVE_MS = 35_000;
/** Redis is asked again so often while it is away: between this and twice as long, in milliseconds. */
const PROBE_MS = 500;
/** Counters told in one merge. */
const MERGE_SIZE = 200;
/** Reservations told at a time when Redis is back. */
const AT_ONCE = 32;
/** Reservations remembered that Redis has not confirmed, and settled ones that a failover may lose. */
const MOST_UNSURE = 10_000;
const MOST_RECENT = 1_000;
const RECENT_MS = 10_000;

/** A reservation of this instance, and what Redis knows of it. */
interface Own extends Adopted {
  /** `held`: there. `local`: decided here, nobody asked there. `unsure`: asked, and no answer came. */
  state: 'held' | 'local' | 'unsure';
  /** Its amounts have reached Redis, or will, with all that this instance has spent: only the reservation itself is missing there. */
  isCharged: boolean;
  /** What it came to, where Redis has yet to hear it. */
  amounts: readonly number[] | undefined;
  settledAtMs: number;
}

/**
 * Counts in Redis: exactly one script for each decision, all budgets of a call together, by the server's clock. When Redis does not
 * answer in time, each budget's `onStoreError` decides, and what was spent meanwhile is told to Redis once when it is back.
 *
 * The caller makes, connects and closes the client, of ioredis 5 or 6, for a single server, Sentinel or Cluster; keys have one hash tag.
 * @throws {@link OptionsError} with every fault in the options
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): RedisStore {
  const { prefix = 'spillway', timeoutMs = 50, expectedInstances = 1, readClient = client, maxKeys = 100_000 } = options;
  checkOptions(client, { prefix, timeoutMs, expectedInstances, maxKeys, readClient });
  const { clock = systemClock } = options;
  return createRedisStore({ client, prefix, timeoutMs, expectedInstances, readClient, maxKeys, clock });
}

type Parts = Required<RedisStoreOptions> & {
  readonly client: RedisClient;
  /** In the place of the server's time, for tests. */
  readonly serverNow?: () => number;
};

/** The same, of options that were checked. */
export const createRedisStore = (parts: Parts): RedisStore => new OverRedis(parts);

class OverRedis implements RedisStore {
  readonly #parts: Parts;
  readonly #exact: Exact;
  readonly #shares: Shares;
  readonly #breaker: Breaker = createBreaker();
  readonly #debts = new Debts();
  readonly #instance = Math.floor(random() * 36 ** 10).toString(36);
  /** Reservations that are not settled, and settled ones of which Redis has yet to hear. */
  readonly #own = new Map<string, Own>();
  /** Settled a moment ago: a failover may have lost that. */
  #recent: Own[] = [];
  /** Some of them have to be told again. */
  #retold: Own[] = [];
  /** Merges that Redis has not confirmed: each is sent under its name until it does. */
  readonly #merges: { readonly name: string; readonly counted: readonly Counted[] }[] = [];
  #listener: ((notice: StoreNotice) => void) | undefined;
  #hasStarted = false;
  #isClosed = false;
  #instances: number;
  #seq = 0;
  #nextMerge = 0;
  #postponed = 0;
  #stopTimer: Cancel | undefined;
  #mending: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#instances = parts.expectedInstances;
    const now = () => parts.clock.now();
    const newEpoch = () => Math.floor(random() * 2 ** 20);
    this.#exact = createExact({
      client: parts.client,
      readClient: parts.readClient,
      prefix: parts.prefix,
      now,
      newEpoch,
      serverNow: parts.serverNow,
    });
    // By the server's time, as what it is merged into.
    const clock: Clock = { ...parts.clock, now: () => this.#exact.nowMs() };
    this.#shares = createShares(clock, parts.maxKeys);
  }

  get isAway(): boolean {
    return this.#breaker.isOpen;
  }

  get instances(): number {
    return this.#instances;
  }

  async reserve(id: string, items: readonly Item[], how: ReserveHow): Promise<Held | Full> {
    this.#start();
    if (this.#breaker.isOpen) return this.#decide(id, items, how, 'local');
    try {
      const { seq: _, ...decision } = await this.#ask(() => this.#exact.reserve(id, items, how));
      this.#shares.see(items, decision.used);
      if (decision.kind === 'full') return decision;
      if (!this.#own.has(id)) this.#keep(id, items, how, decision.atMs, 'held');
      this.#shares.hold(id, items, how);
      return decision;
    } catch (error) {
      if (this.#isClosed) throw error;
      return this.#decide(id, items, how, 'unsure');
    }
  }

  async settle(id: string, amounts: readonly number[]): Promise<void> {
    this.#shares.settle(id, amounts);
    const own = this.#own.get(id);
    if (own?.amounts) return;
    if (own?.state === 'local') {
      this.#own.delete(id);
      this.#debts.add(own.items, amounts, own.atMs);
      return;
    }
    if (own) {
      own.amounts = amounts;
      own.settledAtMs = this.#exact.nowMs();
    }
    if (this.#breaker.isOpen || own?.state === 'unsure') return this.#postpone(own);
    try {
      await this.#ask(() => this.#exact.settle(id, amounts));
      if (own) this.#settled(own);
    } catch {
      this.#postpone(own);
    }
  }

  async renew(ids: readonly string[], leaseMs: number): Promise<void> {
    this.#shares.renew(ids, leaseMs);
    if (this.#breaker.isOpen) return;
    const renewing = async () => {
      await this.#exact.renew(ids, leaseMs);
      return undefined;
    };
    await this.#ask(renewing).catch(() => {});
  }

  async peek(items: readonly Pick<Item, 'counter' | 'window'>[]): Promise<readonly number[]> {
    if (this.#breaker.isOpen) return this.#shares.peek(items);
    try {
      return await this.#within(this.#exact.peek(items));
    } catch {
      return this.#shares.peek(items);
    }
  }

  onNotice(listener: (notice: StoreNotice) => void): void {
    this.#listener = listener;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  /** Decides without Redis. `unsure`: it was asked, and may have held the id or hold it yet. */
  async #decide(id: string, items: readonly Item[], how: ReserveHow, state: 'local' | 'unsure'): Promise<Held | Full> {
    const known = this.#own.get(id);
    const decision = await this.#shares.reserve(id, items, how, this.#instances);
    if (!known && (decision?.kind === 'held' || state === 'unsure')) {
      const own = this.#keep(id, items, how, this.#exact.nowMs(), state);
      if (decision?.kind !== 'held') {
        // Should it be held there, it is given back.
        own.amounts = items.map(() => 0);
        this.#postpone(own);
      }
    }
    if (decision) return decision;
    throw new SpillwayError('SPILLWAY_STORE_AWAY', 'Redis does not answer, and a budget of this call is closed without it');
  }

  #keep(id: string, items: readonly Item[], how: ReserveHow, atMs: number, state: Own['state']): Own {
    const own: Own = {
      id,
      items,
      leaseMs: leaseOf(how.leaseMs),
      atMs,
      state,
      isCharged: false,
      amounts: undefined,
      settledAtMs: 0,
    };
    this.#own.set(id, own);
    return own;
  }

  /** What Redis has to hear later: a settlement of something that it holds, or may hold. */
  #postpone(own: Own | undefined): void {
    if (!own) return;
    own.state = 'unsure';
    this.#postponed++;
    if (this.#postponed > MOST_UNSURE) this.#forgetOldest();
    if (!this.#breaker.isOpen) this.#schedule(PROBE_MS);
  }

  /** Leases and windows end by themselves: what is forgotten stays charged for as long, which is too strict and never too lax. */
  #forgetOldest(): void {
    for (const [id, own] of this.#own) {
      if (!own.amounts) continue;
      this.#own.delete(id);
      this.#postponed--;
      return;
    }
  }

  #settled(own: Own): void {
    this.#own.delete(own.id);
    this.#recent.push(own);
    const oldestMs = this.#exact.nowMs() - RECENT_MS;
    while (this.#recent.length > MOST_RECENT || (this.#recent[0] && this.#recent[0].settledAtMs < oldestMs)) this.#recent.shift();
  }

  // ---- asking

  /** Asks Redis, in time, and listens to what its answer says of the counts. */
  async #ask<T extends Partial<Answered> | undefined>(command: () => Promise<T>): Promise<T> {
    const seenSeq = this.#seq;
    try {
      const answer = await this.#within(command());
      this.#breaker.succeeded(this.#parts.clock.now());
      this.#hear(answer?.seq, seenSeq);
      return answer;
    } catch (error) {
      this.#failed(error);
      throw error;
    }
  }

  #within<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const { clock, timeoutMs } = this.#parts;
      const stop = clock.after(timeoutMs, () => reject(new Error(`Redis did not answer within ${timeoutMs} ms`)), true);
      answer.then(
        (value) => {
          stop();
          resolve(value);
        },
        (error) => {
          stop();
          reject(error);
        },
      );
    });
  }

  #failed(error: unknown): void {
    if (!this.#breaker.failed(this.#parts.clock.now()) || this.#isClosed) return;
    const reason = error instanceof Error ? error.message : String(error);
    this.#tell('away', `Redis does not answer (${reason}); each instance decides by the onStoreError of its budgets`);
    this.#schedule(PROBE_MS * (1 + random()));
  }

  /** @param seenSeq - what was known before the command was sent: less can only be told by counts that have forgotten */
  #hear(seq: number | undefined, seenSeq: number): void {
    if (seq === undefined) return;
    const isLost = seenSeq > 0 && (seq < seenSeq || epochOf(seq) !== epochOf(seenSeq));
    // Another answer may have told of the loss already.
    if (isLost && this.#seq >= seenSeq && epochOf(this.#seq) === epochOf(seenSeq)) {
      const hasLostAll = epochOf(seq) !== epochOf(seenSeq);
      this.#seq = seq;
      if (hasLostAll) this.#tellAllAnew();
      else this.#tellRecentAnew();
      this.#mend().catch((error) => this.#failed(error));
    } else if (!isLost) this.#seq = Math.max(this.#seq, seq);
  }

  // ---- mending

  #start(): void {
    if (this.#hasStarted || this.#isClosed) return;
    this.#hasStarted = true;
    checkServer(this.#parts.client).then(
      (faults) => {
        for (const fault of faults) this.#tell('setting', fault);
      },
      () => {},
    );
    void this.#beat().catch(() => {});
    this.#schedule(BEAT_MS);
  }

  #schedule(ms: number): void {
    if (this.#isClosed) return;
    this.#stopTimer?.();
    this.#stopTimer = this.#parts.clock.after(ms, () => {
      this.#stopTimer = undefined;
      void this.#tick();
    });
  }

  async #tick(): Promise<void> {
    const wasAway = this.#breaker.isOpen;
    try {
      await this.#beat();
      await this.#mend();
      if (wasAway) {
        this.#breaker.close();
        this.#shares.forgetGrants();
        this.#tell('back', 'Redis answers again, and was told what was spent without it');
        // What was decided while it was being told.
        await this.#mend();
      }
    } catch (error) {
      if (!wasAway) this.#failed(error);
    }
    if (this.#breaker.isOpen) this.#schedule(PROBE_MS * (1 + random()));
    else this.#schedule(this.#hasMore ? PROBE_MS : BEAT_MS);
  }

  async #beat(): Promise<void> {
    const seenSeq = this.#seq;
    const { instances, seq } = await this.#within(this.#exact.beat(this.#instance, ALIVE_MS));
    this.#instances = Math.max(this.#parts.expectedInstances, instances);
    this.#hear(seq, seenSeq);
  }

  /** The counts begin anew: everything that this instance has spent has to be told. Now, before anything new is among it. */
  #tellAllAnew(): void {
    this.#tell('lost', 'Redis has lost its counts; what this instance spent is told to it anew');
    this.#debts.clear();
    this.#merges.length = 0;
    this.#retold = [];
    const counted = [...this.#shares.counted()];
    for (let at = 0; at < counted.length; at += MERGE_SIZE) this.#addMerge(counted.slice(at, at + MERGE_SIZE));
    for (const own of this.#own.values()) {
      own.state = 'unsure';
      own.isCharged = true;
    }
  }

  /** The counts went back a little, as when a replica takes over that had not heard everything. */
  #tellRecentAnew(): void {
    this.#tell('lost', 'Redis has lost its last moments; what this instance did in them is told to it anew');
    this.#retold = [...this.#recent];
    for (const own of this.#own.values()) own.state = own.state === 'held' ? 'unsure' : own.state;
  }

  #addMerge(counted: readonly Counted[]): void {
    if (counted.length > 0) this.#merges.push({ name: `${this.#instance}-${this.#nextMerge++}`, counted });
  }

  get #hasMore(): boolean {
    return this.#postponed > 0 || this.#debts.size > 0 || this.#merges.length > 0 || this.#retold.length > 0;
  }

  /** Tells Redis what it does not know yet. One after the other: nothing is told twice. */
  #mend(): Promise<void> {
    const mending = (this.#mending ?? Promise.resolve()).then(() => this.#tellRest());
    this.#mending = mending.catch(() => {});
    return mending;
  }

  async #tellRest(): Promise<void> {
    while (this.#debts.size > 0) this.#addMerge(this.#debts.take(MERGE_SIZE));
    for (let next = this.#merges[0]; next; next = this.#merges[0]) {
      const { name, counted } = next;
      await this.#patiently(() => this.#exact.merge(name, counted));
      // It may have been dropped meanwhile: what all had to be told anew is in others.
      if (this.#merges[0] === next) this.#merges.shift();
    }
    const retold = this.#retold;
    this.#retold = [];
    await inTurns(retold, (own) => this.#retell(own));
    const unknown = [...this.#own.values()].filter(({ state }) => state !== 'held');
    await inTurns(unknown, (own) => this.#adopt(own));
  }

  /** Makes Redis know a reservation, and how it was settled. */
  async #adopt(own: Own): Promise<void> {
    // From now on its settlement has to find it there.
    own.state = 'unsure';
    await this.#patiently(() => this.#exact.adopt(own, own.isCharged));
    const { amounts } = own;
    if (!amounts) {
      own.state = 'held';
      return;
    }
    await this.#patiently(() => this.#exact.settle(own.id, amounts));
    if (this.#own.delete(own.id)) this.#postponed = Math.max(0, this.#postponed - 1);
  }

  async #retell(own: Own): Promise<void> {
    const { id, amounts } = own;
    await this.#patiently(() => this.#exact.adopt(own, false));
    if (amounts) await this.#patiently(() => this.#exact.settle(id, amounts));
  }

  /** Mending is nobody's request: it may take longer than one. */
  async #patiently<T>(command: () => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries++) {
      try {
        return await this.#within(command());
      } catch (error) {
        if (tries === 2) throw error;
      }
    }
  }

  #tell(code: StoreNotice['code'], message: string): void {
    try {
      this.#listener?.({ code, message });
    } catch {
      // A listener observes.
    }
  }
}

/** From 0 to 1. Nobody has to be able to repeat it, and instances must not agree. */
const random = (): number => randomInt(2 ** 32) / 2 ** 32;

const epochOf = (seq: number): number => Math.floor(seq / EPOCH);

async function inTurns<T>(all: readonly T[], each: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += AT_ONCE) await Promise.all(all.slice(at, at + AT_ONCE).map(each));
}

function checkOptions(
  client: RedisClient,
  { prefix, timeoutMs, expectedInstances, maxKeys, readClient }: Omit<Parts, 'client' | 'clock'>,
): void {
  const faults: string[] = [];
  const isClient = (given: unknown) => typeof (given as RedisClient | undefined)?.evalsha === 'function';
  if (!isClient(client))
    faults.push('redisStore(client) needs a client with evalsha and eval; give one like new Redis(url) of ioredis');
  if (!isClient(readClient)) faults.push('readClient must be a client like the first; leave it out to ask that one');
  if (typeof prefix !== 'string' || !/^[\x21-\x7a|~]{1,64}$/.test(prefix))
    faults.push('prefix must be 1 to 64 characters of printable ASCII without spaces and braces; give one like "chat"');
  const number = (name: string, value: number, most: number) => {
    if (!Number.isInteger(value) || value < 1 || value > most)
      faults.push(`${name} must be a whole number from 1 to ${most.toLocaleString('en-US')}, got ${String(value)}`);
  };
  number('timeoutMs', timeoutMs, 10_000);
  number('expectedInstances', expectedInstances, 10_000);
  number('maxKeys', maxKeys, 10_000_000);
  if (faults.length > 0) throw new OptionsError(faults);
}
