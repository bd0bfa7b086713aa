import Anthropic, * as anthropic from '@anthropic-ai/sdk';
import OpenAI, * as openai from 'openai';
import type { FetchLike } from '../../../src/index.js';
import type { ErrorBody } from './servers.js';

/** One way to call a model through an official SDK. */
export interface Sdk {
  readonly model: string;
  readonly cheaper: string;
  /** What an answer that came to its end says of its end. */
  readonly finished: string;
  /** What it calls a budget of money that is used up. */
  readonly spent: object;
  readonly errors: Errors;
  readonly errorBody: ErrorBody;
  /** @param origin - of a server, without a path */
  connect(origin: string, how?: ConnectOptions): SdkClient;
}

export interface Errors {
  readonly RateLimitError: ErrorClass;
  readonly APIUserAbortError: ErrorClass;
  readonly APIConnectionTimeoutError: ErrorClass;
}
type ErrorClass = abstract new (...args: never[]) => Error;

export interface ConnectOptions {
  readonly fetch?: FetchLike;
  readonly maxRetries?: number;
  readonly timeout?: number;
  readonly user?: string;
}

export interface SdkClient {
  create(text: string, how?: AskOptions): Promise<Heard>;
  /** Resolves when the head has arrived. */
  stream(text: string, how?: AskOptions): Promise<Hearing>;
  /** Passes a body on, and its answer back as it comes. */
  forward(body: unknown, signal: AbortSignal): Promise<Response>;
}

export interface AskOptions {
  readonly signal?: AbortSignal;
}

/** What somebody gets. */
export interface Heard {
  readonly text: string;
  readonly finish: string | null | undefined;
  readonly outcome: string | null;
  readonly model: string | null;
}

/** What somebody gets piece by piece. */
export interface Hearing extends AsyncIterable<Said> {
  readonly head: Pick<Heard, 'outcome' | 'model'>;
}

export interface Said {
  readonly text?: string;
  readonly finish?: string | null | undefined;
}

/** The output maximum of every call. */
export const MAXIMUM = 16;

const openaiErrors = {
  errors: {
    RateLimitError: openai.RateLimitError,
    APIUserAbortError: openai.APIUserAbortError,
    APIConnectionTimeoutError: openai.APIConnectionTimeoutError,
  },
  errorBody: (({ error, message }) => ({
    error: error ?? { message, type: 'server_error', param: null, code: null },
  })) as ErrorBody,
  spent: { status: 429, code: 'insufficient_quota', type: 'insufficient_quota' },
};

const connectOpenAI = (origin: string, { user = 'ada', ...how }: ConnectOptions) =>
  new OpenAI({ apiKey: 'unused', baseURL: `${origin}/v1`, defaultHeaders: { 'x-user': user }, ...how });

export const SDKS: Readonly<Record<'openai chat' | 'openai responses' | 'anthropic messages', Sdk>> = {
  'openai chat': {
    ...openaiErrors,
    model: 'gpt-4o',
    cheaper: 'gpt-4o-mini',
    finished: 'stop',
    connect(origin, how = {}) {
      const { completions } = connectOpenAI(origin, how).chat;
      const asked = (content: string) => ({
        model: 'gpt-4o',
        max_tokens: MAXIMUM,
        messages: [{ role: 'user' as const, content }],
      });
      return {
        async create(text, more) {
          const { data, response } = await completions.create(asked(text), more).withResponse();
          const [choice] = data.choices;
          return { text: choice?.message.content ?? '', finish: choice?.finish_reason, ...headOf(response) };
        },
        async stream(text, more) {
          const { data, response } = await completions.create({ ...asked(text), stream: true }, more).withResponse();
          return hearing(response, data, ({ choices: [choice] }) => ({
            text: choice?.delta.content ?? '',
            finish: choice?.finish_reason,
          }));
        },
        forward: (body, signal) =>
          completions.create(body as OpenAI.ChatCompletionCreateParamsNonStreaming, { signal }).asResponse(),
      };
    },
  },
  'openai responses': {
    ...openaiErrors,
    model: 'gpt-4o',
    cheaper: 'gpt-4o-mini',
    finished: 'completed',
    connect(origin, how = {}) {
      const { responses } = connectOpenAI(origin, how);
      const asked = (input: string) => ({ model: 'gpt-4o', max_output_tokens: MAXIMUM, input });
      return {
        async create(text, more) {
          const { data, response } = await responses.create(asked(text), more).withResponse();
          return { text: data.output_text, finish: data.status, ...headOf(response) };
        },
        async stream(text, more) {
          const { data, response } = await responses.create({ ...asked(text), stream: true }, more).withResponse();
          return hearing(response, data, (event) => {
            if (event.type === 'response.output_text.delta') return { text: event.delta };
            return event.type === 'response.completed' ? { finish: event.response.status } : {};
          });
        },
        forward: (body, signal) =>
          responses.create(body as OpenAI.Responses.ResponseCreateParamsNonStreaming, { signal }).asResponse(),
      };
    },
  },
  'anthropic messages': {
    model: 'claude-sonnet-5',
    cheaper: 'claude-haiku-5',
    finished: 'end_turn',
    errors: {
      RateLimitError: anthropic.RateLimitError,
      APIUserAbortError: anthropic.APIUserAbortError,
      APIConnectionTimeoutError: anthropic.APIConnectionTimeoutError,
    },
    errorBody: ({ error, message }) => (error as object) ?? { type: 'error', error: { type: 'api_error', message } },
    spent: { status: 429, type: 'billing_error' },
    connect(origin, { user = 'ada', ...how } = {}) {
      const { messages } = new Anthropic({
        apiKey: 'unused',
        authToken: null,
        baseURL: origin,
        defaultHeaders: { 'x-user': user },
        ...how,
      });
      const asked = (content: string) => ({
        model: 'claude-sonnet-5',
        max_tokens: MAXIMUM,
        messages: [{ role: 'user' as const, content }],
      });
      return {
        async create(text, more) {
          const { data, response } = await messages.create(asked(text), more).withResponse();
          const [block] = data.content;
          return { text: block?.type === 'text' ? block.text : '', finish: data.stop_reason, ...headOf(response) };
        },
        async stream(text, more) {
          const { data, response } = await messages.create({ ...asked(text), stream: true }, more).withResponse();
          return hearing(response, data, (event) => {
            if (event.type === 'message_delta') return { finish: event.delta.stop_reason };
            return event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? { text: event.delta.text } : {};
          });
        },
        forward: (body, signal) => messages.create(body as Anthropic.MessageCreateParamsNonStreaming, { signal }).asResponse(),
      };
    },
  },
};

function hearing<Event>(response: Response, events: AsyncIterable<Event>, said: (event: Event) => Said): Hearing {
  return {
    head: headOf(response),
    async *[Symbol.asyncIterator]() {
      for await (const event of events) yield said(event);
    },
  };
}

function headOf({ headers }: Response): Hearing['head'] {
  return { outcome: headers.get('spillway-outcome'), model: headers.get('spillway-model') };
}
