import OpenAI, { APIConnectionError, RateLimitError } from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cheaperModel, type Options, queue, type SpillwayEvents, staticAnswer } from '../src/index.js';
import { until } from './support/loopback.js';
import { chat, createOutbound, type Outbound, post } from './support/outbound.js';
import { type Served, serve } from './support/served.js';

let outbound: Outbound;
let served: Served | undefined;
let openai: OpenAI;
let unseen: SpillwayEvents['call-unseen'][];
let refused: SpillwayEvents['call-refused'][];

async function begin(options: Partial<Options<'user'>> = {}): Promise<void> {
  outbound = await createOutbound(options);
  openai = new OpenAI({ baseURL: outbound.provider.url, apiKey: 'key', fetch: outbound.gate.fetch });
  unseen = [];
  refused = [];
  outbound.gate.on('call-unseen', (event) => unseen.push(event));
  outbound.gate.on('call-refused', (event) => refused.push(event));
}
beforeEach(() => begin());
afterEach(async () => {
  await served?.close();
  served = undefined;
  await outbound.close();
});

const BUDGETS = [
  { tokens: 1_000_000, per: 'hour' },
  { requests: 1_000, per: 'hour' },
] as const;
const create = (body: object) => openai.chat.completions.create(body as OpenAI.ChatCompletionCreateParamsNonStreaming);
const modelsAsked = () => outbound.provider.requests.map(({ body }) => (body as { model: string }).model);
function provided(model: string): number {
  const { inputTokens = 0, outputTokens = 0 } = outbound.provider.stats().models[model] ?? {};
  return inputTokens + outputTokens;
}
/** What is charged once the request is over, too. */
async function charged() {
  await until(async () => (await outbound.gate.snapshot()).openRequests === 0);
  return outbound.sums();
}

describe('a request with several calls', () => {
  it('holds room for all of them from its beginning, and no more once they have drawn on it', async () => {
    const held: Record<string, number>[] = [];
    served = await serve(outbound.gate, { callsPerRequest: 3 }, async (req, res) => {
      held.push({ ...(await outbound.books.sums()) });
      const calls = [1, 2, 3].map(() => outbound.gate.fetch(outbound.url, post(req.body)));
      const responses = await Promise.all(calls);
      held.push({ ...(await outbound.books.sums()) });
      res.json(await Promise.all(responses.map((response) => response.text())));
    });

    await served.ask('ada', chat('How deep is the river?', { max_tokens: 40 }));

    expect(held[0]?.['model gpt-4o requests']).toBe(3);
    expect(held[1]).toEqual(held[0]);
    expect((await charged())['model gpt-4o requests']).toBe(3);
  });

  it('keeps a classifier on its own model, each charged where it ran', async () => {
    served = await serve(outbound.gate, {}, async (req, res) => {
      await create({ ...chat('Is it about rivers?'), model: 'gpt-4o-mini' });
      res.json(await create(req.body));
    });

    await (await served.ask('ada', chat('How deep is the river?'))).json();

    expect(modelsAsked()).toEqual(['gpt-4o-mini', 'gpt-4o']);
    expect(await charged()).toEqual({
      'model gpt-4o-mini tokens': provided('gpt-4o-mini'),
      'model gpt-4o-mini requests': 1,
      'model gpt-4o tokens': provided('gpt-4o'),
      'model gpt-4o requests': 1,
      'user ada tokens': provided('gpt-4o-mini') + provided('gpt-4o'),
      'user ada requests': 1,
    });
  });

  it('that was given a cheaper model makes its calls on that one, and its classifier still on its own', async () => {
    await outbound.close();
    await begin({
      models: {
        'gpt-4o': { budgets: [{ requests: 0, per: 'hour' }], cheaper: ['gpt-4o-mini'] },
        'gpt-4o-mini': { budgets: BUDGETS },
      },
      ladder: [cheaperModel()],
    });
    served = await serve(outbound.gate, { callsPerRequest: 2 }, async (req, res) => {
      await create({ ...chat('Is it about rivers?'), model: 'gpt-4o-mini' });
      res.json(await create(req.body));
    });

    const response = await served.ask('ada', chat('How deep is the river?'));
    await response.json();

    expect(response.headers.get('spillway-outcome')).toBe('cheaper');
    expect(modelsAsked()).toEqual(['gpt-4o-mini', 'gpt-4o-mini']);
    expect(await charged()).toMatchObject({
      'model gpt-4o-mini requests': 2,
      'model gpt-4o-mini tokens': provided('gpt-4o-mini'),
    });
  });
});

describe('a call that is refused inside a request', () => {
  const full = { models: { 'gpt-4o': { budgets: [{ requests: 1, per: 'minute' }] } } } as const;
  const fill = async () => (await outbound.gate.fetch(outbound.url, post(chat('Hello?')))).text();

  it('is a 429 of its dialect, which the SDK does not repeat', async () => {
    await outbound.close();
    await begin({ ...full, ladder: [queue({ waitMs: 500 }), staticAnswer('never given to a call')] });
    await fill();
    let thrown: unknown;
    served = await serve(outbound.gate, {}, async (_req, res) => {
      thrown = await create(chat('How deep is the river?')).catch((error) => error);
      res.json({ ok: true });
    });

    const response = await served.ask('ada', { ...chat('How deep is the river?'), model: 'gpt-4o-mini' });

    expect(response.headers.get('spillway-outcome')).toBe('shed');
    expect(thrown).toBeInstanceOf(RateLimitError);
    expect(thrown).toMatchObject({ status: 429, code: 'rate_limit_exceeded', type: 'requests' });
    expect((thrown as RateLimitError).headers.get('x-should-retry')).toBe('false');
    expect(refused).toHaveLength(1);
    expect(outbound.provider.stats().calls).toBe(1);
    expect(await charged()).toEqual({ 'model gpt-4o requests': 1, 'user ada requests': 1 });
  });

  it('is given the answer for people itself, where its request could not be read', async () => {
    await outbound.close();
    await begin({ ...full, ladder: [staticAnswer('We are busy.')] });
    await fill();
    served = await serve(outbound.gate, {}, async (req, res) => {
      const { choices } = await create(chat(req.body.text));
      res.json({ reply: choices[0]?.message.content });
    });

    const response = await served.ask('ada', { text: 'How deep is the river?' });

    expect(response.headers.get('spillway-outcome')).toBe('static');
    expect(await response.json()).toEqual({ reply: 'We are busy.' });
    expect(await charged()).toEqual({ 'model gpt-4o requests': 1, 'user ada requests': 1 });
  });

  it('is answered by the ladder of its request, when the handler gives up', async () => {
    await outbound.close();
    await begin({ ...full, ladder: [staticAnswer('We are busy.')] });
    await fill();
    served = await serve(outbound.gate, { dialect: 'openai-chat' }, async (_req, res) => {
      res.json(await create({ ...chat('Is it about rivers?'), model: 'gpt-4o' }));
    });
    const other = { ...chat('How deep is the river?'), model: 'somebody-elses' };

    const response = await served.ask('ada', other);

    expect(response.status).toBe(200);
    expect(response.headers.get('spillway-outcome')).toBe('static');
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: 'We are busy.' } }] });
    expect(await charged()).toEqual({ 'model gpt-4o requests': 1 });
  });
});

it('a client that leaves makes the SDK of its handler repeat nothing, though it knows of no signal', async () => {
  outbound.provider.script(['hang']);
  let handled: Promise<unknown> = Promise.resolve();
  served = await serve(outbound.gate, {}, (req, res) => {
    handled = create(req.body).then(
      (answer) => res.json(answer),
      (error: unknown) => error,
    );
    return handled;
  });
  const controller = new AbortController();
  const left = served.ask('ada', chat('How deep is the river?'), { signal: controller.signal }).catch(() => {});
  await until(() => outbound.provider.stats().accepted === 1);

  controller.abort();

  await left;
  expect(await handled).toBeInstanceOf(APIConnectionError);
  expect(outbound.provider.stats()).toMatchObject({ calls: 1, aborted: 1 });
  await charged();
});

describe('a request whose call nobody could read', () => {
  const answer = { reply: 'As deep as it is wide.' };

  it('is charged by its size and told of once, where no call was ever seen', async () => {
    served = await serve(outbound.gate, {}, (_req, res) => res.json(answer));
    const body = { text: 'How deep is the river?' };

    for (let asked = 0; asked < 3; asked++) await (await served.ask('ada', body)).json();

    const tokens = Math.ceil(JSON.stringify(body).length / 4) + Math.ceil(JSON.stringify(answer).length / 4);
    expect(await charged()).toEqual({ 'user ada tokens': 3 * tokens, 'user ada requests': 3 });
    expect(unseen).toEqual([{ route: 'chat', tokens }]);
  });

  it('made no call and gets everything back, where one was seen before', async () => {
    served = await serve(outbound.gate, {}, async (req, res) => {
      if (req.body.text) await create(chat(req.body.text));
      res.json(answer);
    });
    await (await served.ask('ada', { text: 'How deep is the river?' })).json();
    const before = await charged();

    await (await served.ask('ada', { nothing: 'to ask' })).json();

    expect(await charged()).toEqual(before);
    expect(unseen).toEqual([]);
  });

  it.each<[string, number, unknown]>([
    ['was refused by the handler', 422, answer],
    ['failed', 500, answer],
  ])('is not charged for tokens, when it %s', async (_, status, body) => {
    served = await serve(outbound.gate, {}, (_req, res) => res.status(status).json(body));

    await (await served.ask('ada', { text: 'How deep is the river?' })).json();

    expect(await charged()).toEqual({});
    expect(unseen).toEqual([]);
  });
});
