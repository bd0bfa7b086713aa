/** An amount as stores count it: whole, rounded up; what is no number, negative or infinite counts as 0. */
export function whole(amount: number | undefined): number {
  return amount !== undefined && amount > 0 && amount < Infinity ? Math.min(Math.ceil(amount), Number.MAX_SAFE_INTEGER) : 0;
}

/** A lease in milliseconds, 0 or more. */
export function leaseOf(ms: number): number {
  return Math.max(0, ms || 0);
}
