import type { Call, Ending, Usage } from '../call.js';

/** What a run that has ended says about estimates. */
export interface Lesson {
  /** As the provider, or the application, reported it; `undefined`: it did not. */
  readonly inputTokens: number | undefined;
  /** The same for all choices together. */
  readonly outputTokens: number | undefined;
  /** The answer ended before the model had finished, so it would have been longer. */
  readonly isCut: boolean;
}

export interface LessonFacts {
  readonly call: Call;
  readonly ending: Ending;
  /** `request`: a mount, whose response may be the call's. */
  readonly kind: 'request' | 'call';
  readonly runsSeen: number;
  /** The application's own word. */
  readonly verdict: { readonly usage: Usage } | 'cancel' | undefined;
  /** Which of our models the answer names; `undefined`: none of them. */
  readonly answeredBy: string | undefined;
}

/**
 * What a settled run teaches. Only what was reported counts: what we counted ourselves would confirm our own mistakes. A request
 * around other runs, or that stands for several calls, is none of these; and the answer of a model that was not asked says
 * nothing about the one that was. Pure.
 * @returns `undefined` when it teaches nothing
 */
export function lessonOf({ call, ending, kind, runsSeen, verdict, answeredBy }: LessonFacts): Lesson | undefined {
  if (verdict === 'cancel' || call.callsPerRequest !== 1 || (kind === 'request' && runsSeen > 0)) return undefined;
  if (call.model !== call.requestedModel || (answeredBy !== undefined && answeredBy !== call.model)) return undefined;
  const usage = verdict ? verdict.usage : ending.usage;
  const isError = !verdict && (ending.status < 200 || ending.status >= 300);
  if (!usage || isError) return undefined;
  const { inputTokens, outputTokens } = usage;
  return { inputTokens, outputTokens, isCut: isCut(call, outputTokens, ending, verdict !== undefined) };
}

/** A caller that left, a stream that broke, or an answer as long as it may be. */
function isCut({ maximumOutputTokens }: Call, outputTokens: number | undefined, { by }: Ending, isOwnWord: boolean): boolean {
  if (by !== 'done' && !isOwnWord) return true;
  return maximumOutputTokens !== undefined && outputTokens !== undefined && outputTokens >= maximumOutputTokens;
}
