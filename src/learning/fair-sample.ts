/** Observations kept of one tenant: the more, the finer its upper quantiles; the fewer, the sooner a change is followed. */
export const MOST_OF_ONE = 128;
/** Observations kept in all. */
export const MOST_KEPT = 512;
/** A tenant with fewer is a newcomer. */
export const FEWEST_KNOWN = 4;
/** Observations after which one no longer counts, whosever it is: what seldom comes must not speak of long ago. */
const STALE_AFTER = 4_096;

/** What is kept of one tenant, oldest first. */
export interface TenantSample {
  readonly values: number[];
  /** The how many-eth observation of all each one was. */
  readonly atCalls: number[];
}

/**
 * The latest observations of a quantity, in which no tenant has more than its fair share: when room is short, the tenant with the
 * most gives up its oldest. Ten times the traffic is ten times fresher, and weighs no more. Newcomers together never take more than
 * half, so a flood of made-up identities cannot push out those who are known. Bounded: {@link MOST_KEPT} figures.
 */
export class FairSample {
  /** By tenant; whoever was heard of last comes last. */
  readonly tenants = new Map<number, TenantSample>();
  #size = 0;
  /** How many of them are newcomers'. */
  #ofNewcomers = 0;
  #added = 0;

  /** How many observations are kept. */
  get size(): number {
    return this.#size;
  }

  /** How many there have been. */
  get added(): number {
    return this.#added;
  }

  add(tenant: number, value: number): void {
    const at = ++this.#added;
    const own = this.tenants.get(tenant) ?? { values: [], atCalls: [] };
    // To the end of the map's order.
    this.tenants.delete(tenant);
    this.tenants.set(tenant, own);
    own.values.push(value);
    own.atCalls.push(at);
    this.#resized(own.values.length - 1, own.values.length);
    const staleAt = at - STALE_AFTER;
    while (own.values.length > MOST_OF_ONE || (own.atCalls[0] as number) <= staleAt) this.#dropOldest(tenant, own);
    this.#forgetUnheard(staleAt);
    if (this.#size > MOST_KEPT) this.#makeRoom();
  }

  /** Whether so many have come that sorting all again, which is what learning costs, is worth it. */
  isWorthFitting(sinceFit: number): boolean {
    return sinceFit > Math.max(this.#size >> 3, (this.#size * this.#size) >> 11);
  }

  /** How many observations of one tenant may speak for all: no more than the next one has. */
  get mostOfOne(): number {
    let [most, next] = [0, 0];
    for (const { values } of this.tenants.values()) {
      if (values.length > most) [most, next] = [values.length, most];
      else if (values.length > next) next = values.length;
    }
    return this.tenants.size < 2 ? most : Math.max(FEWEST_KNOWN, next);
  }

  /** Forgets all that a tenant gave but for those of its latest that are wanted. */
  keepLatest(tenant: number, count: number, isWanted: (value: number) => boolean): void {
    const own = this.tenants.get(tenant);
    if (!own) return;
    const { values, atCalls } = own;
    const kept = values
      .map((_, index) => index)
      .filter((index) => index >= values.length - count && isWanted(values[index] as number));
    this.#resized(values.length, kept.length);
    if (kept.length === 0) this.tenants.delete(tenant);
    else
      this.tenants.set(tenant, {
        values: kept.map((at) => values[at] as number),
        atCalls: kept.map((at) => atCalls[at] as number),
      });
  }

  #forgetUnheard(staleAt: number): void {
    for (const [tenant, own] of this.tenants) {
      if ((own.atCalls.at(-1) as number) > staleAt) return;
      this.#resized(own.values.length, 0);
      this.tenants.delete(tenant);
    }
  }

  #makeRoom(): void {
    let largest: [number, TenantSample] | undefined;
    for (const entry of this.tenants) {
      const { length } = entry[1].values;
      const isExcess = this.#ofNewcomers > MOST_KEPT / 2 && length < FEWEST_KNOWN;
      if (isExcess || length > (largest?.[1].values.length ?? 0)) largest = entry;
      // The first newcomer is the one that was not heard of for longest.
      if (isExcess) break;
    }
    if (largest) this.#dropOldest(...largest);
  }

  #dropOldest(tenant: number, own: TenantSample): void {
    own.values.shift();
    own.atCalls.shift();
    this.#resized(own.values.length + 1, own.values.length);
    if (own.values.length === 0) this.tenants.delete(tenant);
  }

  /** One tenant's part went from `before` to `after` observations. */
  #resized(before: number, after: number): void {
    this.#size += after - before;
    this.#ofNewcomers += (after < FEWEST_KNOWN ? after : 0) - (before < FEWEST_KNOWN ? before : 0);
  }
}
