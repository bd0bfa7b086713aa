import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTokenizer } from '../../src/tokens/tokenizer.js';
import { chat, createOutbound, type Outbound, post } from '../support/outbound.js';

let outbound: Outbound;
const tokenizer = createTokenizer();

beforeAll(async () => {
  await tokenizer.ready(['o200k_base']);
});
beforeEach(async () => {
  outbound = await createOutbound();
  return () => outbound.close();
});

const ada = () => outbound.gate.as({ user: 'ada' }).fetch;
const fault = (name: string) => ({ headers: { 'content-type': 'application/json', 'x-fault': name } });

/** What each counter must hold for one call of so many tokens. */
const oneCall = (tokens: number) => ({
  'model gpt-4o tokens': tokens,
  'model gpt-4o requests': 1,
  'user ada tokens': tokens,
  'user ada requests': 1,
});

/** Reads a body as far as it comes. */
async function readAll(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
  } catch {
    return text;
  }
  return text;
}

function saidIn(stream: string): string {
  const events = stream.split('\n\n').filter((event) => event.startsWith('data: {'));
  return events.map((event) => JSON.parse(event.slice(6)).choices[0]?.delta.content ?? '').join('');
}

describe('a call is charged', () => {
  it.each([
    ['JSON', {}],
    ['a stream', { stream: true }],
    ['a stream that shows usage', { stream: true, stream_options: { include_usage: true } }],
    ['several choices', { n: 3 }],
    ['a stream of several choices', { n: 3, stream: true }],
  ])('by the usage that %s reports', async (_, more) => {
    const response = await ada()(outbound.url, post(chat('How deep is the river?', more)));
    await readAll(response);

    const sums = await outbound.sums();
    const { inputTokens, outputTokens } = outbound.provider.stats().models['gpt-4o'] as never;
    expect(sums).toEqual(oneCall(inputTokens + outputTokens));
    expect(outbound.settled).toEqual([
      expect.objectContaining({ by: 'usage', usage: expect.objectContaining({ inputTokens, outputTokens }) }),
    ]);
  });

  it.each(['no-usage', 'garbage-usage'])('by its estimate and the text of its JSON when there is %s', async (name) => {
    const response = await ada()(outbound.url, post(chat('How deep is the river?'), fault(name)));
    const { choices } = (await response.json()) as { choices: [{ message: { content: string } }] };

    const output = tokenizer.count(choices[0].message.content, 'o200k_base');
    await outbound.sums();
    const [settled] = outbound.settled;
    expect(settled).toMatchObject({ by: 'counted', usage: { inputTokens: settled?.estimatedInputTokens, outputTokens: output } });
    expect(await outbound.sums()).toEqual(oneCall((settled?.estimatedInputTokens ?? 0) + output));
  });

  it.each(['no-usage', 'garbage-usage', 'reset'])('by its estimate and the text that came in a stream with %s', async (name) => {
    const response = await ada()(outbound.url, post(chat('How deep is the river?', { stream: true }), fault(name)));
    const said = saidIn(await readAll(response));

    const output = tokenizer.count(said, 'o200k_base');
    await outbound.sums();
    const [settled] = outbound.settled;
    expect(output).toBeGreaterThan(0);
    expect(settled).toMatchObject({ by: 'counted', usage: { inputTokens: settled?.estimatedInputTokens, outputTokens: output } });
    expect(await outbound.sums()).toEqual(oneCall((settled?.estimatedInputTokens ?? 0) + output));
  });

  it('by its estimate and a quarter of the bytes when JSON breaks off', async () => {
    const response = await ada()(outbound.url, post(chat('How deep is the river?'), fault('reset')));
    const came = await readAll(response);

    await outbound.sums();
    const [settled] = outbound.settled;
    expect(came.length).toBeGreaterThan(0);
    expect(settled?.usage).toMatchObject({ outputTokens: Math.ceil(came.length / 4) });
    expect(await outbound.sums()).toEqual(oneCall((settled?.estimatedInputTokens ?? 0) + Math.ceil(came.length / 4)));
  });

  it('never for more output than its declared maximum, however long a broken answer was', async () => {
    const response = await ada()(outbound.url, post(chat('How deep is the river?', { max_tokens: 3 }), fault('reset')));
    await readAll(response);

    await outbound.sums();
    expect(outbound.settled[0]?.usage?.outputTokens).toBe(3);
  });

  it('on its budgets with the tokens of each of many parallel calls', async () => {
    const calls = Array.from({ length: 40 }, async (_, index) => {
      const stream = index % 2 === 0;
      await readAll(await outbound.gate.as({ user: 'ada' }).fetch(outbound.url, post(chat('x'.repeat(index), { stream }))));
    });
    await Promise.all(calls);

    const sums = await outbound.sums();
    const { inputTokens = 0, outputTokens = 0 } = outbound.provider.stats().models['gpt-4o'] ?? {};
    expect(sums['model gpt-4o tokens']).toBe(inputTokens + outputTokens);
    expect(sums['user ada tokens']).toBe(inputTokens + outputTokens);
    expect(sums['model gpt-4o requests']).toBe(40);
  });
});

describe('a call that the provider refuses', () => {
  const kept = { 'model gpt-4o requests': 1 };

  it.each<[string, object, (response: Response) => unknown]>([
    ['429 and its body read', fault('429'), (response) => response.text()],
    ['429 and its body cancelled, as SDKs do before they try again', fault('429'), (response) => response.body?.cancel()],
    ['429 and its body never read', fault('429'), () => undefined],
    ['500 and its body read', fault('500'), (response) => response.text()],
    ['500 and its body never read', fault('500'), () => undefined],
    ['400 for a fault that there is not', fault('no such fault'), (response) => response.text()],
  ])('with %s gets its tokens back at once, and keeps the request on the model', async (_, init, take) => {
    const response = await ada()(outbound.url, post(chat('How deep is the river?'), init));

    await take(response);

    expect(await outbound.sums()).toEqual(kept);
    expect(outbound.settled.map(({ by }) => by)).toEqual(['provider-error']);
  });

  it('has its error as the provider wrote it', async () => {
    const init = post(chat('How deep is the river?', { stream: true }), fault('429'));
    const bare = await fetch(outbound.url, init);
    const governed = await ada()(outbound.url, init);

    expect([governed.status, governed.headers.get('retry-after-ms'), await governed.text()]).toEqual([
      bare.status,
      bare.headers.get('retry-after-ms'),
      await bare.text(),
    ]);
  });

  it('because nobody listens rejects as a bare fetch does, and gets its tokens back', async () => {
    const init = post(chat('How deep is the river?'));
    const url = 'http://127.0.0.1:1/v1/chat/completions';
    const told = (error: Error) => ({ name: error.name, message: error.message, cause: (error.cause as Error).message });
    const bare = await fetch(url, init).catch(told);

    const governed = await ada()(url, init).catch(told);

    expect(governed).toEqual(bare);
    expect(await outbound.sums()).toEqual(kept);
  });
});

describe('a call on a model that is not allowed', () => {
  beforeEach(async () => {
    await outbound.close();
    outbound = await createOutbound({ unknownModel: 'refuse' });
  });

  it('is answered with the error of its dialect and reaches nobody, by fetch', async () => {
    const response = await ada()(outbound.url, post({ ...chat('Hello?'), model: 'o9' }));

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'model_not_found', param: 'model' } });
    expect(await outbound.sums()).toEqual({});
    expect(outbound.provider.stats().calls).toBe(0);
  });

  it('is an error with its status, by run', async () => {
    const made = outbound.gate.run({ body: { ...chat('Hello?'), model: 'o9' } }, async () => expect.unreachable());

    await expect(made).rejects.toMatchObject({ code: 'SPILLWAY_BAD_CALL', status: 400 });
    expect(await outbound.sums()).toEqual({});
  });
});
