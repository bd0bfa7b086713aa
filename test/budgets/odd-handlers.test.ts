import Koa from 'koa';
import { describe, expect, it } from 'vitest';
import { handler, type MakeApp, mount } from '../conformance/adapter/app.js';
import { type Bench, onBench } from '../conformance/adapter/bench.js';
import { chat, completion } from '../support/chat.js';
import { expressApp } from '../support/express-app.js';
import { bodyOf, createTestGate } from '../support/gate.js';
import { send } from '../support/http-client.js';
import { koaApp, newParser } from '../support/koa-app.js';

describe.each<[string, MakeApp]>([
  ['Express', expressApp],
  ['Koa', koaApp(Koa, newParser)],
])('on %s', (_, makeApp) => {
  const test = (name: string, run: (bench: Bench) => Promise<void>) => it(name, () => onBench(makeApp, run));

  test('a handler whose own answer shows its call is charged, though another one behind the same mount calls through the gate', async (bench) => {
    const { gate, sums, atRest } = bench.world();
    const url = await bench.serve(
      mount(gate),
      handler(async (turn) => {
        await turn.passage().run({ body: chat() }, async () => completion());
        turn.json(completion());
      }, '/seen'),
      handler((turn) => turn.json(completion()), '/bare'),
    );

    for (const path of ['/seen', '/bare', '/seen', '/bare']) await send(`${url}${path}`, { body: chat() });
    await atRest();

    expect(await sums()).toMatchObject({ 'user ada tokens': 4 * 27, 'user ada requests': 4 });
  });

  test('a request past two mounts gets everything back from both when its handler cancels', async (bench) => {
    const { gate, sums, atRest } = bench.world();
    const url = await bench.serve(
      mount(gate),
      mount(gate, { route: 'chat', budgets: { route: [{ requests: 1, per: 'minute' }] } }),
      handler((turn) => {
        turn.passage().cancel();
        turn.json(completion());
      }),
    );

    await send(url, { body: chat() });
    await atRest();

    expect(await sums()).toEqual({});
  });

  test('keeps what its calls used when its handler cancels, and the one request that they are', async (bench) => {
    const { gate, sums, atRest } = bench.world();
    const url = await bench.serve(
      mount(gate),
      mount(gate),
      handler(async (turn) => {
        await turn.passage().run({ body: chat() }, async () => completion());
        turn.passage().cancel();
        turn.json(completion());
      }),
    );

    await send(url, { body: chat() });
    await atRest();

    expect(await sums()).toMatchObject({ 'user ada tokens': 27, 'user ada requests': 1, 'model gpt-4o tokens': 27 });
  });

  test('a request past two mounts that have seen calls is charged nothing when it is answered without one', async (bench) => {
    const { gate, sums, atRest } = bench.world();
    let isKnown = false;
    const url = await bench.serve(
      mount(gate),
      mount(gate),
      handler(async (turn) => {
        if (!isKnown) await turn.passage().run({ body: chat() }, async () => completion());
        turn.json(completion());
      }),
    );
    await send(url, { body: chat() });
    await atRest();
    const before = await sums();

    isKnown = true;
    await send(url, { body: chat() });
    await atRest();

    expect(await sums()).toEqual(before);
  });

  for (const type of ['text/event-stream', 'text/plain', 'application/x-ndjson'])
    test(`whole text so far with every chunk, no maximum anywhere: ${type}`, async (bench) => {
      const { gate, sums, atRest } = bench.world();
      const words = Array.from({ length: 600 }, () => 'word');
      const url = await bench.serve(
        mount(gate),
        handler(({ res }) => {
          res.writeHead(200, { 'content-type': type });
          for (const index of words.keys())
            res.write(`data: ${JSON.stringify({ text: words.slice(0, index + 1).join(' ') })}\n\n`);
          res.end();
        }),
      );

      await send(url, { body: chat({ stream: true }) });
      await atRest();

      expect((await sums())['user ada tokens']).toBeLessThanOrEqual(4_096 + 20);
    });
});

it('prices an answer by the model that it names', async () => {
  const { gate, used } = createTestGate({
    models: {
      'gpt-4o': { usdPerMillion: { input: 2, output: 10 } },
      'gpt-4o-mini': { usdPerMillion: { input: 0.2, output: 1 } },
    },
    unknownModel: 'refuse',
    scopes: { user: { budgets: [{ usd: 1, per: 'day' }] } },
    ladder: [],
  });
  const usage = { prompt_tokens: 1_000, completion_tokens: 100 };

  await gate.as({ user: 'ann' }).run({ body: bodyOf(100) }, async () => ({ model: 'gpt-4o-mini-2024-07-18', usage }));

  expect(await used('user|ann|usd;day@UTC', { kind: 'calendar', unit: 'day', timeZone: 'UTC' })).toBe(300);
});

it.each([[undefined], [''], [5], [null], [{}], [Promise.resolve('x')]])('refuses a pool of %s', async (bad) => {
  const pool = () => bad as never;
  const { gate, sent } = createTestGate({
    models: { 'gpt-4o': { budgets: [{ requests: 5, per: 'minute' }], pool } },
    ladder: [],
  });

  await expect(gate.run({ body: bodyOf(100) }, async () => ({}))).rejects.toThrow('models["gpt-4o"].pool(call) must return');
  expect(sent).toEqual([]);
});
