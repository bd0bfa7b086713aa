// Waiters that come and are let in, per second. Run: npx tsx bench/line.ts
import type { Call, Charge, Refusal, Reservation } from '../src/call.js';
import { systemClock } from '../src/clock.js';
import { createLine } from '../src/ladder/line.js';

const WAITERS = 10_000;
const ROUNDS = 5;
const BOUNDS = { waitMs: 600_000, maxRequests: WAITERS, maxTokens: Number.MAX_SAFE_INTEGER };
const CALL = { heldInputTokens: 1_000, expectedOutputTokens: 200 } as Call;
const HELD = { charges: [] } as unknown as Reservation;

await comeAndGo('on 1,000 keys', 1_000);
await comeAndGo('on 10 keys', 10);
await comeAndGo('on one key', 1);

/** Everybody comes, then one at a time is let in by a settlement; the store answers at once. */
async function comeAndGo(name: string, keys: number): Promise<void> {
  const best = { come: 0, go: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    const line = createLine(systemClock);
    const charges = Array.from({ length: keys }, (_, key): Charge => ({ counter: `user|${key}|running`, amount: 1 }) as Charge);
    const refusals = charges.map((charge): Refusal => ({ reason: 'full', full: [{ charge, waitMs: 0 }], waitMs: 0 }));
    const room = new Array<number>(keys).fill(0);

    const came = performance.now();
    const waits = Array.from({ length: WAITERS }, (_, waiter) => {
      const key = waiter % keys;
      const refusal = refusals[key] as Refusal;
      const common = {
        call: CALL,
        refusal,
        refusedAtMs: systemClock.now(),
        bounds: BOUNDS,
        hasPassed: false,
        leftMs: BOUNDS.waitMs,
      };
      const admit = async () => ((room[key] as number)-- > 0 ? HELD : refusal);
      return line.wait({ ...common, signal: undefined, frees: line.frees, admit, giveBack: () => {} });
    });
    const waiting = performance.now();
    for (let waiter = 0; waiter < WAITERS; waiter++) {
      const key = waiter % keys;
      room[key] = 1;
      line.freed([charges[key] as Charge]);
      await waits[waiter];
    }
    const gone = performance.now();

    best.come = Math.max(best.come, WAITERS / ((waiting - came) / 1_000));
    best.go = Math.max(best.go, WAITERS / ((gone - waiting) / 1_000));
    if (line.depth > 0) throw new Error(`${line.depth} still wait`);
  }
  print(`${WAITERS.toLocaleString('en-US')} waiters ${name}, come`, best.come);
  print(`${WAITERS.toLocaleString('en-US')} waiters ${name}, let in`, best.go);
}

function print(what: string, perSecond: number): void {
  console.log(`${what.padEnd(42)} ${Math.round(perSecond).toLocaleString('en-US').padStart(12)} /s`);
}
