import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'vitest';
import { createSpillway, type Gate, type Options, type SpillwayEvents } from '../../src/index.js';
import { type Books, createBooks } from './books.js';
import { watchUnhandled } from './loopback.js';
import { createProvider, type Provider, type ProviderOptions } from './provider.js';

type Settled = SpillwayEvents['reservation-settled'];

/** A gate in front of the stand-in provider, with its books open. */
export interface Outbound {
  readonly gate: Gate<'user'>;
  readonly provider: Provider;
  readonly books: Books;
  readonly settled: readonly Settled[];
  /** Address of chat completions. */
  readonly url: string;
  /** Sums by counter once everything is settled, each reservation exactly once. */
  sums(): Promise<Readonly<Record<string, number>>>;
  /** Ends everything, and fails when a rejection was left unhandled. */
  close(): Promise<void>;
}

export const ROOMY = { tokensPerMinute: 100_000_000, requestsPerMinute: 1_000_000 };

export async function createOutbound(
  options: Partial<Options<'user'>> = {},
  providerOptions: Partial<ProviderOptions> = {},
): Promise<Outbound> {
  const unhandled = watchUnhandled();
  const books = createBooks(options.store);
  const provider = await createProvider({
    models: { 'gpt-4o': ROOMY, 'gpt-4o-mini': ROOMY },
    firstTokenMs: 0,
    msPerToken: 0,
    outputTokens: 12,
    ...providerOptions,
  });
  const budgets = [
    { tokens: 50_000_000, per: 'hour' },
    { requests: 100_000, per: 'hour' },
  ] as const;
  const gate = createSpillway({
    models: { 'gpt-4o': { budgets }, 'gpt-4o-mini': { budgets } },
    scopes: { user: { budgets: [...budgets, { concurrent: 5_000 }], optional: true } },
    ladder: [],
    ...options,
    store: books.store,
  });
  await gate.ready();
  const settled: Settled[] = [];
  gate.on('reservation-settled', (event) => settled.push(event));

  return {
    gate,
    provider,
    books,
    settled,
    url: `${provider.url}/chat/completions`,
    async sums() {
      await expect.poll(() => books.open, { timeout: 15_000, interval: 2 }).toBe(0);
      expect([...new Set(books.settlements)].filter((times) => times !== 1)).toEqual([]);
      return books.sums();
    },
    async close() {
      await gate.close();
      await provider.close();
      await nextTurn();
      unhandled.stop();
      expect(unhandled.seen).toEqual([]);
    },
  };
}

/** A body of chat completions. */
export function chat(text: string, more: object = {}): { model: string; messages: object[]; [field: string]: unknown } {
  return { model: 'gpt-4o', messages: [{ role: 'user', content: text }], ...more };
}

/** How a fetch is told to post a body. */
export function post(body: unknown, more: RequestInit = {}): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body), ...more };
}
