/** Whether a value has to be awaited: what applications return may be a promise of any make, and awaiting the rest costs time. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function';
}
