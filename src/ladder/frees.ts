/** When counters were freed: whoever was refused before that, and only comes to wait now, must not miss it. */
export interface Frees {
  /** How often something was freed so far: a point in time for {@link Frees.since}. */
  readonly count: number;
  note(counters: readonly string[]): void;
  /** Whether one of the counters was freed after `count` was this. */
  since(count: number, counters: readonly string[]): boolean;
}

/** Counters remembered; beyond, all are forgotten and count as just freed, which costs an attempt and misses nothing. */
const MOST_COUNTERS = 10_000;

export function createFrees(): Frees {
  const freedAt = new Map<string, number>();
  let count = 0;
  let forgottenAt = 0;

  return {
    get count() {
      return count;
    },
    note(counters) {
      count++;
      if (freedAt.size + counters.length > MOST_COUNTERS) {
        freedAt.clear();
        forgottenAt = count;
      }
      for (const counter of counters) freedAt.set(counter, count);
    },
    since: (since, counters) => since < forgottenAt || counters.some((counter) => (freedAt.get(counter) ?? 0) > since),
  };
}
