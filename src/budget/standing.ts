import type { Charge, Shortage } from '../call.js';

/** How a budget stood when a run of the visit last asked for room in it. */
export interface Standing {
  readonly charge: Charge;
  /** What its counter held, the run included when it was admitted; `undefined`: the store was not asked yet. */
  readonly used: number | undefined;
  /** How long until the run would have fitted, in milliseconds; `undefined`: it did, or was not kept out by this one. */
  readonly waitMs: number | undefined;
  /** When that was, epoch milliseconds. */
  readonly atMs: number;
}

/** What one asking for room has told about the budgets it concerns. */
export interface Sighting {
  readonly charges: readonly Charge[];
  /** Same order as the charges; `undefined`: the store was not asked. */
  readonly used?: readonly number[];
  /** Those of them that were full. */
  readonly full?: readonly Shortage[];
  readonly atMs: number;
}

/**
 * Brings standings, by counter, up to date.
 * @param isOwn - which charges may be noted
 */
export function noteStandings(
  standings: Map<string, Standing>,
  { charges, used, full, atMs }: Sighting,
  isOwn: (charge: Charge) => boolean = () => true,
): void {
  for (let index = 0; index < charges.length; index++) {
    const charge = charges[index] as Charge;
    if (!isOwn(charge)) continue;
    const { counter } = charge;
    const waitMs = full?.find((shortage) => shortage.charge.counter === counter)?.waitMs;
    standings.set(counter, { charge, used: used?.[index] ?? standings.get(counter)?.used, waitMs, atMs });
  }
}
