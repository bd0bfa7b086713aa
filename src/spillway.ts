import { type Core, createCore } from './core.js';
import { type Exchange, passExchange } from './http/exchange.js';
import { createJsonBodyReader } from './http/json-body.js';
import { readIdentity } from './identity.js';
import { createJobs, type Jobs } from './jobs.js';
import { cheaperModel } from './ladder/cheaper-model.js';
import { queue } from './ladder/queue.js';
import { createMount } from './mount.js';
import { type MountOptions, resolveMount } from './mount-options.js';
import type { EventName, Listener } from './observe/events.js';
import type { Tally, UsageQuery } from './observe/ledger.js';
import { logRequests } from './observe/log.js';
import { type Snapshot, takeSnapshot } from './observe/snapshot.js';
import { type Options, resolveOptions } from './options.js';
import { memoryStore } from './stores/memory.js';
import { encodingFor } from './tokens/encodings.js';

/** Takes one request past the gate; what adapters are made of. */
export type Pass<Req> = (exchange: Exchange<Req>) => Promise<void>;

/** One set of budgets, and everything that passes under them. */
export interface Gate<Scopes extends string = string> extends Omit<Jobs, 'identity'> {
  /** For adapters: governs one route. @throws {@link OptionsError} with every fault in the options */
  mount<Req>(options: MountOptions<Scopes, Req>): Pass<Req>;
  /** What is going on now; a copy. */
  snapshot(): Promise<Snapshot>;
  /** Who used most in the last 24 hours. @throws {@link SpillwayError} SPILLWAY_STORE_AWAY when a shared ledger cannot be read */
  usage(query: UsageQuery): Promise<readonly Tally[]>;
  /** @returns a function that takes the listener off again */
  on<E extends EventName>(event: E, listener: Listener<E>): () => void;
  /**
   * Resolves when tokens can be counted exactly, and the store answers as fast as it will; before that they are estimated by character
   * class, and the first decisions may take longer. A store that is away is waited for a few seconds.
   */
  ready(): Promise<void>;
  /** Ends every timer and sends all waiters away. What is held returns by its lease. Idempotent. */
  close(): Promise<void>;
}

/**
 * Makes a gate: once per process and provider account, at start-up.
 * @throws {@link OptionsError} with every fault in the options, each with its path and its mend
 */
export function createSpillway<const Scopes extends string = never>(options: Options<Scopes>): Gate<Scopes> {
  const resolved = resolveOptions(options, {
    ladder: [queue({ waitMs: 1_000 }), cheaperModel()],
    store: () => memoryStore(options.clock ? { clock: options.clock } : {}),
  });
  const core = createCore(resolved);
  const { events, ledger, line, keeper, registry, tokenizer } = core;
  const readBody = createJsonBodyReader(resolved.bodyBytes);
  if (resolved.logger) logRequests(events, resolved.logger);
  const load = () => tokenizer.ready(encodingsOf(core));
  // Loading takes a while and would otherwise hit the first request.
  void load().catch(() => {});
  const ready = async () => void (await Promise.all([load(), resolved.store.ready?.()]));

  return {
    ...createJobs(core, undefined, (given) => readIdentity(given, resolved.scopes).identity),
    mount(mountOptions) {
      const mount = createMount(
        core,
        resolveMount(mountOptions, resolved, (name) => registry.byName(name)),
      );
      return (exchange) => passExchange(core, mount, readBody, exchange);
    },
    snapshot: () => takeSnapshot(core),
    usage: (query) => ledger.usage(query),
    on: (event, listener) => events.on(event, listener),
    ready,
    async close() {
      line.close();
      keeper.close();
      await Promise.all([resolved.store.close(), ledger.close?.()]);
    },
  };
}

function encodingsOf({ options }: Core) {
  const names = options.models.size > 0 ? [...options.models.values()].map(({ name, countAs }) => countAs ?? name) : [''];
  return [...new Set(names.map(encodingFor))];
}
