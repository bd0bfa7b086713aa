import type { Call, Ending, Identity, Outcome, Refusal, Rendered, Send, Usage } from './call.js';
import type { Core } from './core.js';
import { type AnswerFindings, type AnswerReader, createAnswerReader } from './dialects/answer-reader.js';
import { checkHead } from './http/head.js';
import type { Instead } from './http/held-response.js';
import { limitHeaders } from './http/ratelimit-headers.js';
import { outcomeHeaders, passedOnHeaders, renderAnswer } from './http/render.js';
import { renderOutcome } from './jobs.js';
import type { HeaderChoice } from './mount-options.js';
import { hashedScopes, modelFact } from './observe/facts.js';
import { createPassage, type Passage } from './passage.js';
import { type RunHow, rescue } from './run.js';
import { jsonText } from './tokens/json-text.js';
import type { Visit } from './visit.js';

/** How the response of a request came to its end. */
export interface Closing {
  readonly by: Ending['by'];
  /** 0: no head was sent. */
  readonly status: number;
  readonly findings: AnswerFindings | undefined;
  readonly sentBytes: number;
  /** Whether the bytes were readable: not compressed by the handler. */
  readonly isPlain: boolean;
}

/** A request that may ask for admission. */
export interface Passing {
  readonly visit: Visit;
  /** What the handler sees. */
  readonly passage: Passage;
  /** Whether the handler was let run. */
  readonly hasPassed: boolean;
  run(send: Send<void>): Promise<Outcome<void>>;
  render(outcome: Exclude<Outcome<never>, { value: never }>): Rendered;
  /** Looks for an answer in the place of a handler that answers with this status; `undefined`: the handler's own goes out. */
  rescue(status: number): Instead | undefined;
  /** Headers for the head that goes out now with this status. */
  headers(status: number): Readonly<Record<string, string>>;
  /** Reads the handler's response when it may be the call's own; `undefined`: nothing is to be read. */
  reader(contentType: string): AnswerReader | undefined;
  /** The response came to its end. Once. */
  close(closing: Closing): Ending;
}

/** What a mount knows of the requests that passed it before. */
export interface MountMemory {
  /** Handlers inside of which calls were seen: from then on a request to one of them without a call made none. */
  readonly calling: Set<string>;
  hasToldUnseen: boolean;
}

export interface PassingParts {
  readonly core: Core;
  readonly memory: MountMemory;
  /** The route that the framework matched, as far as it is known when this is asked. */
  handler(): string;
  readonly visit: Visit;
  readonly call: Call;
  /** Size of the body as it came, in bytes; `undefined`: not known. */
  readonly bodyBytes: number | undefined;
  readonly headers: HeaderChoice;
  identityOf(given: unknown): Identity;
  /** What may be shown of a rendered answer. */
  shown(rendered: Rendered): Rendered;
}

/** Handlers that are told apart at one mount: where frameworks name none they go by path, and paths may hold ids. */
const MOST_HANDLERS = 1_000;
/** Output charged at most for an answer that nobody could read, in tokens. */
const MOST_UNSEEN_OUTPUT_TOKENS = 4_096;

/** Runs inside a visit that are the same request at another mount, and no calls. */
const mountsInside = new WeakMap<Visit, number>();

/** Begins the way of one request past one mount. From here on it counts as open, until it is closed. */
export function createPassing(parts: PassingParts): Passing {
  return new RequestPassing(parts);
}

/** One of these is made for each request: its methods are shared, and what most requests never ask for is made when asked for. */
class RequestPassing implements Passing, RunHow {
  readonly kind = 'request';
  readonly visit: Visit;
  readonly #parts: PassingParts;
  readonly #startMs: number;
  #passage: Passage | undefined;
  #handler: string | undefined;
  #hasPassed = false;
  #isAnswered = false;

  constructor(parts: PassingParts) {
    const { core, visit, call } = parts;
    this.#parts = parts;
    this.visit = visit;
    this.#startMs = core.options.clock.now();
    // A refused request's visit has no run under way; its dialect still says who speaks to people.
    visit.call = call;
    core.openVisits++;
  }

  get passage(): Passage {
    const { core, visit, call, identityOf } = this.#parts;
    this.#passage ??= createPassage(core, visit, call, identityOf);
    return this.#passage;
  }

  get hasPassed(): boolean {
    return this.#hasPassed;
  }

  run(send: Send<void>): Promise<Outcome<void>> {
    const { core, visit, call } = this.#parts;
    for (let outer = visit.outer; outer; outer = outer.outer) mountsInside.set(outer, (mountsInside.get(outer) ?? 0) + 1);
    const sendPassed: Send<void> = (admitted, body) => {
      this.#hasPassed = true;
      return send(admitted, body);
    };
    return core.run(call, sendPassed, this);
  }

  expectsRuns(): boolean {
    const { memory, visit } = this.#parts;
    const mounts = visit.runsSeen === 0 ? 0 : (mountsInside.get(visit) ?? 0);
    if (visit.runsSeen === mounts) return this.#makesCalls;
    if (memory.calling.size < MOST_HANDLERS) memory.calling.add(this.#handlerName);
    return false;
  }

  onSettled(_usage: Usage | undefined, ending: Ending): void {
    this.#report(ending);
  }

  render(outcome: Exclude<Outcome<never>, { value: never }>): Rendered {
    this.#isAnswered = true;
    return this.#withLimits(this.#parts.shown(renderOutcome(this.#parts.core, outcome)));
  }

  rescue(status: number): Instead | undefined {
    const { visit, call } = this.#parts;
    if (status < 400 || !visit.escaped || !call.dialect || visit.leaver.hasLeft) return undefined;
    let isDeclined = false;
    const decline = () => {
      isDeclined = true;
    };
    return { found: this.#findAnswer(() => isDeclined), decline };
  }

  headers(status: number): Readonly<Record<string, string>> {
    const { core, visit, call, headers } = this.#parts;
    // The application's own error before anybody was let in, or sent away: there is no outcome to tell of.
    if (!this.#hasPassed && !this.#isAnswered && !visit.escaped) return {};
    if (visit.escaped && !visit.rescue) visit.note('shed', undefined);
    const isPassedOn = visit.escaped && !visit.rescue && (status === 429 || status === 503);
    const waits = isPassedOn ? passedOnHeaders(core.toldWaitMs(visit.escaped as Refusal)) : {};
    visit.shared.retryAfter ??= Number(waits['retry-after']) || undefined;
    const outcome = headers.outcome ? outcomeHeaders(visit.shared.worst, visit.shared.model ?? call.model) : {};
    return Object.assign(outcome, waits, this.#limits());
  }

  reader(contentType: string): AnswerReader | undefined {
    const { core, visit, call } = this.#parts;
    const { worst } = visit.shared;
    const isCall = visit.runsSeen === 0 && !this.#makesCalls;
    const learnBytes = worst !== 'cheaper' && worst !== 'shorter' ? core.learnBytes(call) : 0;
    if ((!isCall && learnBytes === 0) || !call.dialect) return undefined;
    const countText = (text: string) => core.countText(text, call.model);
    return createAnswerReader({ dialect: call.dialect, contentType, tapBytes: core.options.tapBytes, learnBytes, countText });
  }

  close(closing: Closing): Ending {
    const { core, visit, call } = this.#parts;
    const { shared } = visit;
    const { by, status, findings, sentBytes, isPlain } = closing;
    core.openVisits--;
    if (!visit.outer) shared.isOver = true;
    if ((visit.escaped && !visit.rescue) || (!this.#hasPassed && !this.#isAnswered)) visit.note('shed', undefined);
    if (by === 'done' && status === 200 && findings && (shared.worst === 'passed' || shared.worst === 'queued'))
      core.learn(call, findings);
    const counted = findings?.outputTokens ?? (isPlain ? Math.ceil(sentBytes / 4) : undefined);
    // Bytes that nobody could read may repeat the whole text with every chunk.
    const most = findings?.isRead ? Infinity : (call.maximumOutputTokens ?? MOST_UNSEEN_OUTPUT_TOKENS);
    const sentOutputTokens = counted === undefined ? undefined : Math.min(counted, most);
    const ending: Ending = { by, status, usage: findings?.usage, sentOutputTokens };
    // Budgets may come from the application, which may fail.
    this.#chargeUnseen(closing)?.catch((error) => core.events.emit('store-failed', { operation: 'settle', error }));
    // A request that passed is reported once it is settled.
    if (!this.#hasPassed) this.#report(ending);
    return ending;
  }

  /** Whether calls were seen in this request's handler before. */
  get #makesCalls(): boolean {
    const { calling } = this.#parts.memory;
    return calling.size > 0 && calling.has(this.#handlerName);
  }

  /** Told once: frameworks forget the route on their way out. */
  get #handlerName(): string {
    this.#handler ??= this.#parts.handler();
    return this.#handler;
  }

  #limits(): Record<string, string> {
    const { core, visit, call, headers } = this.#parts;
    const { standings, retryAfter } = visit.shared;
    const dialect = call.dialect ?? core.registry.fallback;
    const nowMs = core.options.clock.now();
    return limitHeaders({ standings: standings.values(), dialect, choice: headers, nowMs, retryAfter });
  }

  /** Mounts around this one write their headers after it, and must not contradict the wait that it told. */
  #withLimits(rendered: Rendered): Rendered {
    this.visit.shared.retryAfter = Number(rendered.headers['retry-after']) || undefined;
    return { ...rendered, headers: { ...rendered.headers, ...this.#limits() } };
  }

  async #findAnswer(isDeclined: () => boolean): Promise<Rendered | undefined> {
    const { core, visit, call, shown } = this.#parts;
    const answer = await rescue(visit, call, (step, why, error) =>
      core.events.emit('step-skipped', { ...this.#facts(), step: step.name, why, error }),
    );
    if (!answer) return undefined;
    visit.rescue = undefined;
    const rendered = this.#withLimits(shown(renderAnswer(answer, call)));
    checkHead(rendered);
    if (isDeclined()) return undefined;
    visit.rescue = answer;
    visit.note(answer.kind, answer.model);
    core.ledger.addAnswer(visit.identity, answer.kind);
    return rendered;
  }

  /** An answered request whose call nobody could see is charged by its size, or by the handler's word. */
  #chargeUnseen({ by, status, findings, sentBytes }: Closing): Promise<void> | undefined {
    const { core, memory, visit, call, bodyBytes } = this.#parts;
    if (call.draft || visit.runsSeen > 0 || visit.verdict === 'cancel') return undefined;
    if (visit.verdict) return core.charge(call, visit.verdict.usage);
    const isServed = this.#hasPassed && by === 'done' && status >= 200 && status < 300;
    if (this.#makesCalls || !isServed || typeof call.body !== 'object' || call.body === null) return undefined;
    const inputTokens = Math.ceil((bodyBytes ?? lengthOf(call.body)) / 4);
    const outputTokens = Math.min(findings?.outputTokens ?? Math.ceil(sentBytes / 4), MOST_UNSEEN_OUTPUT_TOKENS);
    if (!memory.hasToldUnseen) core.events.emit('call-unseen', { route: visit.route, tokens: inputTokens + outputTokens });
    memory.hasToldUnseen = true;
    return core.charge(call, { inputTokens, outputTokens });
  }

  #facts() {
    const { visit, call } = this.#parts;
    const requestedModel = modelFact(call.requestedModel);
    return {
      route: visit.route,
      scopes: hashedScopes(visit),
      requestedModel,
      model: modelFact(visit.shared.model ?? call.model),
    };
  }

  #report({ status }: Ending): void {
    const { core, visit, call } = this.#parts;
    if (!core.events.has('request-answered')) return;
    const { inputTokens, outputTokens, calls, worst } = visit.shared;
    const { clock } = core.options;
    core.events.emit('request-answered', {
      ...this.#facts(),
      outcome: worst,
      status,
      inputTokens: call.inputTokens,
      usage: calls > 0 ? { inputTokens, outputTokens } : undefined,
      calls,
      waitedMs: visit.waitedMs(clock),
      durationMs: clock.now() - this.#startMs,
    });
  }
}

/** Size of a body as JSON, in characters; no depth of it is too much. */
function lengthOf(body: unknown): number {
  const { text, restLength } = jsonText(body);
  return text.length + restLength;
}
