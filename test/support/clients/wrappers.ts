import { createOpenAI } from '@ai-sdk/openai';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, streamText } from 'ai';
import type { FetchLike } from '../../../src/index.js';
import { MAXIMUM } from './sdks.js';
import type { FrameworkName, Mode, SdkName } from './world.js';

/** A library above the official API, with retries of its own. */
export interface Wrapper {
  /** Attempts of one call that is refused with 429 for longer than it would wait. */
  readonly attempts: number;
  ask(mode: Mode, text: string, how: WrapperOptions): Promise<string>;
}

export interface WrapperOptions {
  /** With `/v1`. */
  readonly baseURL: string;
  readonly fetch?: FetchLike;
  readonly user?: string;
  readonly signal?: AbortSignal;
}

type WrapperName = keyof typeof WRAPPERS;
type Api = 'chat' | 'responses';

export const WRAPPERS: Readonly<Record<'LangChain' | 'LangChain over Responses' | 'AI SDK' | 'AI SDK over Responses', Wrapper>> =
  {
    LangChain: langChain('chat'),
    'LangChain over Responses': langChain('responses'),
    'AI SDK': aiSdk('chat'),
    'AI SDK over Responses': aiSdk('responses'),
  };

/** Each of them, and each framework with both libraries and both APIs. */
export const WRAPPED: readonly [FrameworkName, SdkName, WrapperName][] = [
  ['Express', 'openai chat', 'LangChain'],
  ['Koa', 'openai responses', 'LangChain over Responses'],
  ['Koa', 'openai chat', 'AI SDK'],
  ['Express', 'openai responses', 'AI SDK over Responses'],
];

function langChain(api: Api): Wrapper {
  return {
    attempts: 1,
    async ask(mode, text, { signal, user = 'ada', ...configuration }) {
      const model = new ChatOpenAI({
        model: 'gpt-4o',
        apiKey: 'unused',
        maxTokens: MAXIMUM,
        useResponsesApi: api === 'responses',
        configuration: { ...configuration, defaultHeaders: { 'x-user': user } },
      });
      const options = signal ? { signal } : {};
      if (mode === 'create') return (await model.invoke(text, options)).text;
      let said = '';
      for await (const chunk of await model.stream(text, options)) said += chunk.text;
      return said;
    },
  };
}

function aiSdk(api: Api): Wrapper {
  return {
    attempts: 3,
    async ask(mode, prompt, { signal, user = 'ada', ...how }) {
      const provider = createOpenAI({ apiKey: 'unused', headers: { 'x-user': user }, ...how } as Parameters<
        typeof createOpenAI
      >[0]);
      const asked = {
        model: provider[api]('gpt-4o'),
        prompt,
        maxOutputTokens: MAXIMUM,
        ...(signal ? { abortSignal: signal } : {}),
      };
      if (mode === 'create') return (await generateText(asked)).text;
      let failure: { readonly error: unknown } | undefined;
      let said = '';
      const { textStream } = streamText({
        ...asked,
        onError(event) {
          failure = event;
        },
      });
      for await (const piece of textStream) said += piece;
      if (failure) throw failure.error;
      return said;
    },
  };
}
