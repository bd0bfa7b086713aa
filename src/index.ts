export type { BudgetOptions, Dimension, Per, Price } from './budget/budget.js';
export type { AnswerCache, KeepHow, KeptAnswer } from './cache/answer-cache.js';
export type { Partition } from './cache/cache-key.js';
export type {
  Answer,
  Call,
  Charge,
  Ending,
  Identity,
  Key,
  Outcome,
  OutcomeKind,
  Refusal,
  RefuseWith,
  Rendered,
  Reservation,
  Shortage,
  Uncorrected,
  Usage,
} from './call.js';
export { type Cancel, type Clock, systemClock } from './clock.js';
export { anthropicMessages } from './dialects/anthropic.js';
export type {
  Complaint,
  CompleteAnswer,
  Dialect,
  Draft,
  FilePart,
  OwnLimit,
  Part,
  Rewrite,
  Section,
  StreamEvent,
} from './dialects/dialect.js';
export { geminiContent } from './dialects/gemini.js';
export { openaiChat } from './dialects/openai-chat.js';
export { openaiCompletions } from './dialects/openai-completions.js';
export { openaiEmbeddings } from './dialects/openai-embeddings.js';
export { openaiResponses } from './dialects/openai-responses.js';
export { type ErrorCode, OptionsError, SpillwayError } from './errors.js';
export type { Exchange } from './http/exchange.js';
export type { AdmittedCall, CallRequest, Jobs } from './jobs.js';
export { ipKey, secretKey } from './keys.js';
export { type CachedAnswerOptions, cachedAnswer } from './ladder/cached-answer.js';
export { cheaperModel } from './ladder/cheaper-model.js';
export { type QueueOptions, queue } from './ladder/queue.js';
export { type StaticText, staticAnswer } from './ladder/static-answer.js';
export type { Step, WaitBounds, Walk } from './ladder/step.js';
export type { CalibrationOptions } from './learning/calibration-options.js';
export type { EstimateState } from './learning/learning.js';
export type { HeaderChoice, IdentityGiven, MountOptions } from './mount-options.js';
export type { CallFacts, EventName, FullFacts, Listener, Logger, SpillwayEvents } from './observe/events.js';
export type { Ledger, Tally, UsageQuery } from './observe/ledger.js';
export type { BudgetState, Snapshot } from './observe/snapshot.js';
export type { ModelOptions, Options, ScopeOptions } from './options.js';
export type { FetchLike } from './outbound/fetch.js';
export type { Passage } from './passage.js';
export { createSpillway, type Gate, type Pass } from './spillway.js';
export { type MemoryStoreOptions, memoryStore } from './stores/memory.js';
export type { Full, Held, Item, ReserveHow, Store, StoreNotice, Window } from './stores/store.js';
export { type EstimateTokensOptions, estimateTokens, type TokenEstimate } from './tokens/estimate-tokens.js';
export type { ImageSize } from './tokens/image-size.js';
export type { TellImageSize } from './tokens/told-sizes.js';
