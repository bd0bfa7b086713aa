import type { Reservation } from '../call.js';
import type { Cancel, Clock } from '../clock.js';
import type { Store } from './store.js';

/** Looked at with every renewal: connections whose close event never came, readers that stopped. */
export type Watcher = () => void;

/** Keeps reservations alive while their runs are, all of them in one batch, and looks after what hangs on them. */
export interface Keeper {
  /** A reservation that `store` holds under `id`; renewed until it is settled. */
  keep(held: Pick<Reservation, 'id' | 'call' | 'charges' | 'used' | 'rides'>): Reservation;
  /** Makes sure that an id of which the store gave no answer holds nothing. */
  forget(id: string, items: number): void;
  /** @returns a function that ends the watching */
  watch(watcher: Watcher): () => void;
  /** Reservations not settled yet. */
  readonly live: number;
  close(): void;
}

export interface KeeperParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly leaseMs: number;
  onStoreError(operation: 'settle' | 'renew', error: unknown): void;
}

export function createKeeper({ store, clock, leaseMs, onStoreError }: KeeperParts): Keeper {
  const live = new Set<string>();
  const watchers = new Set<Watcher>();
  let stop: Cancel | undefined;
  let isClosed = false;

  function start(): void {
    if (!isClosed) stop ??= clock.after(leaseMs / 3, tick);
  }
  function tick(): void {
    stop = undefined;
    for (const watcher of watchers) watcher();
    if (live.size > 0) renew([...live]).catch((error) => onStoreError('renew', error));
    if (live.size > 0 || watchers.size > 0) start();
  }
  // Both asynchronous by themselves: a store that throws at once must fail like one that rejects.
  const renew = async (ids: readonly string[]) => store.renew(ids, leaseMs);
  const settle = async (id: string, amounts: readonly number[]) => store.settle(id, amounts);

  return {
    keep(held) {
      const { id, charges } = held;
      live.add(id);
      start();
      let ending: Promise<void> | undefined;
      const end = (amounts: readonly number[]): Promise<void> => {
        live.delete(id);
        ending ??= settle(id, amounts).catch((error) => onStoreError('settle', error));
        return ending;
      };
      return { ...held, settle: end, cancel: () => end(charges.map(() => 0)) };
    },
    forget(id, items) {
      settle(id, new Array<number>(items).fill(0)).catch(() => {});
    },
    watch(watcher) {
      watchers.add(watcher);
      start();
      return () => void watchers.delete(watcher);
    },
    get live() {
      return live.size;
    },
    close() {
      isClosed = true;
      stop?.();
      stop = undefined;
      watchers.clear();
    },
  };
}
