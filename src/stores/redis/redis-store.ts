import { type Clock, systemClock } from '../../clock.js';
import { OptionsError, SpillwayError } from '../../errors.js';
import { leaseOf, whole } from '../amounts.js';
import type { Full, Held, Item, ReserveHow, Store, StoreNotice } from '../store.js';
import { clientFault, numberFault, prefixFault } from './check-options.js';
import type { RedisClient } from './client.js';
import { createExact, type Exact } from './exact.js';
import { Link } from './link.js';
import { type Ended, Mender, type Own } from './mender.js';
import { createShares, type Shares } from './shares.js';
import { random, Upkeep } from './upkeep.js';

export interface RedisStoreOptions {
  /** Stores with the same prefix count together. Names the hash tag of all keys. @defaultValue `'spillway'` */
  readonly prefix?: string;
  /**
   * How long an answer is waited for, in milliseconds, 1 to 10,000; after that the budgets' `onStoreError` decides. What the process
   * itself does meanwhile does not count: an answer that has arrived is heard. The client's own time-outs play no part. @defaultValue 50
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
  /** Whether every instance decides for itself: Redis does not answer, or has yet to hear what was spent without it. */
  readonly isAway: boolean;
  /** Instances that shared the counts when Redis was last heard. */
  readonly instances: number;
  onNotice(listener: (notice: StoreNotice) => void): void;
}

/** Longest wait for a connection before the first request, in milliseconds. */
const READY_MS = 3_000;
/**
 * Counts in Redis: one script decides all budgets of a call together, by the server's clock. When Redis does not
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
  readonly #exact: Exact;
  readonly #shares: Shares;
  readonly #link: Link;
  readonly #mender: Mender;
  readonly #instance = Math.floor(random() * 36 ** 10).toString(36);
  #listener: ((notice: StoreNotice) => void) | undefined;
  readonly #upkeep: Upkeep;
  #isClosed = false;

  constructor(parts: Parts) {
    const { clock, client, readClient, prefix, timeoutMs, expectedInstances, serverNow } = parts;
    const newEpoch = () => Math.floor(random() * 2 ** 20);
    this.#exact = createExact({ client, readClient, prefix, now: () => clock.now(), newEpoch, serverNow });
    // By the server's time, as what it is merged into.
    this.#shares = createShares({ ...clock, now: () => this.#exact.nowMs() }, parts.maxKeys);
    this.#link = new Link({
      clock,
      timeoutMs,
      onLoss: (loss) => this.#upkeep.lost(loss),
      onFailure: (error, isLast) => this.#upkeep.failed(error, isLast),
    });
    this.#mender = new Mender(this.#exact, this.#link, this.#shares, this.#instance);
    this.#upkeep = new Upkeep({
      client,
      clock,
      expectedInstances,
      instance: this.#instance,
      exact: this.#exact,
      link: this.#link,
      mender: this.#mender,
      shares: this.#shares,
      tell: (code, message) => this.#tell(code, message),
    });
  }

  get isAway(): boolean {
    return this.#upkeep.isAway;
  }

  get instances(): number {
    return this.#upkeep.instances;
  }

  /** Connects, and makes Redis know the scripts: the first decisions would otherwise take longer than anybody waits. */
  async ready(): Promise<void> {
    this.#upkeep.start();
    const id = `ready-${this.#instance}`;
    const warm = async () => {
      await this.#exact.reserve(id, [], { leaseMs: 0 });
      await this.#exact.settle(id, []);
    };
    await this.#link.inTime(warm(), READY_MS).catch(() => {});
  }

  async reserve(id: string, items: readonly Item[], how: ReserveHow): Promise<Held | Full> {
    this.#upkeep.start();
    if (this.isAway) return this.#decide(id, items, how, 'no');
    try {
      const { seq, ...decision } = await this.#link.ask(() => this.#exact.reserve(id, items, how));
      // Counts that were lost show too much of what is left.
      if (!this.isAway) this.#shares.see(items, decision.used);
      if (decision.kind === 'held') {
        this.#shares.hold(id, items, how);
        this.#keep(id, items, how, decision.atMs, this.#link.isOfNow(seq) ? 'yes' : 'unsure');
      }
      return decision;
    } catch (error) {
      if (this.#isClosed) throw error;
      return this.#decide(id, items, how, 'unsure');
    }
  }

  async settle(id: string, amounts: readonly number[]): Promise<void> {
    const ended = this.#mender.end(id, amounts) ?? this.#ofOthers(id, amounts);
    this.#shares.settle(id, amounts);
    if (!ended) return;
    if (this.isAway || ended.isThere !== 'yes') return this.#owe(ended);
    try {
      await this.#link.ask(() => this.#exact.settle(id, amounts));
      this.#mender.told(ended);
    } catch {
      this.#owe(ended);
    }
  }

  async renew(ids: readonly string[], leaseMs: number): Promise<void> {
    this.#shares.renew(ids, leaseMs);
    const there = this.#mender.renewed(ids, leaseOf(leaseMs));
    if (this.isAway || there.length === 0) return;
    const renewing = async () => {
      await this.#mender.renew(there, leaseMs);
      return undefined;
    };
    await renewing().catch((error) => this.#link.failed(error));
  }

  async peek(items: readonly Pick<Item, 'counter' | 'window'>[]): Promise<readonly number[]> {
    if (this.isAway) return this.#shares.peek(items);
    try {
      return await this.#link.inTime(this.#exact.peek(items));
    } catch {
      return this.#shares.peek(items);
    }
  }

  onNotice(listener: (notice: StoreNotice) => void): void {
    this.#listener = listener;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#upkeep.close();
    // Nobody else will tell it; what does not get through stays charged as it was held.
    if (!this.isAway && this.#mender.hasMore) await this.#mender.mend().catch(() => {});
  }

  /** Decides without Redis. `unsure`: it was asked, and may have held the id or hold it yet. */
  async #decide(id: string, items: readonly Item[], how: ReserveHow, isThere: 'no' | 'unsure'): Promise<Held | Full> {
    const decision = await this.#shares.reserve(id, items, how, this.instances);
    const atMs = this.#exact.nowMs();
    if (decision?.kind === 'held') this.#keep(id, items, how, atMs, isThere);
    else if (isThere === 'unsure') {
      // Should it be held there, it is given back.
      this.#owe({ ...ownOf(id, items, how, atMs, isThere), amounts: items.map(() => 0), endedAtMs: atMs });
    }
    if (decision) return decision;
    throw new SpillwayError('SPILLWAY_STORE_AWAY', 'Redis does not answer, and a budget of this call is closed without it');
  }

  #keep(id: string, items: readonly Item[], how: ReserveHow, atMs: number, isThere: Own['isThere']): void {
    this.#mender.keep(ownOf(id, items, how, atMs, isThere));
    if (isThere !== 'yes') this.#upkeep.soon();
  }

  #owe(ended: Ended): void {
    this.#mender.owe(ended);
    this.#upkeep.soon();
  }

  /** A settlement of what another instance holds; `undefined`: it is settled already, or nothing that Redis must hear. */
  #ofOthers(id: string, amounts: readonly number[]): Ended | undefined {
    if (this.#mender.owes(id)) return undefined;
    // A reservation that was refused for want of an answer is made sure of like this: it would be one of each request.
    if (this.isAway && amounts.every((amount) => !(amount > 0))) return undefined;
    const nowMs = this.#exact.nowMs();
    return { ...ownOf(id, [], { leaseMs: 0 }, nowMs, 'yes'), amounts, endedAtMs: nowMs };
  }

  #tell(code: StoreNotice['code'], message: string): void {
    try {
      this.#listener?.({ code, message });
    } catch {
      // A listener observes.
    }
  }
}

function ownOf(id: string, items: readonly Item[], how: ReserveHow, atMs: number, isThere: Own['isThere']): Own {
  const leaseMs = leaseOf(how.leaseMs);
  const held = items.map(({ amount }) => whole(amount));
  return { id, items, held, leaseMs, leaseEndMs: atMs + leaseMs, atMs, from: how.from, isThere };
}

function checkOptions(
  client: RedisClient,
  { prefix, timeoutMs, expectedInstances, maxKeys, readClient }: Omit<Parts, 'client' | 'clock'>,
): void {
  const faults = [
    clientFault('redisStore(client)', client),
    clientFault('readClient', readClient),
    prefixFault(prefix),
    numberFault('timeoutMs', timeoutMs, 10_000),
    numberFault('expectedInstances', expectedInstances, 10_000),
    numberFault('maxKeys', maxKeys, 10_000_000),
  ].filter((fault) => fault !== undefined);
  if (faults.length > 0) throw new OptionsError(faults);
}
