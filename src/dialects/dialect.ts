import type { Answer, Call, Rendered, Usage } from '../call.js';

/** A piece of a prompt, as far as counting it is concerned. */
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  /** Counted as its JSON text: tool definitions, schemas, arguments given as objects. */
  | { readonly kind: 'json'; readonly value: unknown }
  /** A call of a tool in the history; providers charge each one on top of its text. */
  | { readonly kind: 'tool-call'; readonly name: string; readonly arguments: string }
  /** A data URL or a remote address. */
  | { readonly kind: 'image'; readonly url: string; readonly detail?: string | undefined }
  /** What the body gives as tokens; guessed, or none at all, where only the provider can read it. */
  | { readonly kind: 'tokens'; readonly count: number; readonly isGuessed?: boolean }
  | FilePart;

/** Audio, a film or a document whose content is in the body, `base64Length` characters of it, or elsewhere (0). */
export interface FilePart {
  readonly kind: 'file';
  readonly media: 'audio' | 'video' | 'document';
  readonly base64Length: number;
  /** The content in base64, without the head of a data URL. @defaultValue nothing but its length is known */
  readonly data?: string | undefined;
  /** Of audio or a film: length in seconds, where the body says it. */
  readonly seconds?: number | undefined;
  /** As the body gives it: `low`, `high`, ... */
  readonly detail?: string | undefined;
}

/** What one message, or one other part of the prompt, says. */
export interface Section {
  /** `prompt`: text that a model goes on with, or embeds; nothing surrounds it. */
  readonly kind: 'message' | 'prompt' | 'tools' | 'format';
  /** As the body names it: `user`, `assistant`, `tool`, ... */
  readonly role?: string | undefined;
  readonly name?: string | undefined;
  /** Of tools: whether the answer must call one, which some providers tell the model at length. */
  readonly mustCall?: boolean | undefined;
  /** The one that it must call. */
  readonly mustCallName?: string | undefined;
  readonly parts: readonly Part[];
}

/** What a dialect reads from the body of a call. */
export interface Draft {
  readonly model: string;
  readonly stream: boolean;
  /** Whether the caller itself asked for usage inside the stream. */
  readonly wantsUsage: boolean;
  /**
   * The largest output maximum that the body declares, for one choice; `undefined` when it declares none that is usable. 0 where
   * nothing is generated at all.
   */
  readonly maximumOutputTokens: number | undefined;
  /** How many answers are asked for at once: output counts that many times. A whole number, 1 to 262,144. */
  readonly choices: number;
  readonly hasTools: boolean;
  /** Whether the answer must follow a schema or be JSON. */
  readonly hasFormat: boolean;
  /** Whether the model is asked to think before it answers, which some providers tell it at length. @defaultValue false */
  readonly thinks?: boolean | undefined;
  readonly sections: readonly Section[];
  /** By whose rules the prompt is counted, where the model's name does not tell. @defaultValue those of chat completions */
  readonly rules?: 'responses' | 'gemini' | 'vertex' | undefined;
}

/** What to change in a body before it is sent. */
export interface Rewrite {
  readonly model?: string | undefined;
  readonly maximumOutputTokens?: number | undefined;
  readonly includeUsage?: true | undefined;
}

/** One event of a stream, as its `data:` lines gave it. */
export interface StreamEvent {
  readonly event: string | undefined;
  /** Parsed JSON; `undefined` when the data is no JSON, like `[DONE]`. */
  readonly data: unknown;
  readonly text: string;
}

/** What a refusal says, apart from how a dialect spells it. Never carries body text or other tenants' numbers. */
export interface Complaint {
  readonly status: number;
  /** `blocked`: a budget whose limit is 0. */
  readonly kind: 'full' | 'never-fits' | 'blocked' | 'closed' | 'unidentified' | 'unknown-model' | 'bad-body';
  /** The dimension that is full, when there is one. */
  readonly dimension?: 'tokens' | 'requests' | 'usd' | 'concurrent' | undefined;
  readonly message: string;
}

/**
 * A wire format, with everything about it: read a body, change it, find usage and text in answers, write an answer and an
 * error. Pure: no I/O, no clock, and no trust: bodies are hostile, so every number is checked and every walk is linear.
 * An application's own shape is made by spreading a built-in one and replacing some members.
 */
export interface Dialect {
  readonly name: string;
  /** The provider's path: where a mount or a call names this dialect, bodies are read as if they came there. */
  readonly endpoint?: string;
  /** Reads a call from a body; `undefined` when the body is not of this dialect or names no model. Never throws. */
  read(body: unknown, path?: string): Draft | undefined;
  /**
   * A changed copy; the body itself is left alone and unknown fields stay.
   * @throws SpillwayError `SPILLWAY_BODY_TOO_WIDE`, status 400: a body with so many names that copying it would block
   */
  rewrite(body: unknown, change: Rewrite): unknown;
  /** Where the path names the model: the path of another one. @defaultValue the path stays */
  rewritePath?(path: string, model: string): string;
  /**
   * Usage reported by a JSON answer or by one event of a stream, given as its parsed `data`. A figure of 0 for the input is
   * unknown, not nothing.
   */
  usage(bodyOrData: unknown): Usage | undefined;
  /** Text (visible, reasoning, calls of tools) that a JSON answer or one event's `data` adds to the output, for counting it. */
  text(bodyOrData: unknown): string;
  /** Whether this event only carries the usage that {@link Rewrite.includeUsage} asked for. */
  isUsageOnly(event: StreamEvent): boolean;
  /**
   * The complete, successful answer that a JSON body, or all events of one stream, give: `undefined` when it was cut off,
   * filtered, failed or hit its maximum. `body` is the whole answer in its JSON form.
   */
  collect(bodyOrEvents: { readonly body: unknown } | { readonly events: readonly StreamEvent[] }): CompleteAnswer | undefined;
  /** Writes an answer in the call's mode: JSON, or the dialect's full sequence of events when it asked for a stream. */
  answer(answer: Answer, call: Call): Rendered;
  /** Writes an error as the official SDKs of this dialect parse it; always JSON. Sets neither waits nor spillway headers. */
  error(complaint: Complaint, call: Call | undefined): Rendered;
  /** Writes the caller's own limits as headers of this dialect, names in lower case. @defaultValue none are written */
  limits?(own: readonly OwnLimit[], nowMs: number): Record<string, string>;
}

/** One of the caller's own budgets as a dialect may tell it: never one that others share, nor one of money. */
export interface OwnLimit {
  readonly dimension: 'tokens' | 'inputTokens' | 'outputTokens' | 'requests' | 'concurrent';
  /** Tokens, requests or running calls; a whole number. */
  readonly limit: number;
  /** What was left when the call was admitted or refused: a whole number, 0 to `limit`. */
  readonly remaining: number;
  /** Milliseconds until the caller certainly has more; 0: nothing is used. `undefined`: nobody knows. */
  readonly resetMs: number | undefined;
}

/** A whole answer as a model gave it. */
export interface CompleteAnswer {
  readonly model: string | undefined;
  readonly text: string;
  readonly hasToolCalls: boolean;
  readonly usage: Usage | undefined;
  /** The answer in the dialect's JSON form. */
  readonly body: unknown;
}
