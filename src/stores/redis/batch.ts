/** Most that goes together: a script of so many decisions takes Redis less than a millisecond. */
const MOST_TOGETHER = 32;

/**
 * Collects what is asked in one turn of the event loop, so that it goes to Redis together. Nobody waits for others to come: where one
 * asks at a time, each goes alone.
 * @param send - must not throw
 */
export function createBatch<T>(send: (together: readonly T[]) => void): (one: T) => void {
  let waiting: T[] = [];

  function flush(): void {
    const all = waiting;
    waiting = [];
    for (let at = 0; at < all.length; at += MOST_TOGETHER) send(all.slice(at, at + MOST_TOGETHER));
  }

  return (one) => {
    // After all that this turn of the event loop brings.
    if (waiting.push(one) === 1) setImmediate(flush);
  };
}
