import type { MemoryStore } from '../../src/stores/memory.js';
import type { Full, Held, Item, Store } from '../../src/stores/store.js';
import type { VirtualClock } from './virtual-clock.js';

/** What a recorded store is to do badly. */
export interface Trouble {
  /** How long a command is on its way, in milliseconds; asked twice for each: there and back. */
  delayMs(): number;
  /** What becomes of the answer to a reservation, or of the command itself. */
  loses(): 'nothing' | 'answer' | 'command';
}

/** What was done to a store, and what must never have happened to it. */
export interface Record {
  /** Ids that the store held, and how often each was settled. */
  readonly settles: Map<string, number>;
  /** Real amounts by counter. */
  readonly real: Map<string, number>;
  /** Tokens that a settlement charged beyond what its id still held, by id. */
  readonly overdrafts: Map<string, number>;
  readonly faults: string[];
}

interface Debt {
  readonly counter: string;
  readonly atMs: number;
  readonly amount: number;
}

/**
 * Passes commands on to a memory store, late, and keeps account of them on its own: every window is within its limit but for
 * debts, a refusal changes no count, and each command that is passed on is one step.
 */
export function recordStore(store: MemoryStore, clock: VirtualClock, trouble: Trouble): { store: Store; record: Record } {
  const record: Record = { settles: new Map(), real: new Map(), overdrafts: new Map(), faults: [] };
  const held = new Map<string, { readonly item: Item; left: number }[]>();
  const debts: Debt[] = [];

  const delay = () => {
    const ms = trouble.delayMs();
    return ms === 0 ? Promise.resolve() : new Promise<void>((resolve) => void clock.after(ms, resolve));
  };
  function debtOf({ counter, window }: Item): number {
    const spanMs = window.kind === 'sliding' ? (window.ms * 62) / 60 : Infinity;
    return debts.reduce(
      (sum, debt) => (debt.counter === counter && debt.atMs > clock.now() - spanMs ? sum + debt.amount : sum),
      0,
    );
  }
  function checkLimits(items: readonly Item[], used: readonly number[]): void {
    items.forEach((item, index) => {
      if ((used[index] as number) > item.refuseAt + debtOf(item))
        record.faults.push(`${item.counter} holds ${used[index]}, over ${item.refuseAt} and ${debtOf(item)} of debt`);
    });
  }
  function noteHeld(id: string, items: readonly Item[], from: string | undefined): void {
    const source = from === undefined ? undefined : held.get(from);
    for (const { counter, amount } of items) {
      const drawn = source?.find(({ item }) => item.counter === counter);
      if (drawn) drawn.left -= Math.min(drawn.left, amount);
    }
    held.set(
      id,
      items.map((item) => ({ item, left: item.amount })),
    );
    record.settles.set(id, 0);
  }

  return {
    record,
    store: {
      async reserve(id, items, how) {
        await delay();
        const loss = trouble.loses();
        if (loss === 'command') throw new Error('the command got lost');
        // The memory store acts before it returns: these three are one step.
        const [before, asked, after] = [store.peek(items), store.reserve(id, items, how), store.peek(items)];
        const [was, reply, is] = (await Promise.all([before, asked, after])) as [number[], Held | Full, number[]];
        if (reply.kind === 'held') {
          noteHeld(id, items, how.from);
          checkLimits(items, reply.used);
        } else if (was.some((used, index) => used !== is[index])) record.faults.push(`refusing ${id} changed a count`);
        await delay();
        if (loss === 'answer') throw new Error('the answer got lost');
        return reply;
      },
      async settle(id, amounts) {
        await delay();
        await store.settle(id, amounts);
        const holds = held.get(id);
        if (!holds) return;
        record.settles.set(id, (record.settles.get(id) ?? 0) + 1);
        if (record.settles.get(id) !== 1) return;
        let overdraft = 0;
        holds.forEach(({ item: { counter, window }, left }, index) => {
          const amount = amounts[index] ?? 0;
          if (window.kind === 'concurrent') return;
          record.real.set(counter, (record.real.get(counter) ?? 0) + amount);
          if (amount <= left) return;
          debts.push({ counter, atMs: clock.now(), amount: amount - left });
          if (counter.includes('|tokens')) overdraft = Math.max(overdraft, amount - left);
        });
        record.overdrafts.set(id, overdraft);
      },
      async renew(ids, leaseMs) {
        await store.renew(ids, leaseMs);
      },
      peek: (items) => store.peek(items),
      close: () => store.close(),
    },
  };
}
