import type { Counted } from '../counters.js';
import type { Item } from '../store.js';
import { Debts } from './debts.js';
import type { Adopted, Exact } from './exact.js';
import type { Link, Loss } from './link.js';
import type { Shares } from './shares.js';

/** A reservation of this instance, and what Redis knows of it. */
export interface Own extends Adopted {
  /** Whether Redis holds it. `unsure`: it was asked, and no answer came. */
  readonly isThere: 'yes' | 'no' | 'unsure';
  /** What it draws on without Redis having heard. */
  readonly from: string | undefined;
}

/** One that is settled. */
export interface Ended extends Own {
  readonly amounts: readonly number[];
  readonly endedAtMs: number;
}

interface Merge {
  readonly name: string;
  readonly counted: readonly Counted[];
  toldAtMs: number;
}

/** Counters told in one merge. */
const MERGE_SIZE = 200;
/** Reservations told at a time. */
const AT_ONCE = 32;
/** Reservations renewed in one command. */
const RENEW_SIZE = 200;
/** Settlements remembered that Redis has not heard. */
const MOST_OWED = 10_000;
/** What was told so lately may be lost when a replica takes over, or a server comes back from its file. */
const MOST_RECENT = 5_000;
const RECENT_MS = 30_000;
/** Reservations looked at for each new one: those that were never settled are forgotten. */
const LOOKS = 2;

/**
 * Knows what this instance holds, and what Redis has yet to hear of it; and tells it, each thing once: reservations and settlements
 * by their ids, all else in merges that have names.
 */
export class Mender {
  readonly #exact: Exact;
  readonly #link: Link;
  readonly #shares: Shares;
  readonly #instance: string;
  readonly #live = new Map<string, Own>();
  readonly #owed = new Map<string, Ended>();
  readonly #debts = new Debts();
  #merges: Merge[] = [];
  /** Told a moment ago. */
  #recentEnds: Ended[] = [];
  #recentMerges: Merge[] = [];
  #nextMerge = 0;
  #round: MapIterator<[string, Own]> | undefined;
  #mending: Promise<void> | undefined;

  constructor(exact: Exact, link: Link, shares: Shares, instance: string) {
    this.#exact = exact;
    this.#link = link;
    this.#shares = shares;
    this.#instance = instance;
  }

  get hasMore(): boolean {
    return this.#owed.size > 0 || this.#debts.size > 0 || this.#merges.length > 0 || this.#lacking().length > 0;
  }

  /** Reservations and settlements that are remembered. */
  get size(): number {
    return this.#live.size + this.#owed.size;
  }

  /** A reservation that holds from now on, unless it is settled already. */
  keep(own: Own): void {
    if (this.#live.has(own.id) || !this.#shares.holding(own.id)) return;
    const source = own.from === undefined ? undefined : this.#live.get(own.from);
    // What it takes from one that Redis does not hold yet, that one will never have held there, but what that one draws on may.
    const from = own.isThere === 'yes' ? undefined : source?.isThere === 'yes' ? own.from : source?.from;
    this.#live.set(own.id, { ...own, from });
    this.#tidy();
  }

  /** @returns the reservation, settled; `undefined` when it is none of ours */
  end(id: string, amounts: readonly number[]): Ended | undefined {
    const own = this.#live.get(id);
    this.#live.delete(id);
    return own && { ...own, amounts, endedAtMs: this.#exact.nowMs() };
  }

  owes(id: string): boolean {
    return this.#owed.has(id);
  }

  /** Redis has to hear of a settlement later. */
  owe(ended: Ended): void {
    if (ended.isThere === 'no') {
      this.#debts.add(ended.items, ended.amounts, ended.atMs);
      return;
    }
    this.#owed.set(ended.id, ended);
    if (this.#owed.size > MOST_OWED) this.#giveUp(this.#owed.values().next().value as Ended);
  }

  /** Redis has heard of a settlement. */
  told(ended: Ended): void {
    this.#recentEnds.push(ended);
    const sinceMs = this.#exact.nowMs() - RECENT_MS;
    if (this.#recentEnds.length > 2 * MOST_RECENT) this.#recentEnds = this.#recentEnds.slice(-MOST_RECENT);
    if ((this.#recentEnds[0]?.endedAtMs ?? Infinity) < sinceMs - RECENT_MS)
      this.#recentEnds = this.#recentEnds.filter(({ endedAtMs }) => endedAtMs >= sinceMs);
  }

  /** @returns those of the ids that Redis may hold */
  renewed(ids: readonly string[], leaseMs: number): string[] {
    const leaseEndMs = this.#exact.nowMs() + leaseMs;
    return ids.filter((id) => {
      const own = this.#live.get(id);
      if (own) this.#live.set(id, { ...own, leaseEndMs });
      return own?.isThere !== 'no';
    });
  }

  /** Redis has lost something: it is to be told anew. Decided now, before anything new is among it. */
  lost(loss: Loss): void {
    if (loss === 'all') this.#tellAllAnew();
    else this.#tellRecentAnew();
    for (const [id, own] of this.#live) {
      const held = loss === 'all' ? (this.#shares.holding(id) ?? own.held) : own.held;
      this.#live.set(id, { ...own, held, from: undefined, isThere: own.isThere === 'no' ? 'no' : 'unsure' });
    }
  }

  /** Tells Redis what it does not know yet. One round after the other: nothing is told twice. */
  mend(): Promise<void> {
    const mending = (this.#mending ?? Promise.resolve()).then(() => this.#tellRest());
    this.#mending = mending.catch(() => {});
    return mending;
  }

  /** Prolongs in Redis what nobody could prolong there for a while. */
  async renewAll(): Promise<void> {
    const nowMs = this.#exact.nowMs();
    const byLease = new Map<number, string[]>();
    for (const { id, leaseMs, leaseEndMs, isThere } of this.#live.values())
      if (isThere === 'yes' && leaseEndMs > nowMs) byLease.set(leaseMs, [...(byLease.get(leaseMs) ?? []), id]);
    for (const [leaseMs, ids] of byLease) await this.renew(ids, leaseMs);
  }

  async renew(ids: readonly string[], leaseMs: number): Promise<void> {
    for (let at = 0; at < ids.length; at += RENEW_SIZE)
      await this.#link.inTime(this.#exact.renew(ids.slice(at, at + RENEW_SIZE), leaseMs));
  }

  // ---- what there is to tell

  #lacking(): Own[] {
    return [...this.#live.values()].filter(({ isThere }) => isThere !== 'yes');
  }

  /** All that was spent is counted here too, so that is told; reservations that go on are told by themselves. */
  #tellAllAnew(): void {
    this.#debts.clear();
    this.#merges = [];
    this.#recentEnds = [];
    this.#recentMerges = [];
    this.#addMerges([...this.#shares.counted((id) => this.#live.has(id))]);
    // What these came to is in the merges. Should Redis have heard the reservation since, it is taken back there.
    for (const [id, ended] of this.#owed)
      if (ended.items.length > 0) this.#owed.set(id, { ...ended, isThere: 'yes', amounts: ended.items.map(() => 0) });
  }

  #tellRecentAnew(): void {
    const sinceMs = this.#exact.nowMs() - RECENT_MS;
    for (const ended of this.#recentEnds) {
      if (ended.endedAtMs >= sinceMs && ended.items.length > 0)
        this.#owed.set(ended.id, { ...ended, from: undefined, isThere: 'unsure' });
    }
    for (const [id, ended] of this.#owed)
      if (ended.isThere === 'yes' && ended.items.length > 0) this.#owed.set(id, { ...ended, isThere: 'unsure' });
    this.#merges.push(...this.#recentMerges.filter(({ toldAtMs }) => toldAtMs >= sinceMs));
    this.#recentEnds = [];
    this.#recentMerges = [];
  }

  #addMerges(counted: readonly Counted[]): void {
    for (let at = 0; at < counted.length; at += MERGE_SIZE) {
      const name = `${this.#instance}-${this.#nextMerge++}`;
      this.#merges.push({ name, counted: counted.slice(at, at + MERGE_SIZE), toldAtMs: 0 });
    }
  }

  /** One too many. What Redis holds stays charged as it was held; what it may not hold is charged in any case, rather twice than never. */
  #giveUp(ended: Ended): void {
    this.#owed.delete(ended.id);
    if (ended.isThere === 'unsure') this.#debts.add(ended.items, ended.amounts, ended.atMs);
  }

  /** Forgets a few of those that were never settled, once they have neither lease nor refund left. Their charges stay. */
  #tidy(): void {
    for (let look = 0; look < LOOKS; look++) {
      this.#round ??= this.#live.entries();
      const { value, done } = this.#round.next();
      if (done) {
        this.#round = undefined;
        return;
      }
      const [id, own] = value;
      if (own.isThere === 'unsure' || this.#shares.holding(id)) continue;
      this.#live.delete(id);
      if (own.isThere === 'no') this.#debts.add(own.items, own.held, own.atMs);
    }
  }

  // ---- telling

  async #tellRest(): Promise<void> {
    while (this.#debts.size > 0) this.#addMerges(this.#debts.take(MERGE_SIZE));
    for (let next = this.#merges[0]; next; next = this.#merges[0]) await this.#tellMerge(next);
    await inTurns(this.#lacking(), (own) => this.#tellOwn(own.id));
    await inTurns([...this.#owed.values()], (ended) => this.#tellEnd(ended.id));
  }

  async #tellMerge(merge: Merge): Promise<void> {
    await this.#link.tell((epoch) => this.#exact.merge(merge.name, merge.counted, epoch));
    merge.toldAtMs = this.#exact.nowMs();
    this.#recentMerges.push(merge);
    const sinceMs = merge.toldAtMs - RECENT_MS;
    this.#recentMerges = this.#recentMerges.filter(({ toldAtMs }) => toldAtMs >= sinceMs);
    // It may have been dropped meanwhile: what all had to be told anew is in others.
    if (this.#merges[0] === merge) this.#merges.shift();
  }

  async #tellOwn(id: string): Promise<void> {
    const own = this.#live.get(id);
    if (!own) return;
    // A settlement that comes while this is on its way has to know that it may be there.
    this.#live.set(id, { ...own, isThere: 'unsure' });
    const held = this.#shares.holding(id) ?? own.held;
    if (own.from === undefined) await this.#adopt({ ...own, held });
    else await this.#draw({ ...own, held });
    const still = this.#live.get(id);
    if (still) this.#live.set(id, { ...still, from: undefined, isThere: 'yes' });
    const ended = this.#owed.get(id);
    if (ended) this.#owed.set(id, { ...ended, isThere: 'yes' });
  }

  async #tellEnd(id: string): Promise<void> {
    const ended = this.#owed.get(id);
    if (!ended) return;
    // One that came to nothing needs only be known as settled.
    if (ended.isThere === 'unsure' && ended.amounts.some((amount) => amount > 0)) await this.#adopt(ended);
    const current = this.#owed.get(id) ?? ended;
    await this.#link.tell(() => this.#exact.settle(id, current.amounts));
    // It may have to be told anew meanwhile.
    if (this.#owed.get(id) !== current) return;
    this.#owed.delete(id);
    this.told(current);
  }

  async #draw({ id, items, held, from, leaseMs }: Own): Promise<void> {
    const all = items.map((item, index) => unlimited(item, held[index] ?? 0));
    await this.#link.tell(() => this.#exact.reserve(id, all, { from, leaseMs }));
  }

  async #adopt(adopted: Adopted): Promise<void> {
    await this.#link.tell((epoch) => this.#exact.adopt(adopted, epoch));
  }
}

/** As it is reserved where no limit counts. */
const unlimited = (item: Item, amount: number): Item => ({ ...item, amount, refuseAt: Infinity, paced: false });

async function inTurns<T>(all: readonly T[], each: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += AT_ONCE) await Promise.all(all.slice(at, at + AT_ONCE).map(each));
}
