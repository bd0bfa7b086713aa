import type { Call, Outcome, Usage } from '../../src/call.js';
import { type Core, createCore } from '../../src/core.js';
import { openaiChat } from '../../src/dialects/openai-chat.js';
import type { Jobs } from '../../src/jobs.js';
import { type Options, resolveOptions } from '../../src/options.js';
import { createSpillway } from '../../src/spillway.js';
import { memoryStore } from '../../src/stores/memory.js';
import type { Store, Window } from '../../src/stores/store.js';
import { Visit, type VisitFacts } from '../../src/visit.js';
import { createVirtualClock, settled } from './virtual-clock.js';

/** What the empty conversation of {@link bodyOf} is estimated at. */
export const INPUT = 3;
export const MINUTE: Window = { kind: 'sliding', ms: 60_000 };
export const RUNNING: Window = { kind: 'concurrent' };

/** A call that holds `tokens` in all, up to {@link INPUT} + 512 of them on sliding windows. */
export function bodyOf(tokens: number, model = 'gpt-4o', fields: object = {}): { readonly model: string } {
  return { model, messages: [], max_tokens: tokens - INPUT, ...fields } as never;
}

/** A provider's answer that used `tokens` in all. */
export function answerOf(tokens: number) {
  return { usage: { prompt_tokens: INPUT, completion_tokens: tokens - INPUT } };
}

/** Time and store of a test: a memory store under a virtual clock, or what is made of it. */
export function createGround(wrap: (store: Store) => Store = (store) => store) {
  const clock = createVirtualClock();
  const counts = memoryStore({ clock });
  return {
    clock,
    counts,
    options: { clock, store: wrap(counts), random: () => 0, overheadRatio: 0 } satisfies Options,
    /** What a counter holds. */
    async used(counter: string, window: Window = MINUTE): Promise<number> {
      return (await counts.peek([{ counter, window }]))[0] as number;
    },
  };
}

/** A gate on such a ground, and calls through it. */
export function createTestGate(options: Options<string> = {}, wrap?: (store: Store) => Store) {
  const ground = createGround(wrap);
  const gate = createSpillway<string>({ ...ground.options, ...options });
  /** The bodies that were sent, in their order. */
  const sent: { readonly model: string; readonly max_tokens?: number }[] = [];

  /** A run that holds `tokens` and uses `uses`; `during` happens while it is under way. */
  function ask<T>(
    tokens: number,
    {
      model,
      uses = tokens,
      during,
      by = gate,
    }: { model?: string; uses?: number; during?: () => Promise<T>; by?: Pick<Jobs, 'run'> } = {},
  ): Promise<Outcome<ReturnType<typeof answerOf>>> {
    return by.run({ body: bodyOf(tokens, model) }, async ({ body }) => {
      sent.push(body as never);
      await during?.();
      return answerOf(uses);
    });
  }

  return { ...ground, gate, sent, ask };
}

/** A run that stays under way until it is told to end. */
export function createPause() {
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return {
    during: () => ended,
    end(): Promise<void> {
      end();
      return settled();
    },
  };
}

/** The core without the ways into it that mounts and jobs are: visits with signals, requests of several calls. */
export function createTestCore(options: Options<string> = {}, wrap?: (store: Store) => Store, ground = createGround(wrap)) {
  const core = createCore(resolveOptions({ ...ground.options, ...options }, { ladder: [], store: () => ground.counts }));

  function visitIn(facts: Partial<VisitFacts> = {}): Visit {
    const { options: resolved, scopeNames: scopes, context } = core;
    const outer = context.getStore();
    return new Visit({ identity: outer?.identity ?? {}, scopes, place: 'call', ladder: resolved.ladder, outer, ...facts });
  }
  function callIn(visit: Visit, tokens: number, model?: string, callsPerRequest?: number): Call {
    const body = bodyOf(tokens, model);
    return core.draft(visit, openaiChat, openaiChat.read(body), body, callsPerRequest);
  }
  return { ...ground, core, visitIn, callIn, run: sender(core) };
}

/** Runs a call that ends well and used what is said; `during` happens while it is under way. */
function sender({ run }: Core) {
  return (
    call: Call,
    { uses, during, kind = 'call' }: { uses?: number; during?: () => Promise<unknown>; kind?: 'call' | 'request' } = {},
  ): Promise<Outcome<void>> =>
    run(
      call,
      async () => {
        await during?.();
        const usage: Usage | undefined = uses === undefined ? undefined : { inputTokens: INPUT, outputTokens: uses - INPUT };
        return { value: undefined, ended: Promise.resolve({ by: 'done', status: 200, usage, sentOutputTokens: undefined }) };
      },
      { kind },
    );
}
