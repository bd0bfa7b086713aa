import type { Call, Reservation } from '../call.js';
import type { Cancel, Clock } from '../clock.js';
import type { Store } from './store.js';

/** Watchers look so often at most, in milliseconds. */
const SHORTEST_LOOK_MS = 50;
/** And so seldom at most: what somebody left behind must not be held for long. */
const LONGEST_LOOK_MS = 2_500;

/** Looks again and again: connections whose close event never came, readers that stopped. */
export type Watcher = () => void;

/** What is known of a reservation that a store holds. */
export type Held = Pick<Reservation, 'id' | 'call' | 'charges' | 'used' | 'rides'>;

/** Keeps reservations alive while their runs are, all of them in one batch, and looks after what hangs on them. */
export interface Keeper {
  /** A reservation that `store` holds under `id`; renewed until it is settled. */
  keep(held: Held): Reservation;
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
  /** How soon a watcher must notice something, in milliseconds. */
  readonly stallMs: number;
  onStoreError(operation: 'settle' | 'renew', error: unknown): void;
}

export function createKeeper({ store, clock, leaseMs, stallMs, onStoreError }: KeeperParts): Keeper {
  const live = new Set<string>();
  const watchers = new Set<Watcher>();
  const renewing = createTicker(clock, leaseMs / 3, () => {
    if (live.size > 0) renew([...live]).catch((error) => onStoreError('renew', error));
    return live.size > 0;
  });
  const looking = createTicker(clock, Math.min(leaseMs / 3, Math.max(SHORTEST_LOOK_MS, stallMs / 4), LONGEST_LOOK_MS), () => {
    for (const watcher of watchers) watcher();
    return watchers.size > 0;
  });
  // Asynchronous by itself: a store that throws at once must fail like one that rejects.
  const renew = async (ids: readonly string[]) => store.renew(ids, leaseMs);

  async function end(id: string, amounts: readonly number[]): Promise<void> {
    try {
      await store.settle(id, amounts);
    } catch (error) {
      onStoreError('settle', error);
    } finally {
      live.delete(id);
    }
  }

  async function forget(id: string, items: number): Promise<void> {
    try {
      await store.settle(id, new Array<number>(items).fill(0));
    } catch {
      // Told already when the store gave no answer to the reservation.
    }
  }

  return {
    keep(held) {
      live.add(held.id);
      renewing.start();
      return new KeptReservation(held, end);
    },
    forget: (id, items) => void forget(id, items),
    watch(watcher) {
      watchers.add(watcher);
      looking.start();
      return () => void watchers.delete(watcher);
    },
    get live() {
      return live.size;
    },
    close() {
      renewing.close();
      looking.close();
      watchers.clear();
    },
  };
}

class KeptReservation implements Reservation {
  readonly id: string;
  readonly call: Call;
  readonly charges: Reservation['charges'];
  readonly used: readonly number[];
  readonly rides: readonly string[];
  readonly #end: (id: string, amounts: readonly number[]) => Promise<void>;
  #ending: Promise<void> | undefined;

  constructor(held: Held, end: (id: string, amounts: readonly number[]) => Promise<void>) {
    this.id = held.id;
    this.call = held.call;
    this.charges = held.charges;
    this.used = held.used;
    this.rides = held.rides;
    this.#end = end;
  }

  settle(amounts: readonly number[]): Promise<void> {
    this.#ending ??= this.#end(this.id, amounts);
    return this.#ending;
  }

  cancel(): Promise<void> {
    return this.settle(this.charges.map(() => 0));
  }
}

/** Runs `tick` at intervals for as long as it returns `true`; no timer outlives the need for it. */
function createTicker(clock: Clock, everyMs: number, tick: () => boolean) {
  let stop: Cancel | undefined;
  let isClosed = false;

  function start(): void {
    if (isClosed) return;
    stop ??= clock.after(everyMs, () => {
      stop = undefined;
      if (tick()) start();
    });
  }
  return {
    start,
    close() {
      isClosed = true;
      stop?.();
      stop = undefined;
    },
  };
}
