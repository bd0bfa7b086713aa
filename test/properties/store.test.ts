import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/stores/memory.js';
import type { Full, Held, Item, ReserveHow, Store } from '../../src/stores/store.js';
import {
  ALL,
  COUNTERS,
  type Command,
  HOUR_MS,
  howOf,
  itemOf,
  LENGTH,
  NAMES,
  type Name,
  program,
  REMEMBERED_MS,
  type Reserve,
  START_MS,
} from '../support/store-program.js';
import { createVirtualClock } from '../support/virtual-clock.js';

// ---- the ledger: every charge with its time, added up anew at each question

interface Charge {
  readonly counter: Name;
  readonly atMs: number;
  amount: number;
  readonly isDebt: boolean;
}

interface LedgerHold {
  readonly charge: Charge;
  paceMs: number;
}

interface Entry {
  readonly items: readonly Item[];
  readonly holds: LedgerHold[];
  readonly keptMs: number;
  leaseEndMs: number;
}

class Ledger {
  readonly charges: Charge[] = [];
  readonly entries = new Map<string, Entry>();
  readonly settledAtMs = new Map<string, number>();
  readonly pacedUntilMs = new Map<string, number>();

  sum(counter: string, nowMs: number): number {
    let sum = 0;
    if (counter === 'calls') {
      for (const entry of this.entries.values())
        if (nowMs < entry.leaseEndMs) for (const { charge } of entry.holds) if (charge.counter === 'calls') sum += charge.amount;
      return sum;
    }
    for (const charge of this.charges) if (charge.counter === counter && isInside(charge, nowMs)) sum += charge.amount;
    return sum;
  }

  sums(nowMs: number): number[] {
    return NAMES.map((name) => this.sum(name, nowMs));
  }

  live(id: string | undefined, nowMs: number): Entry | undefined {
    const entry = id === undefined ? undefined : this.entries.get(id);
    return entry && nowMs < entry.leaseEndMs + entry.keptMs ? entry : undefined;
  }

  /** What of `from` a draw may take at `nowMs`. */
  drawn(item: Item, from: Entry | undefined, nowMs: number): { hold: LedgerHold; moved: number } | undefined {
    const hold = from?.holds.find(({ charge }) => charge.counter === item.counter);
    if (!from || !hold) return undefined;
    const isOpen = item.counter === 'calls' ? nowMs < from.leaseEndMs : isInside(hold.charge, nowMs);
    return { hold, moved: isOpen ? Math.min(item.amount, hold.charge.amount) : 0 };
  }

  fits(item: Item, from: Entry | undefined, nowMs: number): boolean {
    const difference = item.amount - (this.drawn(item, from, nowMs)?.moved ?? 0);
    if (difference === 0) return true;
    if (this.sum(item.counter, nowMs) + difference > item.refuseAt) return false;
    return !isPaced(item) || nowMs >= (this.pacedUntilMs.get(item.counter) ?? 0);
  }

  reserve(id: string, { items, leaseMs }: Reserve, from: Entry | undefined, nowMs: number): void {
    const holds = items.map((item): LedgerHold => {
      const { hold, moved } = this.drawn(item, from, nowMs) ?? { hold: undefined, moved: 0 };
      let paceMs = 0;
      if (hold && moved > 0) {
        paceMs = (hold.paceMs * moved) / hold.charge.amount;
        hold.paceMs -= paceMs;
        hold.charge.amount -= moved;
      }
      const difference = item.amount - moved;
      if (difference > 0 && isPaced(item)) {
        const stepMs = (windowMsOf(item) / 0.95) * Math.min(1, difference / item.limit);
        this.pacedUntilMs.set(item.counter, Math.max(nowMs, this.pacedUntilMs.get(item.counter) ?? 0) + stepMs);
        paceMs += stepMs;
      }
      const charge = { counter: item.counter as Name, atMs: nowMs, amount: item.amount, isDebt: false };
      this.charges.push(charge);
      return { charge, paceMs };
    });
    const kept = items.map(({ window }) =>
      window.kind === 'sliding' ? Math.ceil((window.ms * 61) / 60) : window.kind === 'calendar' ? HOUR_MS : 0,
    );
    this.entries.set(id, { items, holds, keptMs: Math.max(leaseMs, ...kept), leaseEndMs: nowMs + leaseMs });
  }

  settle(id: string, amounts: readonly number[], nowMs: number): void {
    this.live(id, nowMs)?.holds.forEach(({ charge, paceMs }, index) => {
      if (charge.counter === 'calls') return;
      const more = (amounts[index] ?? 0) - charge.amount;
      const isOpen = charge.counter === 'day' ? daysBetween(charge.atMs, nowMs) <= 1 : isInside(charge, nowMs);
      if (more > 0)
        this.charges.push({ counter: charge.counter, atMs: isOpen ? charge.atMs : nowMs, amount: more, isDebt: true });
      if (more >= 0 || !isOpen) return;
      if (paceMs > 0) {
        const untilMs = this.pacedUntilMs.get(charge.counter) as number;
        this.pacedUntilMs.set(charge.counter, untilMs - (paceMs * -more) / charge.amount);
      }
      charge.amount += more;
    });
    this.entries.delete(id);
    if (!this.settledAtMs.has(id)) this.settledAtMs.set(id, nowMs);
  }

  /** Charges beyond the limit, overdraft aside, in the fullest true window of a counter. */
  excess(name: Name): number {
    const charges = this.charges.filter(({ counter }) => counter === name);
    const isWithin = (charge: Charge, endMs: number) =>
      name === 'day'
        ? daysBetween(charge.atMs, endMs) === 0
        : charge.atMs <= endMs && charge.atMs > endMs - windowMsOf(itemOf(name, 0));
    const sums = charges.map(({ atMs }) =>
      charges.reduce((sum, charge) => (isWithin(charge, atMs) && !charge.isDebt ? sum + charge.amount : sum), 0),
    );
    return Math.max(0, ...sums) - COUNTERS[name].limit;
  }
}

function isPaced({ paced, refuseAt, window }: Item): boolean {
  return paced === true && refuseAt !== Infinity && window.kind === 'sliding';
}

function windowMsOf({ window }: Item): number {
  return window.kind === 'sliding' ? window.ms : Number.NaN;
}

function isInside({ counter, atMs }: Charge, nowMs: number): boolean {
  if (counter === 'day') return daysBetween(atMs, nowMs) === 0;
  const windowMs = windowMsOf(itemOf(counter, 0));
  return Math.floor((nowMs * 60) / windowMs) - Math.floor((atMs * 60) / windowMs) <= 60;
}

const berlin = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Berlin' });
const days = new Map<number, number>();

function daysBetween(fromMs: number, toMs: number): number {
  return dayOf(toMs) - dayOf(fromMs);
}

function dayOf(ms: number): number {
  let day = days.get(ms);
  if (day === undefined) {
    day = Date.parse(berlin.format(ms)) / (24 * HOUR_MS);
    days.set(ms, day);
  }
  return day;
}

// ---- how programs run

/** A store under a program: ids are numbers, given to reservations in turn. */
function createRun() {
  const clock = createVirtualClock(START_MS);
  const store = memoryStore({ clock });
  const sent: Reserve[] = [];
  return {
    store,
    sent,
    now: () => clock.now(),
    advance: (ms: number) => clock.set(clock.now() + ms),
    /** The id so many reservations ago; -1 names the one to come. */
    idOf: (back: number) => `${Math.max(0, sent.length - 1 - back)}`,
  };
}

/** Runs one command as it is. @returns the answer of a reservation */
async function apply(run: ReturnType<typeof createRun>, command: Command): Promise<Held | Full | undefined> {
  const { store, sent, idOf } = run;
  switch (command.kind) {
    case 'reserve': {
      const how = howOf(command, idOf);
      sent.push(command);
      return store.reserve(idOf(0), command.items, how);
    }
    case 'settle':
      // Settled long before it is sent, an id is remembered by one store and not by another: both may be.
      if (sent[Number(idOf(command.back))]) await store.settle(idOf(command.back), command.amounts);
      return undefined;
    case 'renew':
      await store.renew(command.backs.map(idOf), command.leaseMs);
      return undefined;
    case 'advance':
      run.advance(command.ms);
      return undefined;
    case 'resend':
      return undefined;
  }
}

/** Asks the ledger what the store must answer, and lets it follow. */
async function reserveBoth(
  store: Store,
  ledger: Ledger,
  id: string,
  reserve: Reserve,
  how: ReserveHow,
  nowMs: number,
): Promise<void> {
  const settledAtMs = ledger.settledAtMs.get(id);
  // How long beyond a minute a store remembers is its own affair.
  if (settledAtMs !== undefined && nowMs - settledAtMs >= REMEMBERED_MS) return;
  const isKnown = settledAtMs !== undefined || ledger.live(id, nowMs) !== undefined;
  const from = ledger.live(how.from, nowMs);
  const full = isKnown ? [] : reserve.items.flatMap((item, index) => (ledger.fits(item, from, nowMs) ? [] : [index]));

  const answer = await store.reserve(id, reserve.items, how);

  if (full.length === 0 && !isKnown) ledger.reserve(id, reserve, from, nowMs);
  expect(answer.used).toEqual(reserve.items.map(({ counter }) => ledger.sum(counter, nowMs)));
  expect(answer.kind === 'full' ? answer.full.map(({ index }) => index) : []).toEqual(full);
  if (answer.kind === 'full')
    for (const { index, waitMs } of answer.full) expectFirstFit(ledger, reserve.items[index] as Item, from, nowMs, waitMs);
}

function expectFirstFit(ledger: Ledger, item: Item, from: Entry | undefined, nowMs: number, waitMs: number): void {
  if (item.amount > item.refuseAt) expect(waitMs).toBe(Infinity);
  else if (item.window.kind === 'concurrent') expect(waitMs).toBe(0);
  else {
    expect(ledger.fits(item, from, nowMs + waitMs - 1)).toBe(false);
    expect(ledger.fits(item, from, nowMs + waitMs)).toBe(true);
  }
}

async function followProgram(commands: readonly Command[]): Promise<void> {
  const { store, sent, now, advance, idOf } = createRun();
  const ledger = new Ledger();
  for (const command of commands) {
    switch (command.kind) {
      case 'reserve': {
        const how = howOf(command, idOf);
        sent.push(command);
        await reserveBoth(store, ledger, idOf(0), command, how, now());
        break;
      }
      case 'resend': {
        const again = sent[Number(idOf(command.back))];
        if (again) await reserveBoth(store, ledger, idOf(command.back), again, { leaseMs: again.leaseMs }, now());
        break;
      }
      case 'settle':
        await store.settle(idOf(command.back), command.amounts);
        ledger.settle(idOf(command.back), command.amounts, now());
        break;
      case 'renew':
        await store.renew(command.backs.map(idOf), command.leaseMs);
        for (const id of command.backs.map(idOf)) {
          const entry = ledger.live(id, now());
          if (entry) entry.leaseEndMs = now() + command.leaseMs;
        }
        break;
      case 'advance':
        advance(command.ms);
        break;
    }
    const held = await store.peek(ALL);
    expect(held).toEqual(ledger.sums(now()));
    expect(Math.min(...held)).toBeGreaterThanOrEqual(0);
  }
  for (const name of ['second', 'odd', 'minute', 'day'] as const) expect(ledger.excess(name)).toBeLessThanOrEqual(0);
}

describe('a memory store under random programs', () => {
  it('agrees with a ledger that adds every charge up, and exceeds no true window but by overdraft', async () => {
    await fc.assert(fc.asyncProperty(program, followProgram), { numRuns: 6_000 });
  }, 120_000);

  it('does the same when whatever is sent arrives again, at once or later', async () => {
    const long = program.map((commands) =>
      commands.map(
        (command): Command =>
          command.kind === 'reserve' || command.kind === 'renew' ? { ...command, leaseMs: REMEMBERED_MS } : command,
      ),
    );
    const doubles = fc.array(fc.record({ times: fc.nat({ max: 2 }), late: fc.nat({ max: 6 }) }), {
      minLength: LENGTH,
      maxLength: LENGTH,
    });

    await fc.assert(
      fc.asyncProperty(long, doubles, async (commands, doubles) => {
        const [once, often] = [createRun(), createRun()];
        const done: { atMs: number; again: () => Promise<unknown> }[] = [];
        for (const [n, command] of commands.entries()) {
          const answer = await apply(once, command);
          expect(await apply(often, command)).toEqual(answer);

          const again = againOf(often, command);
          const { times, late } = doubles[n] as { times: number; late: number };
          for (let time = 0; time < times; time++) await again?.();
          if (again && answer?.kind !== 'full' && command.kind !== 'renew') done.push({ atMs: often.now(), again });
          const older = done[done.length - 1 - late];
          if (older && often.now() - older.atMs < REMEMBERED_MS) await older.again();

          expect(await often.store.peek(ALL)).toEqual(await once.store.peek(ALL));
        }
      }),
      { numRuns: 2_000 },
    );
  }, 120_000);

  it('does the same when nothing had been refused', async () => {
    await fc.assert(
      fc.asyncProperty(program, async (commands) => {
        const [all, onlyHeld] = [createRun(), createRun()];
        for (const command of commands) {
          await all.store.reserve('never', [itemOf('day', 1), itemOf('minute', 101)], { leaseMs: 1_000, from: all.idOf(0) });
          const answer = await apply(all, command);
          if (answer?.kind === 'full') onlyHeld.sent.push(command as Reserve);
          else expect(await apply(onlyHeld, command)).toEqual(answer);

          expect(await onlyHeld.store.peek(ALL)).toEqual(await all.store.peek(ALL));
        }
      }),
      { numRuns: 2_000 },
    );
  }, 120_000);
});

/** Sends the same again, as of now: ids are those of the first time. */
function againOf({ store, idOf, sent }: ReturnType<typeof createRun>, command: Command): (() => Promise<unknown>) | undefined {
  switch (command.kind) {
    case 'reserve': {
      const id = idOf(0);
      const from = command.from === undefined ? undefined : `${Math.max(0, sent.length - 2 - command.from)}`;
      return () => store.reserve(id, command.items, { leaseMs: command.leaseMs, from });
    }
    case 'settle': {
      const id = idOf(command.back);
      return sent[Number(id)] && (() => store.settle(id, command.amounts));
    }
    case 'renew': {
      const ids = command.backs.map(idOf);
      return () => store.renew(ids, command.leaseMs);
    }
    default:
      return undefined;
  }
}
