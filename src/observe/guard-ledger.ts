import { isThenable } from '../thenable.js';
import type { Ledger } from './ledger.js';

/** The same ledger, whose failures to count are told and harm no call. */
export function guardLedger(ledger: Ledger, onError: (error: unknown) => void): Ledger {
  function tried(count: () => unknown): void {
    try {
      const counting = count();
      if (isThenable(counting)) counting.then(undefined, onError);
    } catch (error) {
      onError(error);
    }
  }

  return {
    add: (...facts) => tried(() => ledger.add(...facts)),
    addAnswer: (...facts) => tried(() => ledger.addAnswer(...facts)),
    usage: async (query) => ledger.usage(query),
    onNotice: (listener) => ledger.onNotice?.(listener),
    close: async () => ledger.close?.(),
  };
}
