import type { Call, Charge, Reservation } from '../call.js';
import type { Cancel, Clock } from '../clock.js';
import type { Store } from './store.js';

/** Looked at with every renewal: connections whose close event never came, readers that stopped. */
export type Watcher = () => void;

/** Keeps reservations alive while their runs are, all of them in one batch, and looks after what hangs on them. */
export interface Keeper {
  /** A reservation that `store` holds under `id`; renewed until it is settled. */
  keep(id: string, call: Call, charges: readonly Charge[], used: readonly number[]): Reservation;
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

  function start(): void {
    stop ??= clock.after(leaseMs / 3, tick);
  }
  function tick(): void {
    stop = undefined;
    for (const watcher of watchers) watcher();
    if (live.size > 0) store.renew([...live], leaseMs).catch((error) => onStoreError('renew', error));
    if (live.size > 0 || watchers.size > 0) start();
  }

  return {
    keep(id, call, charges, used) {
      live.add(id);
      start();
      let ending: Promise<void> | undefined;
      const settle = (amounts: readonly number[]): Promise<void> => {
        live.delete(id);
        ending ??= store.settle(id, amounts).catch((error) => onStoreError('settle', error));
        return ending;
      };
      return { id, call, charges, used, settle, cancel: () => settle(charges.map(() => 0)) };
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
      stop?.();
      stop = undefined;
      watchers.clear();
    },
  };
}
