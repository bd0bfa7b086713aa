import type { Call, Outcome, Rendered, Sent } from '../call.js';
import type { Clock } from '../clock.js';
import { type AnswerFindings, createAnswerReader } from '../dialects/answer-reader.js';
import type { Complaint, Dialect, Draft } from '../dialects/dialect.js';
import type { Registry } from '../dialects/registry.js';
import { createEventFilter } from '../dialects/sse.js';
import type { GovernedRun } from '../run.js';
import type { Visit } from '../visit.js';
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
  /** A visit for a call on `model` begun now, inside the one it belongs to. */
  enter(model: string): Visit;
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
}

/** A request that can be read and sent again. */
interface Outgoing {
  readonly url: string;
  readonly init: RequestInit;
  readonly json: unknown;
}

/**
 * Wraps a fetch: calls in a known dialect are admitted, sent with the admitted model, and settled from what the provider
 * reports; everything else passes untouched.
 */
export function createFetch(parts: FetchParts): FetchLike {
  return async function spillwayFetch(input, init) {
    const outgoing = await readOutgoing(input, init);
    const found = outgoing && parts.registry.detect(outgoing.json, pathOf(outgoing.url));
    if (!outgoing || !found) return parts.base(input, init);
    outgoing.init.signal?.throwIfAborted();
    const objection = parts.objection(found.draft);
    if (objection) return toResponse(parts.complain(objection, found.dialect));
    const call = parts.draft(parts.enter(found.draft.model), found.dialect, found.draft, outgoing.json);
    const outcome = await parts.run(call, (admitted, body) => send(parts, admitted, body, outgoing));
    return 'value' in outcome ? outcome.value : toResponse(parts.render(outcome));
  };
}

function toResponse({ status, headers, body }: Rendered): Response {
  return new Response(body, { status, headers });
}

/** Sends an admitted call and watches its answer. A rejection (no connection, an abort) is left to the run to settle. */
async function send(parts: FetchParts, call: Call, body: unknown, { url, init, json }: Outgoing): Promise<Sent<Response>> {
  const dialect = call.dialect as Dialect;
  const draft = call.draft as Draft;
  const hidesUsage = draft.stream && !draft.wantsUsage;
  const sentBody = hidesUsage ? dialect.rewrite(body, { includeUsage: true }) : body;
  const upstream = new AbortController();
  const signal = AbortSignal.any([upstream.signal, call.visit.signal, ...(init.signal ? [init.signal] : [])]);
  const response = await parts.base(url, { ...(sentBody === json ? init : withBody(init, sentBody)), signal });
  const contentType = response.headers.get('content-type') ?? '';
  const learnBytes = response.ok ? parts.learnBytes(call) : 0;
  return tapStream(response, {
    reader: createAnswerReader({
      dialect,
      contentType,
      tapBytes: parts.tapBytes,
      learnBytes,
      countText: (text) => parts.countText(text, call.model),
    }),
    filter:
      hidesUsage && /^text\/event-stream\b/i.test(contentType)
        ? createEventFilter((event) => dialect.isUsageOnly(event))
        : undefined,
    clock: parts.clock,
    stallMs: parts.stallMs,
    signal,
    abort: () => upstream.abort(),
    watch: parts.watch,
    onFindings: (findings) => {
      if (learnBytes > 0) parts.learn(call, findings);
    },
  });
}

/** Reads a POST with a JSON body; `undefined` for anything else, which must pass as it is. */
async function readOutgoing(input: string | URL | Request, init: RequestInit | undefined): Promise<Outgoing | undefined> {
  if (typeof input === 'string' || input instanceof URL) {
    if ((init?.method ?? 'GET').toUpperCase() !== 'POST') return undefined;
    const json = parseBody(init?.body);
    return json === undefined ? undefined : { url: String(input), init: init ?? {}, json };
  }
  const request = new Request(input, init);
  if (request.method !== 'POST' || !/\bjson\b/i.test(request.headers.get('content-type') ?? '')) return undefined;
  const body = await request.clone().text();
  const json = parseBody(body);
  if (json === undefined) return undefined;
  const { url, method, headers, signal, redirect } = request;
  return { url, init: { method, headers, body, signal, redirect }, json };
}

function parseBody(body: unknown): unknown {
  const text =
    typeof body === 'string'
      ? body
      : body instanceof Uint8Array || body instanceof ArrayBuffer
        ? Buffer.from(body as never).toString('utf8')
        : '';
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The same request with another body: a length that the caller wrote down no longer holds. */
function withBody(init: RequestInit, body: unknown): RequestInit {
  const headers = new Headers(init.headers);
  headers.delete('content-length');
  return { ...init, headers, body: JSON.stringify(body) };
}

function pathOf(url: string): string | undefined {
  try {
    return new URL(url).pathname;
  } catch {
    return undefined;
  }
}
