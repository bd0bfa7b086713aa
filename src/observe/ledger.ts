import type { Identity, OutcomeKind, Usage } from '../call.js';
import type { StoreNotice } from '../stores/store.js';

/** What one key used: as the provider reported it, else as it was counted. */
export interface Tally {
  readonly key: string;
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly usd: number;
  /** Answers that no model gave. */
  readonly answers: number;
}

export interface UsageQuery {
  /** `model`, `global` or a scope's name. */
  readonly scope: string;
  /** How many of the largest, by tokens. @defaultValue 10 */
  readonly top?: number;
  /** Epoch milliseconds, rounded down to the hour; at most a day back. @defaultValue everything kept */
  readonly since?: number;
}

/**
 * Who used what, in the last 24 hours. The contract, proved by `ledgerConformance`:
 *
 * - **Adding is heard at once and waits for nothing.** A ledger that tells a server keeps, within a bound, what it has not told yet,
 *   and tells it again until the server has it: each call is counted once.
 * - **Whole numbers.** Sums are exact, over all instances that share a ledger.
 * - **Bounded.** In an hour the first 10,000 keys of a scope are told apart; the rest are counted together, as `(others)`. After a day
 *   an hour is forgotten.
 */
export interface Ledger {
  /** @param microUsd - whole micro-dollars */
  add(identity: Identity, model: string | undefined, usage: Usage, microUsd: number): void;
  addAnswer(identity: Identity, kind: OutcomeKind): void;
  /** What was added before is in it. Rejects when the ledger cannot be read. */
  usage(query: UsageQuery): Promise<readonly Tally[]>;
  /** Hears notices; one listener, set by the gate. */
  onNotice?(listener: (notice: StoreNotice) => void): void;
  /** Ends its timers, and tells what it has not told yet, once. Idempotent. */
  close?(): Promise<void>;
}
