import type { ChatBody, Fields } from './body.js';
import type { Bucket } from './bucket.js';
import type { Plan } from './plan.js';

/** One of the APIs that the provider speaks: how it reads a call, and how it writes answers, errors and limits. */
export interface Shape {
  readonly path: string;
  /** What ids of answers begin with. */
  readonly idPrefix: string;
  readonly idHeader: string;
  /** Figures that no reader should trust: negative, of the wrong type, missing. */
  readonly garbageUsage: unknown;
  /** What is wrong with a body, as far as the API refuses one with 400. */
  objection(body: Fields): Trouble | undefined;
  /** The call in the words of chat completions. */
  chat(body: Fields): ChatBody;
  usage(inputTokens: number, outputTokens: number): object;
  /** An answer in its JSON form. */
  json(answer: Answer): object;
  stream(answer: Answer): AnswerStream;
  error(trouble: Trouble): Reply;
  unknownModel(name: string): Trouble;
  full(limit: FullLimit): Trouble;
  /** What every answer about a known model tells of its limits. */
  limitHeaders(limits: { readonly requests: Bucket; readonly tokens: Bucket }, nowMs: number): Record<string, string>;
}

/** One answer, decided before its first token is produced. */
export interface Answer {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly model: string;
  readonly body: ChatBody;
  readonly plan: Plan;
  /** As it is reported; `undefined`: it is not. */
  readonly usage: unknown;
}

/** The events of an answer, each as it is written. */
export interface AnswerStream {
  /** For the tokens from `from` to before `to`; the first and the last bring along what stands around them. */
  produced(from: number, to: number): readonly string[];
  /** What ends it. */
  ended(): readonly string[];
}

/** What is wrong, in the words of OpenAI. */
export interface Trouble {
  readonly status: number;
  readonly message: string;
  readonly type: string;
  readonly param?: string | null;
  readonly code?: string | null;
  /** When to come back, in milliseconds; left out: nothing is said. */
  readonly waitMs?: number;
}

/** A limit without room for a call. */
export interface FullLimit {
  readonly model: string;
  readonly kind: 'requests' | 'tokens';
  readonly bucket: Bucket;
  readonly wanted: number;
  /** `Infinity`: the call is larger than the limit. */
  readonly waitMs: number;
}

/** A response before it is written: status, headers and a JSON body. */
export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export function badRequest(message: string, param: string | null = null, code: string | null = null): Trouble {
  return { status: 400, message, type: 'invalid_request_error', param, code };
}

export function missing(param: string): Trouble {
  return badRequest(`You must provide ${param}.`, param, 'missing_required_parameter');
}

/** Checks that those fields that are given are whole numbers, and large enough. */
export function belowLeast(fields: Fields, least = 1): Trouble | undefined {
  for (const [param, value] of Object.entries(fields))
    if (value != null && !(Number.isInteger(value) && (value as number) >= least))
      return badRequest(`${param} must be an integer of at least ${least}.`, param, 'integer_below_min_value');
  return undefined;
}

/** An event with its name, as Anthropic's messages and OpenAI's Responses write it. */
export function namedEvent(event: Fields & { readonly type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
