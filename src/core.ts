import { AsyncLocalStorage } from 'node:async_hooks';
import { type Admission, createAdmission, priceFor } from './admission.js';
import { priceOf } from './budget/price.js';
import { createSaturation, type Saturation } from './budget/saturation.js';
import type { Call, Refusal, Usage } from './call.js';
import type { AnswerFindings } from './dialects/answer-reader.js';
import type { Complaint, Dialect, Draft } from './dialects/dialect.js';
import { createRegistry, type Registry } from './dialects/registry.js';
import { draftCall } from './draft-call.js';
import { createLine, type Line } from './ladder/line.js';
import { createLearning, type Learning } from './learning/learning.js';
import { countingOf } from './models.js';
import { createEvents, type Events, type SpillwayEvents } from './observe/events.js';
import { callFacts } from './observe/facts.js';
import { guardLedger } from './observe/guard-ledger.js';
import type { Ledger } from './observe/ledger.js';
import { memoryLedger } from './observe/memory-ledger.js';
import type { ResolvedOptions } from './options.js';
import { createRun, type GovernedRun } from './run.js';
import { createKeeper, type Keeper } from './stores/reservation.js';
import { isThenable } from './thenable.js';
import { encodingFor } from './tokens/encodings.js';
import { createTokenizer, type Tokenizer } from './tokens/tokenizer.js';
import type { Visit } from './visit.js';

/** Everything that one gate's mounts, fetches and jobs share. */
export interface Core {
  readonly options: ResolvedOptions;
  readonly run: GovernedRun;
  readonly admission: Admission;
  readonly registry: Registry;
  readonly tokenizer: Tokenizer;
  readonly keeper: Keeper;
  readonly line: Line;
  readonly saturation: Saturation;
  readonly events: Events;
  readonly ledger: Ledger;
  /** What estimates are corrected by; `undefined`: nothing is learned. */
  readonly learning: Learning | undefined;
  /** The visit that the running code belongs to. */
  readonly context: AsyncLocalStorage<Visit>;
  /** Names of the scopes that identities may carry. */
  readonly scopeNames: readonly string[];
  /** Under this name a response carries the innermost of its visits. */
  readonly innermost: symbol;
  /** Requests under way. */
  openVisits: number;
  draft(visit: Visit, dialect: Dialect | undefined, draft: Draft | undefined, body: unknown, callsPerRequest?: number): Call;
  /** Why a model is not allowed; `undefined`: it is. */
  objection(draft: Draft): Complaint | undefined;
  /** Milliseconds that a refused caller is told to wait: never before there is room, nor all at the same instant. */
  toldWaitMs(refusal: Refusal): number;
  countText(text: string, model: string | undefined): number;
  learnBytes(call: Call): number;
  learn(call: Call, findings: AnswerFindings): void;
  charge(call: Call, usage: Usage): Promise<void>;
}

/** What a caller is told when nobody can foretell the wait (concurrency is freed by settlements), in milliseconds. */
const UNKNOWN_WAIT_MS = 1_000;

/** Waits are stretched by up to this share, so that those who were refused together don't come back together. */
const SPREAD_RATIO = 0.1;

/** Puts the parts together. */
export function createCore(options: ResolvedOptions): Core {
  const isConfigured = (model: string) => options.models.has(model);
  const { clock, store, leaseMs, random } = options;
  const events = createEvents();
  const onStoreError = (operation: SpillwayEvents['store-failed']['operation'], error: unknown) =>
    events.emit('store-failed', { operation, error });
  const keeper = createKeeper({ store, clock, leaseMs, stallMs: options.stallMs, onStoreError });
  const line = createLine(clock);
  const saturation = createSaturation(options.softUntilRatio);
  const admission = createAdmission({ options, store, keeper, line, saturation, clock, onStoreError });
  const ledger = options.ledger ? guardLedger(options.ledger, (error) => onStoreError('tally', error)) : memoryLedger(clock);
  const context = new AsyncLocalStorage<Visit>();
  const tokenizer = createTokenizer();
  const scopeNames = options.scopes.map(({ name }) => name).filter((name) => name !== 'global');
  const learning = options.calibration && createLearning({ ...options.calibration, clock, events, scopeNames, isConfigured });
  for (const part of [store, ledger]) part.onNotice?.((notice) => events.emit('store-notice', notice));

  return {
    options,
    run: createRun({ options, admission, line, events, ledger, learning, inside: (visit, body) => context.run(visit, body) }),
    admission,
    registry: createRegistry(options.dialects),
    tokenizer,
    keeper,
    line,
    saturation,
    events,
    ledger,
    learning,
    context,
    scopeNames,
    innermost: Symbol('spillway'),
    openVisits: 0,
    draft: (visit, dialect, draft, body, callsPerRequest) =>
      draftCall(
        { visit, dialect, draft, body, ...(callsPerRequest === undefined ? {} : { callsPerRequest }) },
        options,
        tokenizer,
        learning,
      ),
    objection(draft) {
      if (options.unknownModel === 'count' || options.findModel(draft.model)) return undefined;
      const allowed = [...options.models.keys()].join(', ');
      return { status: 400, kind: 'unknown-model', message: `This model is not available here. Use one of: ${allowed}.` };
    },
    toldWaitMs(refusal) {
      if (refusal.reason === 'never-fits') return Infinity;
      const promisedMs = Math.max(0, ...refusal.full.map(({ charge }) => line.promisedMs(charge)));
      const waitMs = refusal.waitMs > 0 ? refusal.waitMs : UNKNOWN_WAIT_MS;
      return Math.max(waitMs, promisedMs) * (1 + SPREAD_RATIO * (Math.min(1, Math.max(0, random())) || 0));
    },
    countText(text, name = '') {
      const { model, tokenFactor } = countingOf(options.findModel, name);
      return Math.ceil(tokenizer.count(text, encodingFor(model)) * tokenFactor - 1e-9);
    },
    learnBytes(call) {
      if (call.model === undefined || call.model !== call.requestedModel) return 0;
      return Math.max(0, ...call.visit.ladder.map((step) => (step.learn ? (step.learnBytes ?? 0) : 0)));
    },
    learn(call, { answer }) {
      if (!answer) return;
      for (const step of call.visit.ladder) {
        const fail = (error: unknown) =>
          events.emit('step-skipped', { ...callFacts(call), step: step.name, why: 'failed', error });
        try {
          const learning = step.learn?.(call, answer);
          if (isThenable(learning)) learning.then(undefined, fail);
        } catch (error) {
          fail(error);
        }
      }
    },
    async charge(call, usage) {
      await admission.charge(call, usage);
      const price = priceFor(options, call.model);
      ledger.add(call.visit.identity, call.model, usage, price ? priceOf(usage, price) : 0);
    },
  };
}
