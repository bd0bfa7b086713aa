import type { Charge } from '../../src/call.js';
import { memoryStore } from '../../src/stores/memory.js';
import type { Store } from '../../src/stores/store.js';

/** A store that remembers what it was asked, so that a test can look at every counter and every settlement. */
export interface Books {
  readonly store: Store;
  /** What each counter holds now, as `scope key dimension`; counters that hold nothing are left out. */
  sums(): Promise<Readonly<Record<string, number>>>;
  /** Reservations that were held and not settled. */
  readonly open: number;
  /** How often each reservation was settled, in the order they were made. */
  readonly settlements: readonly number[];
}

export function createBooks(inner: Store = memoryStore()): Books {
  const counters = new Map<string, Charge>();
  const settled = new Map<string, number>();
  return {
    store: {
      async reserve(id, items, how) {
        const reply = await inner.reserve(id, items, how);
        if (reply.kind === 'full') return reply;
        for (const item of items) counters.set(item.counter, item as Charge);
        if (!settled.has(id)) settled.set(id, 0);
        return reply;
      },
      async settle(id, amounts) {
        await inner.settle(id, amounts);
        settled.set(id, (settled.get(id) ?? 0) + 1);
      },
      renew: (ids, leaseMs) => inner.renew(ids, leaseMs),
      peek: (items) => inner.peek(items),
      close: () => inner.close(),
    },
    async sums() {
      const charges = [...counters.values()];
      const used = await inner.peek(charges);
      const rows = charges.map(({ scope, key, dimension }, index) => [`${scope} ${key} ${dimension}`, used[index] ?? 0] as const);
      return Object.fromEntries(rows.filter(([, amount]) => amount > 0));
    },
    get open() {
      return [...settled.values()].filter((times) => times === 0).length;
    },
    get settlements() {
      return [...settled.values()];
    },
  };
}
