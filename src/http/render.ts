import type { Answer, Call, Refusal, RefuseWith, Rendered, Shortage } from '../call.js';
import type { Complaint, Dialect } from '../dialects/dialect.js';
import { isPlainModel } from '../observe/facts.js';

/** What the caller of a refused call is told to wait, in milliseconds; `Infinity`: it makes no sense to come back. */
export interface Told {
  readonly waitMs: number;
  /** A call inside a request: whoever sits above must not try again, since its visit's patience is used up. */
  readonly isInner: boolean;
  readonly refuseWith?: RefuseWith | undefined;
}

/** The wait for the caller of a request, whose handler passes on as an error of its own what a call inside was refused with. */
export function passedOnHeaders(waitMs: number): Record<string, string> {
  return waitHeaders({ waitMs, isInner: false });
}

/** Waits up to this are worth a client's own retry; some SDKs sleep for hours when told so. */
const LONGEST_RETRY_MS = 60_000;

/** An answer that no model gave, in the call's dialect and mode. */
export function renderAnswer(answer: Answer, call: Call): Rendered {
  const rendered = (call.dialect as Dialect).answer(answer, call);
  const age = answer.ageMs === undefined ? {} : { age: String(Math.floor(answer.ageMs / 1_000)) };
  return { ...rendered, headers: { ...rendered.headers, ...age, ...outcomeHeaders(answer.kind, answer.model) } };
}

/** A refusal as an error of the call's dialect, with the wait that the official SDKs honour. */
export function renderRefusal(refusal: Refusal, call: Call, dialect: Dialect, told: Told): Rendered {
  const rendered = dialect.error(complaintOf(refusal, told.refuseWith), call);
  return { ...rendered, headers: { ...rendered.headers, ...waitHeaders(told), ...outcomeHeaders('shed', undefined) } };
}

/** An error of the gate itself: nobody was identified, the model is not allowed. */
export function renderComplaint(complaint: Complaint, dialect: Dialect, call: Call | undefined): Rendered {
  const rendered = dialect.error(complaint, call);
  return { ...rendered, headers: { ...rendered.headers, 'x-should-retry': 'false', ...outcomeHeaders('shed', undefined) } };
}

/** The headers by which a caller learns what it received. Model names that are no safe header text are left out. */
export function outcomeHeaders(outcome: string, model: string | undefined): Record<string, string> {
  return model !== undefined && isPlainModel(model)
    ? { 'spillway-outcome': outcome, 'spillway-model': model }
    : { 'spillway-outcome': outcome };
}

/**
 * Inside a request no wait is told: the libraries that ignore `x-should-retry` sleep for as long as they are told, up to a minute, with
 * the request open, and then make the call that was refused.
 */
function waitHeaders({ waitMs, isInner }: Told): Record<string, string> {
  if (waitMs === Infinity || isInner) return { 'x-should-retry': 'false' };
  const headers: Record<string, string> = { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1_000))) };
  if (waitMs <= LONGEST_RETRY_MS) headers['retry-after-ms'] = String(Math.max(1, Math.ceil(waitMs)));
  if (waitMs > LONGEST_RETRY_MS) headers['x-should-retry'] = 'false';
  return headers;
}

/** Status and message of a refusal: names scopes and dimensions, and no figure of anybody. */
export function complaintOf(refusal: Refusal, refuseWith?: RefuseWith): Complaint {
  const complaint = usualComplaint(refusal);
  return { ...complaint, status: statusFor(refusal, refuseWith) ?? complaint.status };
}

/** Whether a response that refuses may have this status. */
export function isRefusing(status: unknown): status is number {
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599;
}

/** What the application's function says, if it says anything usable: a mistake in it must not turn a refusal into a crash. */
function statusFor(refusal: Refusal, refuseWith: RefuseWith | undefined): number | undefined {
  if (typeof refuseWith !== 'function') return refusal.reason === 'full' ? refuseWith : undefined;
  try {
    const given: unknown = refuseWith(refusal);
    if (given instanceof Promise) given.catch(() => {});
    return isRefusing(given) ? given : undefined;
  } catch {
    return undefined;
  }
}

function usualComplaint(refusal: Refusal): Complaint {
  const longest = refusal.full.reduce<Shortage | undefined>(
    (most, next) => (most && most.waitMs >= next.waitMs ? most : next),
    undefined,
  );
  const dimension = longest && plainDimension(longest);
  const names = namesOf(refusal.full);
  switch (refusal.reason) {
    case 'full':
      return { status: 429, kind: 'full', dimension, message: `Used up for now: ${names}. Please try again later.` };
    case 'never-fits': {
      const blocked = refusal.full.filter(({ charge }) => charge.refuseAt === 0);
      if (blocked.length > 0)
        return { status: 403, kind: 'blocked', dimension, message: `Not allowed: ${namesOf(blocked)} is 0.` };
      return { status: 413, kind: 'never-fits', dimension, message: `This request is too large for ${names}. Please send less.` };
    }
    case 'closed':
      return { status: 503, kind: 'closed', message: 'Requests cannot be admitted at the moment. Please try again later.' };
    default:
      return refusal.reason satisfies never;
  }
}

function namesOf(full: readonly Shortage[]): string {
  return [...new Set(full.map(budgetName))].join(' and ');
}

function plainDimension({ charge: { dimension } }: Shortage): Complaint['dimension'] {
  return dimension === 'inputTokens' || dimension === 'outputTokens' ? 'tokens' : dimension;
}

function budgetName({ charge: { dimension, scope } }: Shortage): string {
  const owner = scope === 'model' ? 'this model' : scope === 'global' ? 'the whole service' : `this ${scope}`;
  return `the ${words[dimension]} budget of ${owner}`;
}

const words = {
  tokens: 'token',
  inputTokens: 'input token',
  outputTokens: 'output token',
  requests: 'request',
  usd: 'money',
  concurrent: 'concurrency',
} as const;
