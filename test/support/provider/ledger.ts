import { type Bucket, createBucket } from './bucket.js';
import { FAULTS, type Fault } from './faults.js';
import type { FullLimit } from './shape.js';

/** What the provider grants for one model. */
export interface ProviderModel {
  readonly tokensPerMinute: number;
  readonly requestsPerMinute: number;
}

export interface ModelStats {
  /** Calls that the request limit counted. */
  readonly requests: number;
  /** Tokens that the token limit counted: input by its own rule, and output as produced. */
  readonly tokensCharged: number;
  /** Input as usage reports it. */
  readonly inputTokens: number;
  /** Output produced, whether or not anybody was left to read it. */
  readonly outputTokens: number;
  readonly refused429: number;
}

export interface ProviderStats {
  /** Calls of models that arrived, well formed or not. */
  readonly calls: number;
  /** Calls that a model began to work on. */
  readonly accepted: number;
  /** Calls refused because a limit was full; spurious ones are under `faults`. */
  readonly refused429: number;
  /** Calls whose caller left before the answer was complete. */
  readonly aborted: number;
  /** Calls by the fault that befell them. */
  readonly faults: Readonly<Record<Fault, number>>;
  readonly models: Readonly<Record<string, ModelStats>>;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A model at work: its two limits and what was counted so far. */
export interface ModelState {
  readonly name: string;
  readonly tokens: Bucket;
  readonly requests: Bucket;
  readonly counted: Mutable<ModelStats>;
}

/** All counts since the start or the last reset. */
export interface Ledger {
  calls: number;
  accepted: number;
  aborted: number;
  readonly faults: Record<Fault, number>;
  readonly models: ReadonlyMap<string, ModelState>;
}

export function createLedger(models: Readonly<Record<string, ProviderModel>>, now: () => number): Ledger {
  const state = ([name, model]: [string, ProviderModel]): [string, ModelState] => [
    name,
    {
      name,
      tokens: createBucket(model.tokensPerMinute, now),
      requests: createBucket(model.requestsPerMinute, now),
      counted: { requests: 0, tokensCharged: 0, inputTokens: 0, outputTokens: 0, refused429: 0 },
    },
  ];
  return {
    calls: 0,
    accepted: 0,
    aborted: 0,
    faults: Object.fromEntries(FAULTS.map((fault) => [fault, 0])) as Record<Fault, number>,
    models: new Map(Object.entries(models).map(state)),
  };
}

export function statsOf(ledger: Ledger): ProviderStats {
  const models = Object.fromEntries([...ledger.models].map(([name, model]) => [name, { ...model.counted }]));
  return {
    calls: ledger.calls,
    accepted: ledger.accepted,
    refused429: Object.values(models).reduce((sum, model) => sum + model.refused429, 0),
    aborted: ledger.aborted,
    faults: { ...ledger.faults },
    models,
  };
}

export function charge(model: ModelState, tokens: number): void {
  model.tokens.take(tokens);
  model.counted.tokensCharged += tokens;
}

/** Charges a call of `wanted` tokens. @returns the limit that is full, and then nothing was charged */
export function admit(model: ModelState, wanted: number, countRefused: boolean): FullLimit | undefined {
  const requestsMs = model.requests.waitMs(1);
  const tokensMs = model.tokens.waitMs(wanted);
  if (requestsMs > 0 || tokensMs > 0) {
    model.counted.refused429++;
    if (countRefused) {
      model.requests.drain(1);
      model.counted.requests++;
    }
    return tokensMs > requestsMs
      ? { model: model.name, kind: 'tokens', bucket: model.tokens, wanted, waitMs: tokensMs }
      : { model: model.name, kind: 'requests', bucket: model.requests, wanted: 1, waitMs: requestsMs };
  }
  model.requests.take(1);
  model.counted.requests++;
  charge(model, wanted);
  return undefined;
}
