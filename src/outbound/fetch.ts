import type { Call, Outcome, Rendered, Sent } from '../call.js';
import type { Clock } from '../clock.js';
import { type AnswerFindings, createAnswerReader } from '../dialects/answer-reader.js';
import type { Complaint, Dialect, Draft } from '../dialects/dialect.js';
import { carefulReading } from '../dialects/reading.js';
import type { Registry } from '../dialects/registry.js';
import { createEventFilter } from '../dialects/sse.js';
import type { GovernedRun } from '../run.js';
import type { Visit } from '../visit.js';
import { createLeaving, type Leaving } from './leaving.js';
import { mayHideCall, type Outgoing, readOutgoing } from './outgoing.js';
import { tapStream } from './stream-tap.js';

/** A fetch as SDKs take it. */
export type FetchLike = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** What the governed fetch is made of. */
export interface FetchParts {
  readonly run: GovernedRun;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly stallMs: number;
  readonly tapBytes: number;
  /** The fetch underneath. */
  readonly base: FetchLike;
  /** A visit for a call on `model` begun now, inside the one it belongs to; `signal` fires when its caller has left. */
  enter(model: string, signal: AbortSignal): Visit;
  draft(visit: Visit, dialect: Dialect, draft: Draft, body: unknown): Call;
  /** Why a model is not allowed; `undefined`: it is. */
  objection(draft: Draft): Complaint | undefined;
  countText(text: string, model: string | undefined): number;
  watch(watcher: () => void): () => void;
  /** Longest answer that a step wants to learn from this call, in bytes; 0: none does. */
  learnBytes(call: Call): number;
  learn(call: Call, findings: AnswerFindings): void;
  /** Writes an outcome that is no response of the provider. */
  render(outcome: Exclude<Outcome<Response>, { value: Response }>): Rendered;
  complain(complaint: Complaint, dialect: Dialect): Rendered;
  /** Hears of a body that may be a call and cannot be read. */
  unread(): void;
}

/**
 * Wraps a fetch: calls in a known dialect are admitted, sent with the admitted model, and settled from what the provider
 * reports; everything else passes untouched.
 */
export function createFetch(parts: FetchParts): FetchLike {
  return async function spillwayFetch(input, init) {
    const outgoing = await readOutgoing(input, init);
    const found = outgoing && parts.registry.detect(outgoing.json, new URL(outgoing.url).pathname);
    if (!outgoing || !found) {
      if (mayHideCall(input, init)) parts.unread();
      return parts.base(input, init);
    }
    const { dialect, draft } = found;
    const objection = parts.objection(draft);
    if (objection) return toResponse(parts.complain(objection, dialect));
    const leaving = createLeaving();
    const visit = parts.enter(draft.model, leaving.signal);
    leaving.follow(outgoing.signal);
    leaving.follow(visit.outer?.signal);
    return pass(parts, parts.draft(visit, dialect, draft, outgoing.json), outgoing, leaving);
  };
}

/** Takes a call past the gate; whoever leaves while it waits costs nothing. */
async function pass(parts: FetchParts, call: Call, outgoing: Outgoing, leaving: Leaving): Promise<Response> {
  let isSent = false;
  try {
    leaving.signal.throwIfAborted();
    const outcome = await parts.run(call, async (admitted, body) => {
      const sent = await send(parts, admitted, body, outgoing, leaving);
      isSent = true;
      return sent;
    });
    if ('value' in outcome) return outcome.value;
    leaving.signal.throwIfAborted();
    return toResponse(parts.render(outcome));
  } finally {
    // Once it is sent, its signals matter until its body has come to its end.
    if (!isSent) leaving.release();
  }
}

function toResponse({ status, headers, body }: Rendered): Response {
  return new Response(body, { status, headers });
}

/** How long an answer may lie unread once its request has been answered, in milliseconds. */
const ORPHAN_MS = 5_000;

/** Sends an admitted call and watches its answer. A rejection (no connection, an abort) is left to the run to settle. */
async function send(parts: FetchParts, call: Call, body: unknown, outgoing: Outgoing, leaving: Leaving): Promise<Sent<Response>> {
  const dialect = call.dialect as Dialect;
  const draft = call.draft as Draft;
  const hidesUsage = draft.stream && !draft.wantsUsage;
  const sentBody = hidesUsage ? dialect.rewrite(body, { includeUsage: true }) : body;
  const response = await outgoing.send(parts.base, sentBody, leaving.signal, urlFor(call, dialect, outgoing.url));
  const contentType = response.headers.get('content-type') ?? '';
  const learnBytes = parts.learnBytes(call);
  return tapStream(response, {
    reader: createAnswerReader({
      dialect,
      contentType,
      tapBytes: parts.tapBytes,
      learnBytes,
      countText: (text) => parts.countText(text, call.model),
    }),
    filter: hidesUsage && isEventStream(contentType) ? createEventFilter(carefulReading(dialect).isUsageOnly) : undefined,
    clock: parts.clock,
    // What a request left behind unread is given up sooner: nobody will come back for it, and others need its room.
    stallMs: () => (call.visit.shared.isOver ? Math.min(parts.stallMs, ORPHAN_MS) : parts.stallMs),
    leaving,
    watch: parts.watch,
    onFindings: (findings) => {
      if (learnBytes > 0) parts.learn(call, findings);
    },
  });
}

/** Where a substitute is called, when the path names the model; `undefined`: where the call was to go. */
function urlFor({ model, requestedModel }: Call, dialect: Dialect, given: string): string | undefined {
  if (model === undefined || model === requestedModel || !dialect.rewritePath) return undefined;
  const url = new URL(given);
  url.pathname = dialect.rewritePath(url.pathname, model);
  return url.href;
}

const isEventStream = (contentType: string): boolean => /^text\/event-stream\b/i.test(contentType);
