import type { Clock } from '../clock.js';
import { addTo, type Counts, HOURS_KEPT, HourlyCounts, hourOf, hoursOf, topOf } from './counts.js';
import type { Ledger } from './ledger.js';

/** Who used what of this process. */
export function memoryLedger(clock: Clock): Ledger {
  const counts = new HourlyCounts();
  let newestHour = 0;

  function thisHour(): number {
    const hour = hourOf(clock.now());
    if (hour !== newestHour) counts.forgetBefore(hour - HOURS_KEPT + 1);
    newestHour = hour;
    return hour;
  }

  return {
    add: (identity, model, usage, microUsd) => counts.addCall(thisHour(), identity, model, usage, microUsd),
    addAnswer: (identity) => counts.addAnswer(thisHour(), identity),
    async usage(query) {
      const sums = new Map<string, Counts>();
      for (const hour of hoursOf(query, clock.now()))
        for (const [key, found] of counts.of(hour, query.scope)) addTo(sums, key, found);
      return topOf(sums, query);
    },
  };
}
