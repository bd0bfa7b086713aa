/** A window is cut into so many slots. The slot that is only half inside the window counts too: 61 in all, never too few. */
export const SLOTS = 60;
/** A clock that fell further behind than this many slots was wrong before: waiting for it to catch up could take for ever. */
const FARTHEST_AHEAD = 2 * SLOTS;
/** Share of the limit that paced admissions use: a little room for what nobody queued for. */
const PACE = 0.95;

/**
 * What was charged in a sliding window, by slots of 1/60 of it. A charge counts for 60 to 61 slots, so that no true window
 * is ever over its limit. Slots without charges are not stored.
 */
export interface Ring {
  /** All slots together, those included that expired since the last charge. */
  sum: number;
  /** The newest slot. Never moves back, even when the clock does. */
  head: number;
  headAmount: number;
  /** The others, oldest first: slot, amount, slot, amount. `undefined` rather than empty: most keys are charged once. */
  older: number[] | undefined;
  /** When the next paced admission is due, epoch milliseconds. */
  pacedUntilMs: number;
}

/** The slot an instant lies in. */
export function slotAt(nowMs: number, windowMs: number): number {
  return Math.floor((nowMs * SLOTS) / windowMs);
}

/** First whole millisecond at which what was charged in `slot` counts no more. */
export function leavesAtMs(slot: number, windowMs: number): number {
  return Math.ceil(((slot + SLOTS + 1) * windowMs) / SLOTS);
}

export function createRing(slot: number): Ring {
  return { sum: 0, head: slot, headAmount: 0, older: undefined, pacedUntilMs: 0 };
}

/** Whether a charge dated in `slot` still counts at `nowSlot`. */
export function isInside(ring: Ring, slot: number, nowSlot: number): boolean {
  return slot >= firstInside(ring, nowSlot);
}

/** What the window holds at `nowSlot`. */
export function usedIn(ring: Ring, nowSlot: number): number {
  const first = firstInside(ring, nowSlot);
  if (ring.head < first) return 0;
  let used = ring.sum;
  if (ring.older) for (let i = 0; i < ring.older.length && at(ring.older, i) < first; i += 2) used -= at(ring.older, i + 1);
  return used;
}

/**
 * Adds to a slot: for an admission the current one, for debt the one it belongs to.
 * @returns the slot that was charged: the head when the clock is behind it
 */
export function charge(ring: Ring, slot: number, amount: number): number {
  if (slot > ring.head) advance(ring, slot);
  ring.headAmount += amount;
  ring.sum += amount;
  return ring.head;
}

/** Adds debt to a slot that is still inside the window. */
export function chargeLate(ring: Ring, slot: number, amount: number): void {
  if (slot >= ring.head) {
    charge(ring, slot, amount);
    return;
  }
  ring.older ??= [];
  const i = positionOf(ring.older, slot);
  if (ring.older[i] === slot) ring.older[i + 1] = at(ring.older, i + 1) + amount;
  else ring.older.splice(i, 0, slot, amount);
  ring.sum += amount;
}

/** Takes out of a slot, never more than it holds. @returns how much was taken */
export function refund(ring: Ring, slot: number, amount: number): number {
  let taken = 0;
  if (slot === ring.head) {
    taken = Math.min(amount, ring.headAmount);
    ring.headAmount -= taken;
  } else if (ring.older) {
    const i = positionOf(ring.older, slot);
    if (ring.older[i] !== slot) return 0;
    const held = at(ring.older, i + 1);
    taken = Math.min(amount, held);
    if (taken === held) ring.older.splice(i, 2);
    else ring.older[i + 1] = held - taken;
  }
  ring.sum -= taken;
  return taken;
}

/**
 * How long until `need` more fits under `refuseAt` when nothing else happens: 0 when it fits now, `Infinity` when it never will.
 * @param moved - the part of a draw that lies in `movedSlot`: already off `need`, but no longer when that slot has left
 */
export function ringWaitMs(
  ring: Ring,
  windowMs: number,
  nowMs: number,
  need: number,
  refuseAt: number,
  moved = 0,
  movedSlot = 0,
): number {
  const nowSlot = slotAt(nowMs, windowMs);
  let sum = usedIn(ring, nowSlot) + need;
  if (sum <= refuseAt) return 0;
  const first = firstInside(ring, nowSlot);
  const older = ring.older ?? [];
  for (let i = 0; i < older.length; i += 2) {
    const slot = at(older, i);
    if (slot < first) continue;
    sum -= at(older, i + 1) - (slot === movedSlot ? moved : 0);
    if (sum <= refuseAt) return leavesAtMs(slot, windowMs) - nowMs;
  }
  if (ring.head >= first) sum -= ring.headAmount - (ring.head === movedSlot ? moved : 0);
  return sum <= refuseAt ? leavesAtMs(ring.head, windowMs) - nowMs : Infinity;
}

/** Whether the head lies so far ahead of the clock that the clock must have been wrong when it was set. */
export function isWedged(ring: Ring, nowSlot: number): boolean {
  return ring.head - nowSlot > FARTHEST_AHEAD;
}

/** Begins anew at `nowSlot`. What was counted still counts, as if charged now: forgiving it would be the way around a limit. */
export function restart(ring: Ring, nowSlot: number): void {
  ring.head = nowSlot;
  ring.headAmount = ring.sum;
  ring.older = undefined;
  ring.pacedUntilMs = 0;
}

/** How long until the pace lets the next one in. */
export function paceWaitMs(ring: Ring, nowMs: number): number {
  return Math.max(0, Math.ceil(ring.pacedUntilMs - nowMs));
}

/** Counts a paced admission. @returns how far it moved the pace on, in milliseconds; for {@link unpace} */
export function pace(ring: Ring, windowMs: number, nowMs: number, amount: number, limit: number): number {
  const stepMs = (windowMs / PACE) * Math.min(1, amount / limit);
  ring.pacedUntilMs = Math.max(nowMs, ring.pacedUntilMs) + stepMs;
  return stepMs;
}

/** Gives back pace that was not needed. */
export function unpace(ring: Ring, ms: number): void {
  ring.pacedUntilMs -= ms;
}

function firstInside(ring: Ring, nowSlot: number): number {
  return Math.max(ring.head, nowSlot) - SLOTS;
}

function advance(ring: Ring, slot: number): void {
  const first = slot - SLOTS;
  if (ring.head < first) {
    ring.older = undefined;
    ring.sum = 0;
  } else {
    if (ring.older) expire(ring, ring.older, first);
    if (ring.headAmount > 0) {
      if (ring.older) ring.older.push(ring.head, ring.headAmount);
      else ring.older = [ring.head, ring.headAmount];
    }
  }
  ring.head = slot;
  ring.headAmount = 0;
}

function expire(ring: Ring, older: number[], first: number): void {
  let gone = 0;
  for (; gone < older.length && at(older, gone) < first; gone += 2) ring.sum -= at(older, gone + 1);
  if (gone > 0) older.splice(0, gone);
}

/** Where `slot` is, or would be. */
function positionOf(older: number[], slot: number): number {
  let i = older.length;
  while (i > 0 && at(older, i - 2) >= slot) i -= 2;
  return i;
}

function at(numbers: readonly number[], index: number): number {
  return numbers[index] as number;
}
