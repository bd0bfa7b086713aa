import axios from 'axios';
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { spillwayOf } from '../adapters/express.js';
import { createSpillway, type Dialect, type Gate, openaiChat, queue, staticAnswer } from '../src/index.js';
import { type Books, createBooks } from './support/books.js';
import { until, watchUnhandled } from './support/loopback.js';
import { chat, ROOMY } from './support/outbound.js';
import { createProvider, type Provider } from './support/provider.js';
import { type Served, serve } from './support/served.js';

const BUDGETS = [
  { tokens: 10_000_000, per: 'hour' },
  { requests: 10_000, per: 'hour' },
] as const;
type Scopes = 'global' | 'organization' | 'user';
type Params = OpenAI.ChatCompletionCreateParamsNonStreaming;

let provider: Provider;
let books: Books;
let gate: Gate<Scopes>;
let served: Served;
let unhandled: ReturnType<typeof watchUnhandled>;
/** Behind the gate, and past it. */
let openai: OpenAI;
let bare: OpenAI;

beforeEach(async () => {
  unhandled = watchUnhandled();
  provider = await createProvider({
    models: { 'gpt-4o': ROOMY, 'gpt-4o-mini': ROOMY },
    outputTokens: ({ messages }) => 20 + messages.length * 7,
    firstTokenMs: 1,
  });
  books = createBooks();
  gate = createSpillway({
    models: { 'gpt-4o': { budgets: BUDGETS }, 'gpt-4o-mini': { budgets: BUDGETS } },
    scopes: { global: { budgets: BUDGETS }, organization: { budgets: BUDGETS }, user: { budgets: BUDGETS } },
    ladder: [queue({ waitMs: 2_000 }), staticAnswer('We are busy.')],
    store: books.store,
  });
  await gate.ready();
  openai = new OpenAI({ baseURL: provider.url, apiKey: 'key', fetch: gate.fetch });
  bare = new OpenAI({ baseURL: provider.url, apiKey: 'key' });
});
afterEach(async () => {
  await served.close();
  await gate.close();
  await provider.close();
  unhandled.stop();
  expect(unhandled.seen).toEqual([]);
});

const identify = (req: { get(name: string): string | undefined }) => ({ user: req.get('x-user'), organization: 'acme' });

async function charged(): Promise<Readonly<Record<string, number>>> {
  await until(async () => books.open === 0 && (await gate.snapshot()).openRequests === 0);
  expect(books.settlements.filter((times) => times !== 1)).toEqual([]);
  return books.sums();
}

/** What these requests must come to: the tokens that the provider reported, by user, and everybody's on the wider scopes. */
function expected(users: Readonly<Record<string, { tokens: number; requests: number }>>, callsPerRequest: number) {
  const sum = (pick: 'tokens' | 'requests') => Object.values(users).reduce((total, user) => total + user[pick], 0);
  const [tokens, requests] = [sum('tokens'), sum('requests')];
  const { inputTokens, outputTokens } = provider.stats().models['gpt-4o'] ?? { inputTokens: 0, outputTokens: 0 };
  expect(tokens).toBe(inputTokens + outputTokens);
  return {
    'model gpt-4o tokens': tokens,
    'model gpt-4o requests': requests * callsPerRequest,
    'global global tokens': tokens,
    'global global requests': requests,
    'organization acme tokens': tokens,
    'organization acme requests': requests,
    ...Object.fromEntries(
      Object.entries(users).flatMap(([user, { tokens, requests }]) => [
        [`user ${user} tokens`, tokens],
        [`user ${user} requests`, requests],
      ]),
    ),
  };
}

/** Two people ask at the same time, one of them twice; gives what the provider must have reported for each. */
async function askAll(body: (text: string) => object, promptsOf: (text: string) => string[][]) {
  const asked = { ada: ['How deep is the river?', 'And now?'], bob: ['Who pays?'] };
  const requests = Object.entries(asked).flatMap(([user, texts]) => texts.map((text) => served.ask(user, body(text))));
  for (const response of await Promise.all(requests)) {
    expect(response.status).toBe(200);
    expect(response.headers.get('spillway-outcome')).toBe('passed');
    await response.text();
  }
  const tokensOf = (messages: readonly string[]) =>
    Math.ceil(messages.join('').length / 4) + messages.length + 1 + 20 + messages.length * 7;
  return Object.fromEntries(
    Object.entries(asked).map(([user, texts]) => [
      user,
      { tokens: texts.flatMap(promptsOf).reduce((sum, prompt) => sum + tokensOf(prompt), 0), requests: texts.length },
    ]),
  );
}

describe('the same application, written in different ways, is charged exactly what its calls used:', () => {
  it('gate.fetch under the SDK, three calls at a time for each request', async () => {
    served = await serve(gate, { identify, callsPerRequest: 3 }, async (req, res) => {
      const ask = (task: string) =>
        openai.chat.completions.create({
          ...(req.body as Params),
          messages: [{ role: 'system', content: task }, ...req.body.messages],
        });
      res.json(await Promise.all([ask('For.'), ask('Against, at length.'), ask('Weigh up.')]));
    });

    const users = await askAll(chat, (text) => [
      ['For.', text],
      ['Against, at length.', text],
      ['Weigh up.', text],
    ]);

    expect(await charged()).toEqual(expected(users, 3));
  });

  it('a bare SDK, whose JSON is the response', async () => {
    served = await serve(gate, { identify }, async (req, res) => {
      res.json(await bare.chat.completions.create(req.body as Params));
    });

    const users = await askAll(chat, (text) => [[text]]);

    expect(await charged()).toEqual(expected(users, 1));
  });

  it('a bare SDK, whose stream is piped to the response', async () => {
    served = await serve(gate, { identify }, async (req, res) => {
      const body = { ...(req.body as Params), stream: true, stream_options: { include_usage: true } } as const;
      res.setHeader('content-type', 'text/event-stream');
      for await (const chunk of await bare.chat.completions.create(body)) res.write(`data: ${JSON.stringify(chunk)}\n\n`);
      res.end('data: [DONE]\n\n');
    });

    const users = await askAll(
      (text) => chat(text, { stream: true }),
      (text) => [[text]],
    );

    expect(await charged()).toEqual(expected(users, 1));
  });

  it('gate.fetch, for a body that names no model: its calls alone are priced', async () => {
    const atHandler: object[] = [];
    served = await serve(gate, { identify }, async (req, res) => {
      atHandler.push(spillwayOf(req).estimate);
      const messages = [{ role: 'user', content: req.body.text }] as const;
      const { choices } = await openai.chat.completions.create({ model: 'gpt-4o', messages: [...messages] });
      res.json({ reply: choices[0]?.message.content });
    });

    const users = await askAll(
      (text) => ({ text }),
      (text) => [[text]],
    );

    expect(await charged()).toEqual(expected(users, 1));
    expect(atHandler).toEqual(Array(3).fill({ inputTokens: 0, heldInputTokens: 0, outputTokens: 0 }));
  });

  const myChat: Dialect = {
    ...openaiChat,
    name: 'my-chat',
    read: (body) => {
      const { message } = (body ?? {}) as { message?: unknown };
      return typeof message === 'string' ? openaiChat.read(chat(message)) : undefined;
    },
    rewrite: (body) => body,
    collect: () => undefined,
    answer: ({ text }) => ({ status: 200, headers: {}, body: JSON.stringify({ reply: text }) }),
  };

  it('a dialect of its own, with gate.run around axios', async () => {
    served = await serve(gate, { identify, dialect: myChat }, async (req, res) => {
      const body = chat(req.body.message);
      const outcome = await gate.run({ dialect: 'openai-chat', body }, (call) =>
        axios.post<OpenAI.ChatCompletion>(`${provider.url}/chat/completions`, call.body),
      );
      res.json({ reply: 'value' in outcome ? outcome.value.data.choices[0]?.message.content : undefined });
    });

    const users = await askAll(
      (message) => ({ message }),
      (text) => [[text]],
    );

    expect(await charged()).toEqual(expected(users, 1));
  });

  it('a dialect of its own, with axios alone and usage in its response', async () => {
    served = await serve(gate, { identify, dialect: myChat }, async (req, res) => {
      const { data } = await axios.post<OpenAI.ChatCompletion>(`${provider.url}/chat/completions`, chat(req.body.message));
      res.json({ reply: data.choices[0]?.message.content, usage: data.usage });
    });

    const users = await askAll(
      (message) => ({ message }),
      (text) => [[text]],
    );

    expect(await charged()).toEqual(expected(users, 1));
  });
});
