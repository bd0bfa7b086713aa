import { Writable } from 'node:stream';
import OpenAI from 'openai';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { spillwayOf } from '../adapters/express.js';
import { cachedAnswer, cheaperModel, type Options, queue, staticAnswer } from '../src/index.js';
import { until } from './support/loopback.js';
import { chat, createOutbound, type Outbound, post } from './support/outbound.js';
import { type Served, serve } from './support/served.js';

let outbound: Outbound;
let served: Served;
let lines: Record<string, unknown>[];

async function begin(options: Partial<Options<'user'>>): Promise<void> {
  lines = [];
  const sink = new Writable({
    write(line, _encoding, done) {
      lines.push(JSON.parse(String(line)));
      done();
    },
  });
  outbound = await createOutbound({ logger: pino({ base: null, timestamp: false }, sink), ...options });
  const openai = new OpenAI({ baseURL: outbound.provider.url, apiKey: 'key', fetch: outbound.gate.fetch });
  served = await serve(outbound.gate, {}, async (req, res) => {
    if (req.body.fails) throw new Error('mine');
    res.json(await openai.chat.completions.create(req.body));
  });
}
beforeEach(() => begin({}));
afterEach(async () => {
  await served.close();
  await outbound.close();
});

async function ask(body: object, user = 'ada'): Promise<Response> {
  const before = lines.length;
  const response = await served.ask(user, body);
  await response.text();
  await until(() => lines.length > before);
  return response;
}

const ms = expect.any(Number);

describe('one line for each answered request', () => {
  it('tells the route, hashed scopes, outcome, models, estimate and usage of a full answer', async () => {
    await ask(chat('How deep is the river?'));

    const { inputTokens, outputTokens } = outbound.provider.stats().models['gpt-4o'] ?? {};
    expect(lines).toEqual([
      {
        level: 30,
        msg: 'request answered',
        route: 'chat',
        scopes: { user: expect.stringMatching(/^[0-9a-f]{12}$/) },
        requestedModel: 'gpt-4o',
        model: 'gpt-4o',
        outcome: 'passed',
        status: 200,
        inputTokens: outbound.settled[0]?.estimatedInputTokens,
        usedInputTokens: inputTokens,
        usedOutputTokens: outputTokens,
        calls: 1,
        waitedMs: 0,
        durationMs: ms,
      },
    ]);
  });

  it('names a caller alike each time, and another one differently', async () => {
    await ask(chat('Hello?'));
    await ask(chat('And now?'));
    await ask(chat('Hello?'), 'bob');

    const [first, second, other] = lines.map(({ scopes }) => (scopes as { user: string }).user);
    expect(second).toBe(first);
    expect(other).not.toBe(first);
  });

  it('tells what each step of the ladder gave', async () => {
    await served.close();
    await outbound.close();
    const one = [{ requests: 1, per: 'hour' }] as const;
    await begin({
      models: { 'gpt-4o': { budgets: one, cheaper: ['gpt-4o-mini'] }, 'gpt-4o-mini': { budgets: one } },
      ladder: [queue({ waitMs: 5 }), cachedAnswer(), cheaperModel(), staticAnswer('We are busy.')],
    });

    await ask(chat('How deep is the river?'));
    await ask(chat('How deep is the river?'));
    await ask(chat('And how wide?'));
    await ask(chat('And how old?'));
    await ask(chat('And the tools?', { tools: [{ type: 'function', function: { name: 'measure' } }] }));

    expect(lines.map(({ outcome, model, status, calls }) => [outcome, model, status, calls])).toEqual([
      ['passed', 'gpt-4o', 200, 1],
      ['cached', 'gpt-4o', 200, 0],
      ['cheaper', 'gpt-4o-mini', 200, 1],
      ['static', 'spillway-static', 200, 0],
      ['shed', 'gpt-4o', 429, 0],
    ]);
    expect(lines.every(({ requestedModel }) => requestedModel === 'gpt-4o')).toBe(true);
  });

  it('tells of a handler that fails, of a provider that does, and of a client that leaves', async () => {
    await ask({ ...chat('Hello?'), fails: true });
    outbound.provider.script(['500', '500', '500', 'hang']);
    await ask(chat('Hello?'));
    const controller = new AbortController();
    const left = served.ask('ada', chat('Hello?'), { signal: controller.signal }).catch(() => {});
    await until(() => outbound.provider.stats().accepted === 4);
    controller.abort();
    await left;
    await until(() => lines.length === 3);

    expect(lines.map(({ status, outcome }) => [status, outcome])).toEqual([
      [500, 'passed'],
      [500, 'passed'],
      [0, 'passed'],
    ]);
  });

  it('is written once, when several calls were made and all of them are settled', async () => {
    await served.close();
    served = await serve(outbound.gate, { callsPerRequest: 3 }, async (req, res) => {
      const { fetch } = spillwayOf(req);
      const responses = await Promise.all([1, 2, 3].map(() => fetch(outbound.url, post(req.body))));
      res.json(await Promise.all(responses.map((response) => response.json())));
    });

    await ask(chat('How deep is the river?'));

    const { inputTokens, outputTokens } = outbound.provider.stats().models['gpt-4o'] ?? {};
    expect(lines).toMatchObject([{ calls: 3, usedInputTokens: inputTokens, usedOutputTokens: outputTokens }]);
  });
});
