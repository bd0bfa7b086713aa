import { expect } from 'vitest';
import { createSpillway, type Gate, type Options, type SpillwayEvents, type Store } from '../../src/index.js';
import { createBooks } from './books.js';
import { until } from './loopback.js';

type Settled = SpillwayEvents['reservation-settled'];

/** A gate, and everything that it told and wrote down. */
export interface World {
  readonly gate: Gate<'user'>;
  readonly admitted: readonly string[];
  readonly settled: readonly Settled[];
  readonly answered: readonly SpillwayEvents['request-answered'][];
  readonly missing: readonly SpillwayEvents['identity-missing'][];
  /** What each counter holds, as `scope key dimension`; those that hold nothing are left out. */
  sums(): Promise<Readonly<Record<string, number>>>;
  /** Waits until nothing is under way, and makes sure that nothing was left behind: each hold settled once, by one event. */
  atRest(): Promise<void>;
  close(): Promise<void>;
}

/** Roomy budgets of every kind: what is charged shows, and nothing is refused. */
export const ROOMY = [{ tokens: 1_000_000, per: 'hour' }, { requests: 10_000, per: 'hour' }, { concurrent: 1_000 }] as const;

/** @param store - what counts underneath; one in memory when left out */
export function createWorld(options: Omit<Options<'user'>, 'store'> = {}, store?: Store): World {
  const books = createBooks(store);
  const models = { 'gpt-4o': { budgets: ROOMY }, 'gpt-4o-mini': { budgets: ROOMY } };
  const scopes = options.scopes ?? { user: { budgets: ROOMY } };
  const gate = createSpillway<'user'>({ models, store: books.store, leaseMs: 300, ...options, scopes });
  const admitted: string[] = [];
  const settled: Settled[] = [];
  const answered: SpillwayEvents['request-answered'][] = [];
  const missing: SpillwayEvents['identity-missing'][] = [];
  gate.on('call-admitted', ({ id }) => admitted.push(id));
  gate.on('reservation-settled', (event) => settled.push(event));
  gate.on('request-answered', (event) => answered.push(event));
  gate.on('identity-missing', (event) => missing.push(event));

  async function isAtRest(): Promise<boolean> {
    const { openRequests, liveReservations, queueDepth } = await gate.snapshot();
    return openRequests + liveReservations + queueDepth + books.open === 0 && settled.length === admitted.length;
  }

  return {
    gate,
    admitted,
    settled,
    answered,
    missing,
    sums: () => books.sums(),
    async atRest() {
      await until(isAtRest).catch(async (error) => {
        const { budgets: _, ...now } = await gate.snapshot();
        throw new Error(`${error.message}; ${JSON.stringify({ ...now, admitted, settled: settled.map(({ id }) => id) })}`);
      });
      expect(settled.map(({ id }) => id).sort()).toEqual([...admitted].sort());
      expect(books.settlements.filter((times) => times !== 1)).toEqual([]);
      expect(Object.keys(await books.sums()).filter((name) => name.endsWith('concurrent'))).toEqual([]);
    },
    close: () => gate.close(),
  };
}
