import type { Answer, Call, Ending, Identity, Outcome, Rendered, Send } from './call.js';
import type { Core } from './core.js';
import { type AnswerFindings, type AnswerReader, createAnswerReader } from './dialects/answer-reader.js';
import type { Dialect, Draft } from './dialects/dialect.js';
import { outcomeHeaders, renderAnswer, renderComplaint } from './http/render.js';
import { readIdentity } from './identity.js';
import type { ResolvedMount } from './mount-options.js';
import { hashedScopes } from './observe/facts.js';
import { createPassage, type Passage, renderOutcome } from './passage.js';
import { rescue } from './run.js';
import { Visit } from './visit.js';

/** A request at the gate, as an adapter reads it. */
export interface Arrival<Req> {
  readonly req: Req;
  readonly body: unknown;
  /** Size of the body as it came, in bytes. */
  readonly bodyBytes: number;
  readonly path: string;
  /** What the application's `identify` returned. */
  readonly given: unknown;
  /** Fires when the client leaves before its response is complete. */
  readonly signal: AbortSignal;
}

/** A request that may ask for admission. */
export interface Passing {
  /** What the handler sees. */
  readonly passage: Passage;
  run(send: Send<void>): Promise<Outcome<void>>;
  render(outcome: Exclude<Outcome<void>, { value: void }>): Rendered;
  /** Whether a refused call was given up by a handler that now answers with this status. */
  needsRescue(status: number): boolean;
  rescue(): Promise<Rendered | undefined>;
  /** Headers for the head that goes out now. */
  headers(): Readonly<Record<string, string>>;
  /** Reads the handler's response when it may be the call's own; `undefined`: nothing is to be read. */
  reader(contentType: string, isPlain: boolean): AnswerReader | undefined;
  /** The response came to its end. */
  close(by: Ending['by'], status: number, findings: AnswerFindings | undefined, sentBytes: number): Ending;
}

/** One mounted route. */
export interface Mount<Req> {
  readonly options: ResolvedMount<Req>;
  /** Begins a visit, or says why there can be none. */
  open(arrival: Arrival<Req>): Passing | Rendered;
}

/** Output charged at most for an answer that nobody could read, in tokens. */
const MOST_UNSEEN_OUTPUT_TOKENS = 4_096;

export function createMount<Req>(core: Core, options: ResolvedMount<Req>): Mount<Req> {
  const { registry, events, options: gate } = core;
  /** Runs were seen inside: from then on a request without one made no call. */
  let hasSeenRuns = false;
  let hasToldUnseen = false;
  const identityOf = (given: unknown): Identity => readIdentity(given, gate.scopes).identity;

  function open(arrival: Arrival<Req>): Passing | Rendered {
    const { dialect, draft } = readDraft(arrival);
    const speaks = dialect ?? registry.fallback;
    const { identity, missing } = readIdentity(arrival.given, gate.scopes);
    if (missing.length > 0) {
      for (const scope of missing) events.emit('identity-missing', { route: options.route, scope });
      const message = `This request carries no identity for: ${missing.join(', ')}. Please sign in.`;
      return renderComplaint({ status: 401, kind: 'unidentified', message }, speaks, undefined);
    }
    const objection = draft && core.objection(draft);
    if (objection) return renderComplaint(objection, speaks, undefined);
    const visit = new Visit({
      identity,
      scopes: core.scopeNames,
      route: options.route,
      place: `mount:${options.route ?? ''}`,
      ladder: options.ladder,
      mountBudgets: options.budgets,
      signal: arrival.signal,
      outer: core.context.getStore(),
    });
    return pass(visit, core.draft(visit, dialect, draft, arrival.body, options.callsPerRequest(arrival.req)), arrival);
  }

  function readDraft({ body, path }: Arrival<Req>): { dialect?: Dialect; draft?: Draft } {
    if (!options.dialect) return registry.detect(body, path) ?? {};
    const draft = options.dialect.read(body, path);
    return draft ? { dialect: options.dialect, draft } : { dialect: options.dialect };
  }

  function pass(visit: Visit, call: Call, arrival: Arrival<Req>): Passing {
    const startMs = gate.clock.now();
    const { shared } = visit;
    let hasPassed = false;
    // A refused request's visit has no run under way; its dialect still says who speaks to people.
    visit.call = call;
    core.openVisits++;

    async function rescueWith(): Promise<Rendered | undefined> {
      const answer: Answer | undefined = await rescue(visit, call, (step, why, error) =>
        events.emit('step-skipped', { ...facts(), step: step.name, why, error }),
      );
      return answer && renderAnswer(answer, call);
    }
    function facts() {
      return {
        route: options.route,
        scopes: hashedScopes(visit),
        requestedModel: call.requestedModel,
        model: shared.model ?? call.model,
      };
    }

    return {
      passage: createPassage(core, visit, call, identityOf),
      run(send) {
        const sendPassed: Send<void> = (admitted, body) => {
          hasPassed = true;
          return send(admitted, body);
        };
        const expectsRuns = () => {
          hasSeenRuns ||= visit.runsSeen > 0;
          return hasSeenRuns && visit.runsSeen === 0;
        };
        return core.run(call, sendPassed, { kind: 'request', expectsRuns, onSettled: (_usage, ending) => report(ending) });
      },
      render: (outcome) => renderOutcome(core, outcome),
      needsRescue: (status) =>
        status >= 400 && visit.escaped !== undefined && call.dialect !== undefined && !arrival.signal.aborted,
      rescue: rescueWith,
      headers() {
        if (visit.escaped && !visit.rescue) visit.note('shed', undefined);
        return options.headers ? outcomeHeaders(shared.worst, shared.model ?? call.model) : {};
      },
      reader(contentType, isPlain) {
        const isCall = visit.runsSeen === 0 && !hasSeenRuns;
        const learnBytes = isPlain && shared.worst !== 'cheaper' && shared.worst !== 'shorter' ? core.learnBytes(call) : 0;
        if ((!isCall && learnBytes === 0) || !isPlain || !call.dialect) return undefined;
        const countText = (text: string) => core.countText(text, call.model);
        return createAnswerReader({ dialect: call.dialect, contentType, tapBytes: gate.tapBytes, learnBytes, countText });
      },
      close(by, status, findings, sentBytes) {
        core.openVisits--;
        if (by === 'done' && status === 200 && findings && (shared.worst === 'passed' || shared.worst === 'queued'))
          core.learn(call, findings);
        const ending: Ending = {
          by,
          status,
          usage: findings?.usage,
          sentOutputTokens: findings?.outputTokens ?? Math.ceil(sentBytes / 4),
        };
        void chargeUnseen(visit, call, arrival, ending);
        // A request that passed is reported once it is settled.
        if (!hasPassed) report(ending);
        return ending;
      },
    };

    function report({ status }: Ending): void {
      const { inputTokens, outputTokens } = shared;
      const usage = shared.calls > 0 ? { inputTokens, outputTokens } : undefined;
      events.emit('request-answered', {
        ...facts(),
        outcome: shared.worst,
        status,
        inputTokens: call.inputTokens,
        usage,
        calls: shared.calls,
        waitedMs: visit.waitedMs(gate.clock),
        durationMs: gate.clock.now() - startMs,
      });
    }
  }

  /** An answered request whose call nobody could see is charged by its size, or by the handler's word. */
  async function chargeUnseen(visit: Visit, call: Call, arrival: Arrival<Req>, ending: Ending): Promise<void> {
    if (call.draft || visit.runsSeen > 0 || visit.verdict === 'cancel') return;
    if (visit.verdict) return core.charge(call, visit.verdict.usage);
    const isAnswered = ending.by === 'done' && ending.status >= 200 && ending.status < 300;
    if (hasSeenRuns || !isAnswered || typeof arrival.body !== 'object' || arrival.body === null) return;
    const inputTokens = Math.ceil(arrival.bodyBytes / 4);
    const outputTokens = Math.min(ending.sentOutputTokens ?? 0, MOST_UNSEEN_OUTPUT_TOKENS);
    if (!hasToldUnseen) events.emit('call-unseen', { route: options.route, tokens: inputTokens + outputTokens });
    hasToldUnseen = true;
    await core.charge(call, { inputTokens, outputTokens });
  }

  return { options, open };
}
