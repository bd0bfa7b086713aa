import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ChatBody, inputCharge, isFields, parseJson } from './provider/body.js';
import { chatCompletions } from './provider/chat.js';
import {
  ERROR_500,
  type Fault,
  type FaultRatios,
  faultByChance,
  isFault,
  type ScriptEntry,
  spurious429,
  unknownFault,
} from './provider/faults.js';
import { readText, wait, writeReply } from './provider/http.js';
import {
  admit,
  charge,
  createLedger,
  type ModelState,
  type ProviderModel,
  type ProviderStats,
  statsOf,
} from './provider/ledger.js';
import { messages } from './provider/messages.js';
import { openai } from './provider/openai.js';
import { outputTokensOf, planAnswer } from './provider/plan.js';
import { responses } from './provider/responses.js';
import { type Answer, badRequest, type Reply, type Shape } from './provider/shape.js';

export type { ChatBody, ChatMessage } from './provider/body.js';
export type { Fault, FaultRatios, ScriptEntry } from './provider/faults.js';
export type { ModelStats, ProviderModel, ProviderStats } from './provider/ledger.js';
export type { Reply } from './provider/shape.js';

/** How the stand-in provider behaves. Its functions get every call in the words of chat completions. */
export interface ProviderOptions {
  readonly models: Readonly<Record<string, ProviderModel>>;
  /** Tokens of each choice of an answer, before the body's own maximum. @defaultValue 120 */
  readonly outputTokens?: number | ((body: ChatBody) => number);
  /** Counts the prompt for `usage`. @defaultValue the rule by which input is charged: ceil(chars / 4) + messages + 1 */
  readonly countInput?: (body: ChatBody) => number;
  /** Whether refused calls take from the request limit too. @defaultValue false */
  readonly countRefused?: boolean;
  /** @defaultValue 5 */
  readonly firstTokenMs?: number;
  /** @defaultValue 0.05 */
  readonly msPerToken?: number;
  /** What the fault `slow` adds. @defaultValue 1_000 */
  readonly slowMs?: number;
  readonly faults?: FaultRatios;
  /** Uniform in [0, 1). @defaultValue Math.random */
  readonly random?: () => number;
  /** The time by which limits refill, in milliseconds; latency is always real. @defaultValue Date.now */
  readonly now?: () => number;
  /** How many of the last requests are kept. @defaultValue 1_000 */
  readonly keepRequests?: number;
}

/** A call of a model as it arrived. */
export interface ProviderRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Parsed; `undefined` when it was no JSON. */
  readonly body: unknown;
  readonly atMs: number;
}

/**
 * An HTTP server on the loopback interface that answers chat completions and Responses as OpenAI does, and messages as
 * Anthropic does, limits included. A model has one set of limits, whichever way it is called.
 */
export interface Provider {
  /** Base address for SDKs of OpenAI, with `/v1`. */
  readonly url: string;
  /** Base address for SDKs of Anthropic, without. */
  readonly origin: string;
  /** The last calls, oldest first. */
  readonly requests: readonly ProviderRequest[];
  stats(): ProviderStats;
  /** Says what befalls the next calls, one entry each; the header `x-fault` goes before it. */
  script(entries: readonly ScriptEntry[]): void;
  /** Fills the limits and forgets counts, requests and script. Calls that still run count for the time before. */
  reset(): void;
  /** Ends the server and every open connection. */
  close(): Promise<void>;
}

const SHAPES: readonly Shape[] = [chatCompletions, responses, messages];

/** Tokens of each choice that are produced, charged and streamed together. */
const TOKENS_PER_CHUNK = 4;
const MOST_SCRIPT_ENTRIES = 10_000;
const LONGEST_HANG_MS = 120_000;

export async function createProvider(options: ProviderOptions): Promise<Provider> {
  const { outputTokens = 120, countInput = inputCharge, firstTokenMs = 5, msPerToken = 0.05, slowMs = 1_000 } = options;
  const { countRefused = false, faults = {}, random = Math.random, now = Date.now, keepRequests = 1_000 } = options;
  let ledger = createLedger(options.models, now);
  let requests: ProviderRequest[] = [];
  let script: ScriptEntry[] = [];
  let answers = 0;

  const server = createServer((req, res) => {
    handle(req, res).catch(() => res.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const path = req.url?.split('?')[0] ?? '';
    if (req.method === 'GET' && path === '/v1/models') return writeReply(res, modelList());
    const shape = req.method === 'POST' ? SHAPES.find((known) => known.path === path) : undefined;
    if (!shape) {
      const message = `Invalid URL (${req.method} ${path})`;
      return writeReply(res, openai.error({ status: 404, message, type: 'invalid_request_error' }));
    }
    const text = await readText(req);
    if (text === undefined)
      return writeReply(res, shape.error({ status: 413, message: 'The body is too large.', type: 'invalid_request_error' }));
    await call(shape, req, res, text);
  }

  async function call(shape: Shape, req: IncomingMessage, res: ServerResponse, text: string): Promise<void> {
    const current = ledger;
    current.calls++;
    const given = parseJson(text);
    requests.push({ path: shape.path, headers: req.headers, body: given, atMs: now() });
    if (requests.length > keepRequests) requests.shift();
    if (!isFields(given)) return writeReply(res, shape.error(badRequest('The body must be a JSON object.')));
    const objection = shape.objection(given);
    if (objection) return writeReply(res, shape.error(objection));
    const body = shape.chat(given);
    const model = current.models.get(body.model);
    if (!model) return writeReply(res, shape.error(shape.unknownModel(body.model)));

    const refuse = (reply: Reply) => writeReply(res, reply, shape.limitHeaders(model, now()));
    const fate = fateOf(shape, req.headers['x-fault']);
    if (typeof fate === 'object') return refuse(fate);
    if (fate) current.faults[fate]++;
    if (fate === '429') return refuse(shape.error(spurious429(model.name)));
    const full = admit(model, inputCharge(body), countRefused);
    if (full) return refuse(shape.error(shape.full(full)));
    current.accepted++;

    const gone = new AbortController();
    let cut = false;
    res.once('close', () => {
      if (!res.writableEnded && !cut && server.listening) current.aborted++;
      gone.abort();
    });
    if (fate === '500') return refuse(shape.error(ERROR_500));
    if (fate === 'hang') await wait(LONGEST_HANG_MS, gone.signal);
    else if (await answer(shape, res, model, body, fate, gone.signal)) return;
    cut = true;
    res.destroy();
  }

  /** Produces an answer in real time. @returns whether it was written to its end */
  async function answer(
    shape: Shape,
    res: ServerResponse,
    model: ModelState,
    body: ChatBody,
    fault: Fault | undefined,
    gone: AbortSignal,
  ): Promise<boolean> {
    const planned = decide(shape, model, body, fault);
    const { plan } = planned;
    const stream = shape.stream(planned);
    const end = fault === 'reset' ? Math.ceil(plan.length / 2) : plan.length;
    const headers = { ...shape.limitHeaders(model, now()), [shape.idHeader]: `req_${answers}` };
    const beginMs = performance.now() + firstTokenMs + (fault === 'slow' ? slowMs : 0);

    for (let from = 0; from < end; from += TOKENS_PER_CHUNK) {
      const to = Math.min(end, from + TOKENS_PER_CHUNK);
      await wait(beginMs + to * msPerToken - performance.now(), gone);
      if (gone.aborted) return false;
      const produced = plan.choices.reduce((sum, choice) => sum + choice.pieces.slice(from, to).length, 0);
      charge(model, produced);
      model.counted.outputTokens += produced;
      if (!body.stream) continue;
      if (from === 0)
        res.writeHead(200, { ...headers, 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
      for (const event of stream.produced(from, to)) res.write(event);
      // A turn of the event loop for each round lets chunks travel one by one and an abort be seen in between.
      await nextTurn();
    }

    if (body.stream) {
      if (fault === 'reset') return false;
      for (const event of stream.ended()) res.write(event);
      res.end();
      return true;
    }
    const text = JSON.stringify(shape.json(planned));
    const length = Buffer.byteLength(text);
    res.writeHead(200, { ...headers, 'content-type': 'application/json', 'content-length': length });
    if (fault !== 'reset') res.end(text);
    else await new Promise<void>((written) => res.write(text.slice(0, text.length / 2), () => written()));
    return fault !== 'reset';
  }

  function decide(shape: Shape, model: ModelState, body: ChatBody, fault: Fault | undefined): Answer {
    const plan = planAnswer(body, typeof outputTokens === 'function' ? outputTokens(body) : outputTokens);
    const inputTokens = countInput(body);
    model.counted.inputTokens += inputTokens;
    const usage = fault === 'garbage-usage' ? shape.garbageUsage : shape.usage(inputTokens, outputTokensOf(plan));
    return {
      id: `${shape.idPrefix}${++answers}`,
      created: Math.floor(now() / 1_000),
      model: model.name,
      body,
      plan,
      usage: fault === 'no-usage' ? undefined : usage,
    };
  }

  function fateOf(shape: Shape, header: string | string[] | undefined): Fault | Reply | undefined {
    if (header !== undefined) return isFault(header) ? header : shape.error(unknownFault(header));
    const entry = script.shift() ?? faultByChance(faults, random);
    return entry === 'none' ? undefined : entry;
  }

  function modelList(): Reply {
    const data = Object.keys(options.models).map((id) => ({ id, object: 'model', created: 0, owned_by: 'stand-in' }));
    return { status: 200, body: { object: 'list', data } };
  }

  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${origin}/v1`,
    origin,
    get requests() {
      return requests;
    },
    stats: () => statsOf(ledger),
    script(entries) {
      if (script.length + entries.length > MOST_SCRIPT_ENTRIES) throw new RangeError(`at most ${MOST_SCRIPT_ENTRIES} entries`);
      script.push(...entries);
    },
    reset() {
      ledger = createLedger(options.models, now);
      requests = [];
      script = [];
    },
    async close() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
