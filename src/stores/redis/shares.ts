import type { Clock } from '../../clock.js';
import type { Counted } from '../counters.js';
import { InMemory } from '../memory.js';
import type { Full, Held, Item, ReserveHow } from '../store.js';

/**
 * What this instance itself has spent and is spending, counted at all times, and decisions by it alone: its share of each limit.
 * While Redis answers it only listens, so that the share holds from the first moment without it.
 */
export interface Shares {
  /** Notes what was decided elsewhere. */
  hold(id: string, items: readonly Item[], how: ReserveHow): void;
  /** Decides by the share of this instance; `undefined`: a budget among these is closed without the common counts. */
  reserve(id: string, items: readonly Item[], how: ReserveHow, instances: number): Promise<Held | Full | undefined>;
  settle(id: string, amounts: readonly number[]): void;
  renew(ids: readonly string[], leaseMs: number): void;
  peek(items: readonly Pick<Item, 'counter' | 'window'>[]): Promise<readonly number[]>;
  /** What the common counts last told of money budgets: how much of them was left. */
  see(items: readonly Item[], used: readonly number[]): void;
  /** The common counts answer again: what was granted on the strength of the last look is void. */
  endGrants(): void;
  /** All that this instance has spent inside the windows that run now, without what these reservations hold. */
  counted(isApart: (id: string) => boolean): Iterable<Counted>;
  /** What a reservation of this instance holds now; `undefined` once it is settled or forgotten. */
  holding(id: string): readonly number[] | undefined;
}

/** What may be spent of a counter on the strength of the last look: from this sum of our own to that one. */
interface Grant {
  readonly item: Item;
  readonly from: number;
  readonly until: number;
}

/** Counters whose last state is remembered. */
const MOST_SEEN = 10_000;
/** Part of a share of what was last left that is granted without the common counts. */
const LAST_SEEN_RATIO = 0.5;
/** What a caller is told to wait for what would fit into the whole limit, in milliseconds: the common counts may be back then. */
const AWAY_WAIT_MS = 1_000;

export function createShares(clock: Clock, maxKeys: number): Shares {
  const own = new InMemory(clock, maxKeys);
  /** What was left of a counter when it was last seen, and in this outage the sum up to which it may be used. */
  const left = new Map<string, number>();
  const grants = new Map<string, Grant>();

  /** The item as this instance may decide about it; `undefined`: not at all. */
  async function shareOf(item: Item, instances: number): Promise<Item | undefined> {
    if (item.onStoreError === 'closed') return undefined;
    if (item.onStoreError === 'open' || item.refuseAt === Infinity) return { ...item, refuseAt: Infinity };
    if (item.onStoreError === 'last-seen') {
      const until = await grantOf(item, instances);
      return until === undefined ? undefined : { ...item, refuseAt: Math.min(item.refuseAt, until) };
    }
    // A share of less than one would be none at all.
    const share = (whole: number) => (whole === 0 ? 0 : Math.max(1, Math.floor(whole / instances)));
    return { ...item, limit: share(item.limit), refuseAt: share(item.refuseAt) };
  }

  async function grantOf(item: Item, instances: number): Promise<number | undefined> {
    const name = nameOf(item);
    const granted = grants.get(name);
    if (granted !== undefined) return granted.until;
    const rest = left.get(name);
    if (rest === undefined) return undefined;
    const [from = 0] = await own.peek([item]);
    const until = from + Math.floor((rest / instances) * LAST_SEEN_RATIO);
    grants.set(name, { item, from, until });
    return until;
  }

  /** Ends a grant. What was spent of it is no longer left, whether or not the counter is seen again before the next outage. */
  async function endGrant(name: string, { item, from }: Grant): Promise<void> {
    grants.delete(name);
    const [until = 0] = await own.peek([item]);
    left.set(name, Math.max(0, (left.get(name) ?? 0) - Math.max(0, until - from)));
  }

  return {
    hold(id, items, how) {
      // The pace is set by the common counts.
      own.hold(id, items.some(({ paced }) => paced) ? items.map((item) => ({ ...item, paced: false })) : items, how);
    },
    async reserve(id, items, how, instances) {
      const shared: Item[] = [];
      for (const item of items) {
        const share = await shareOf(item, instances);
        if (!share) return undefined;
        shared.push(share);
      }
      const decision = await own.reserve(id, shared, how);
      // Told as if the others had used the rest: what is left is what is left of the share.
      const used = decision.used.map((sum, index) => {
        const { limit, refuseAt } = items[index] as Item;
        const share = (shared[index] as Item).refuseAt;
        return refuseAt === Infinity || share === Infinity ? sum : Math.max(0, limit - Math.max(0, share - sum));
      });
      if (decision.kind === 'held') return { ...decision, used };
      const full = decision.full.map(({ index, waitMs }) => {
        const { amount, refuseAt } = items[index] as Item;
        return { index, waitMs: waitMs === Infinity && amount <= refuseAt ? AWAY_WAIT_MS : waitMs };
      });
      return { ...decision, used, full };
    },
    settle: (id, amounts) => void own.settle(id, amounts),
    renew: (ids, leaseMs) => void own.renew(ids, leaseMs),
    peek: (items) => own.peek(items),
    see(items, used) {
      items.forEach((item, index) => {
        if (item.onStoreError !== 'last-seen') return;
        const name = nameOf(item);
        grants.delete(name);
        // The one seen longest ago goes first.
        if (!left.delete(name) && left.size >= MOST_SEEN) left.delete(left.keys().next().value as string);
        left.set(name, Math.max(0, item.limit - (used[index] ?? 0)));
      });
    },
    endGrants: () => void Promise.all([...grants].map(([name, grant]) => endGrant(name, grant))),
    counted: (isApart) => own.counted(isApart),
    holding: (id) => own.holding(id),
  };
}

/** What a counter is known by: one counter name may be in several windows. */
function nameOf({ counter, window }: Item): string {
  return window.kind === 'sliding' ? `${window.ms} ${counter}` : `${Object.values(window).join(' ')} ${counter}`;
}
