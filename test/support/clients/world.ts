import { expect } from 'vitest';
import type { Options, SpillwayEvents } from '../../../src/index.js';
import { listen, until } from '../loopback.js';
import { createOutbound, type Outbound, ROOMY } from '../outbound.js';
import type { ProviderOptions } from '../provider.js';
import { type ConnectOptions, type Heard, MAXIMUM, SDKS, type Sdk, type SdkClient } from './sdks.js';
import { FRAMEWORKS, type Handler } from './servers.js';

export type Mode = 'create' | 'stream';
export const MODES: readonly Mode[] = ['create', 'stream'];

export type FrameworkName = keyof typeof FRAMEWORKS;
export type SdkName = keyof typeof SDKS;
export const FRAMEWORK_NAMES = Object.keys(FRAMEWORKS) as FrameworkName[];
/** Every framework with every SDK. */
export const PLACES = FRAMEWORK_NAMES.flatMap((framework) =>
  (Object.keys(SDKS) as SdkName[]).map((sdk): [FrameworkName, SdkName] => [framework, sdk]),
);

/** A client, a server in the middle with spillway, and the stand-in provider behind it. */
export interface ClientWorld {
  readonly sdk: Sdk;
  readonly outbound: Outbound;
  /** Address of the server, without a path. */
  readonly origin: string;
  readonly answered: readonly SpillwayEvents['request-answered'][];
  readonly refused: readonly SpillwayEvents['call-refused'][];
  client(how?: ConnectOptions): SdkClient;
  ask(mode: Mode, text: string, how?: ConnectOptions): Promise<Heard>;
  outcomes(): readonly string[];
  providerCalls(): number;
  /** Waits until nothing is under way, and proves that each hold was settled once and nothing is left of it. */
  expectNothingHeld(): Promise<void>;
  close(): Promise<void>;
}

export interface WorldOptions {
  readonly options?: Partial<Options<'user'>>;
  readonly provider?: Partial<ProviderOptions>;
  /** @defaultValue passes the body on through the same SDK */
  readonly handler?: (outbound: Outbound) => Handler;
}

export async function createClientWorld(
  framework: FrameworkName,
  sdkName: SdkName,
  { options = {}, provider = {}, handler }: WorldOptions = {},
): Promise<ClientWorld> {
  const sdk = SDKS[sdkName];
  const { model, cheaper } = sdk;
  const outbound = await createOutbound(
    { models: { [model]: {}, [cheaper]: {} }, scopes: { user: { budgets: [{ concurrent: 5_000 }] } }, ...options },
    { models: { [model]: ROOMY, [cheaper]: ROOMY }, outputTokens: MAXIMUM, ...provider },
  );
  const { gate, books } = outbound;
  const answered: SpillwayEvents['request-answered'][] = [];
  const refused: SpillwayEvents['call-refused'][] = [];
  gate.on('request-answered', (event) => answered.push(event));
  gate.on('call-refused', (event) => refused.push(event));
  const forward = () => sdk.connect(outbound.provider.origin, { fetch: gate.fetch, maxRetries: 0 }).forward;
  const server = await listen(FRAMEWORKS[framework](gate, handler?.(outbound) ?? forward(), sdk.errorBody));
  const client = (how?: ConnectOptions) => sdk.connect(server.url, how);

  return {
    sdk,
    outbound,
    origin: server.url,
    answered,
    refused,
    client,
    ask: (mode, text, how) => hear(client(how), mode, text),
    outcomes: () => answered.map(({ outcome }) => outcome),
    providerCalls: () => outbound.provider.stats().calls,
    async expectNothingHeld() {
      await until(async () => {
        const { openRequests, liveReservations, queueDepth } = await gate.snapshot();
        return openRequests + liveReservations + queueDepth + books.open === 0;
      });
      expect(books.settlements.filter((times) => times !== 1)).toEqual([]);
      expect(Object.keys(await books.sums()).filter((name) => name.endsWith('concurrent'))).toEqual([]);
    },
    async close() {
      await server.close();
      await outbound.close();
    },
  };
}

/** Asks, and listens to the end. */
async function hear(client: SdkClient, mode: Mode, text: string): Promise<Heard> {
  if (mode === 'create') return client.create(text);
  const hearing = await client.stream(text);
  let heard = '';
  let finish: Heard['finish'];
  for await (const said of hearing) {
    heard += said.text ?? '';
    finish = said.finish ?? finish;
  }
  return { text: heard, finish, ...hearing.head };
}
