import Koa from 'koa';
import { afterEach, describe, expect, it } from 'vitest';
import { type BudgetOptions, type Options, openaiChat, type Passage } from '../../src/index.js';
import { handler, type MakeApp, mount, type SuiteOptions, type Turn } from '../conformance/adapter/app.js';
import { type Bench, onBench } from '../conformance/adapter/bench.js';
import { chat, completion, events } from '../support/chat.js';
import { expressApp } from '../support/express-app.js';
import { send } from '../support/http-client.js';
import { koaApp, newParser } from '../support/koa-app.js';
import { createUpstream, type Upstream } from '../support/upstream.js';

const PRICE = { input: 2, cachedInput: 0.5, output: 10 };
const ROOMY: readonly BudgetOptions[] = [
  { tokens: 1_000_000, per: 'hour' },
  { inputTokens: 1_000_000, per: 'hour' },
  { outputTokens: 1_000_000, per: 'hour' },
  { usd: 100, per: 'day' },
  { requests: 1_000, per: 'hour' },
  { concurrent: 100 },
];
const OPTIONS: Options<'user'> = {
  models: { 'gpt-4o': { budgets: ROOMY, usdPerMillion: PRICE }, 'gpt-4o-mini': { budgets: ROOMY, usdPerMillion: PRICE } },
  defaultPrice: PRICE,
  scopes: { user: { budgets: ROOMY, optional: true } },
  overheadRatio: 0,
  ladder: [],
};

/** What one scope shows after so many tokens, as `sums` names it. */
function charged(scope: string, input: number, output: number, requests = 1): Record<string, number> {
  const rows = {
    tokens: input + output,
    inputTokens: input,
    outputTokens: output,
    usd: Math.ceil(input * PRICE.input + output * PRICE.output),
    requests,
  };
  return Object.fromEntries(Object.entries(rows).flatMap(([kind, amount]) => (amount > 0 ? [[`${scope} ${kind}`, amount]] : [])));
}
const both = (input: number, output: number) => ({
  ...charged('model gpt-4o', input, output),
  ...charged('user ada', input, output),
});

let upstream: Upstream | undefined;
afterEach(async () => {
  await upstream?.close();
  upstream = undefined;
});
const post = (body: object) => ({ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

describe.each<[string, MakeApp]>([
  ['Express', expressApp],
  ['Koa', koaApp(Koa, newParser)],
])('on %s', (_, makeApp) => {
  /** One governed route, and requests to it that all come to rest. */
  async function serve(bench: Bench, run: (turn: Turn) => void | Promise<void>, options: SuiteOptions = {}, given = OPTIONS) {
    const world = bench.world(given);
    await world.gate.ready();
    const url = await bench.serve(mount(world.gate, options), handler(run));
    return {
      world,
      /** @returns the reply and, once it is at rest, what every counter holds */
      async ask(body: object = chat(), headers: Readonly<Record<string, string>> = {}) {
        const reply = await send(url, { body, headers });
        await world.atRest();
        const input = world.settled.at(-1)?.estimatedInputTokens ?? Number.NaN;
        return { reply, input, sums: await world.sums() };
      },
    };
  }
  const test = (name: string, run: (bench: Bench) => Promise<void>) => it(name, () => onBench(makeApp, run));

  describe('a handler that answers from its own store', () => {
    const kept = completion({ text: 'It is known.' });
    const { usage: _usage, ...silent } = kept;

    test('is charged nothing where its mount has been seen to make calls', async (bench) => {
      upstream = await createUpstream(() => ({ body: completion({ input: 30, output: 12 }) }));
      const url = upstream.url;
      let isKnown = false;
      const { ask } = await serve(bench, async (turn) => {
        if (isKnown) return turn.json(kept);
        const response = await turn.passage().fetch(`${url}/v1/chat/completions`, post(chat()));
        turn.json(await response.json());
      });
      expect((await ask()).sums).toEqual(both(30, 12));

      isKnown = true;
      const { reply, sums } = await ask();

      expect(JSON.parse(reply.text)).toEqual(kept);
      expect(sums).toEqual(both(30, 12));
    });

    test('is charged what its answer looks like where no call was ever seen, unless it cancels', async (bench) => {
      let cancels = false;
      const { ask } = await serve(bench, (turn) => {
        if (cancels) turn.passage().cancel();
        turn.json(silent);
      });

      const first = await ask();
      expect(first.sums).toEqual(both(first.input, 4));

      cancels = true;
      expect((await ask()).sums).toEqual(first.sums);
    });

    test('pays for nothing when it finds nothing', async (bench) => {
      const { ask } = await serve(bench, (turn) => turn.json({ error: 'unknown' }, 404));

      expect((await ask()).sums).toEqual({});
    });
  });

  describe('a handler that knows what was used', () => {
    test('is charged that to the micro-dollar, cached input at its own price, whatever its answer says', async (bench) => {
      const { ask } = await serve(bench, (turn) => {
        turn.passage().settle({ inputTokens: 1_000, cachedInputTokens: 600, outputTokens: 50 });
        turn.json(completion({ input: 1, output: 1 }));
      });

      const { sums } = await ask();

      const usd = 400 * PRICE.input + 600 * PRICE.cachedInput + 50 * PRICE.output;
      expect(sums).toEqual({ ...both(1_000, 50), 'model gpt-4o usd': usd, 'user ada usd': usd });
    });

    test('is charged beyond what was held: it stays as debt', async (bench) => {
      const { ask, world } = await serve(bench, (turn) => {
        turn.passage().settle({ inputTokens: 90_000, outputTokens: 9_000 });
        turn.json({});
      });

      expect((await ask()).sums).toEqual(both(90_000, 9_000));
      expect(world.settled[0]?.overdraftTokens).toBeGreaterThan(98_000);
    });

    test('is charged though it answers with an error, and nothing once it cancels after all', async (bench) => {
      let cancels = false;
      const { ask } = await serve(bench, (turn) => {
        turn.passage().settle({ inputTokens: 40, outputTokens: 4 });
        if (cancels) turn.passage().cancel();
        turn.json({ error: 'came too late' }, 500);
      });

      expect((await ask()).sums).toEqual(both(40, 4));
      cancels = true;
      expect((await ask()).sums).toEqual(both(40, 4));
    });
  });

  describe('a route that sends the whole text so far with every chunk', () => {
    const words = 'The river is as deep as it is wide, they say, and nobody has measured either of them for years.'.split(' ');
    const sofar = words.map((_word, index) => words.slice(0, index + 1).join(' '));
    const WAYS: Readonly<Record<string, { type: string; chunks: readonly string[] }>> = {
      'events of its own': { type: 'text/event-stream', chunks: sofar.map((text) => `data: ${JSON.stringify({ text })}\n\n`) },
      'events of its dialect': {
        type: 'text/event-stream',
        chunks: sofar.flatMap((text) => events({ text }).slice(0, -3)),
      },
      'lines of JSON': { type: 'application/x-ndjson', chunks: sofar.map((text) => `${JSON.stringify({ text })}\n`) },
      text: { type: 'text/plain', chunks: sofar.map((text) => `${text}\n`) },
    };

    for (const [way, { type, chunks }] of Object.entries(WAYS))
      test(`is charged at most its output maximum: ${way}`, async (bench) => {
        const { ask } = await serve(bench, async ({ res }) => {
          res.writeHead(200, { 'content-type': type });
          for (const chunk of chunks) {
            res.write(chunk);
            await new Promise((resolve) => setImmediate(resolve));
          }
          res.end();
        });

        const { reply, input, sums } = await ask(chat({ stream: true, max_tokens: 30 }));

        expect(reply.text).toBe(chunks.join(''));
        expect(reply.text.length / 4).toBeGreaterThan(60);
        expect(sums).toEqual(both(input, 30));
      });

    test('is charged at most the cap on one call where the body names no maximum', async (bench) => {
      const cap: BudgetOptions = { outputTokens: 25, per: 'call' };
      const { ask } = await serve(
        bench,
        (turn) => turn.send(sofar.join('\n')),
        {},
        {
          ...OPTIONS,
          scopes: { user: { budgets: [...ROOMY, cap], optional: true } },
        },
      );

      const { input, sums } = await ask(chat({ stream: true }));

      expect(sums).toEqual(both(input, 25));
    });
  });

  describe('a route whose model and history come from a database', () => {
    const HISTORY: Readonly<Record<string, readonly string[]>> = {
      short: ['How deep is the river?'],
      long: ['How deep is the river?', 'As deep as it is wide.', 'And how wide?', 'Nobody has measured it. '.repeat(200)],
    };
    const MODEL: Readonly<Record<string, string>> = { short: 'gpt-4o-mini', long: 'gpt-4o' };
    /** What the provider says that it took: a token for four characters. */
    const inputOf = (messages: readonly { content: string }[] = []) =>
      Math.ceil(messages.reduce((sum, { content }) => sum + content.length, 0) / 4);

    async function converse(bench: Bench, options: SuiteOptions = {}, given = OPTIONS) {
      upstream = await createUpstream(({ model, messages }) => ({
        body: completion({ model, input: inputOf(messages), output: 17 }),
      }));
      const url = upstream.url;
      return serve(
        bench,
        async (turn) => {
          const { message, conversationId } = turn.body as { message: string; conversationId: string };
          const messages = [...(HISTORY[conversationId] ?? []), message].map((content) => ({ role: 'user', content }));
          const body = { model: MODEL[conversationId], messages, max_tokens: 50 };
          const response = await turn.passage().fetch(`${url}/v1/chat/completions`, post(body));
          turn.json({ reply: await response.json() }, response.status);
        },
        options,
        given,
      );
    }
    const textOf = (conversation: string, message: string) => [...(HISTORY[conversation] ?? []), message].join('');

    test('is charged by its calls: each on its model, by its whole history, and one request for each', async (bench) => {
      const { ask } = await converse(bench);

      const first = await ask({ message: 'And now?', conversationId: 'short' });
      const second = await ask({ message: 'Really?', conversationId: 'long' });

      expect([first.reply.status, second.reply.status]).toEqual([200, 200]);
      const [short, long] = [textOf('short', 'And now?'), textOf('long', 'Really?')].map((text) => Math.ceil(text.length / 4));
      expect(second.sums).toEqual({
        ...charged('model gpt-4o-mini', short as number, 17),
        ...charged('model gpt-4o', long as number, 17),
        ...charged('user ada', (short as number) + (long as number), 34, 2),
      });
    });

    test('is refused by what its history costs, not by the size of what was sent', async (bench) => {
      const { ask } = await converse(
        bench,
        {},
        {
          ...OPTIONS,
          scopes: { user: { budgets: [{ inputTokens: 500, per: 'call' }, ...ROOMY], optional: true } },
        },
      );

      const short = await ask({ message: 'And now?', conversationId: 'short' });
      const long = await ask({ message: 'And now?', conversationId: 'long' });

      expect([short.reply.status, long.reply.status]).toEqual([200, 413]);
      expect(upstream?.calls).toHaveLength(1);
      expect(long.sums).toEqual(short.sums);
    });

    test('is priced at the mount too, by a dialect that looks the conversation up', async (bench) => {
      const read: typeof openaiChat.read = (body, path) => {
        const { message, conversationId } = body as { message: string; conversationId: string };
        const messages = [...(HISTORY[conversationId] ?? []), message].map((content) => ({ role: 'user', content }));
        return openaiChat.read({ model: MODEL[conversationId], messages, max_tokens: 50 }, path);
      };
      const { ask, world } = await converse(bench, { dialect: { ...openaiChat, name: 'conversation', read } });
      const estimates: number[] = [];
      world.gate.on('call-admitted', ({ inputTokens }) => void estimates.push(inputTokens));

      const { sums } = await ask({ message: 'Really?', conversationId: 'long' });

      const long = Math.ceil(textOf('long', 'Really?').length / 4);
      expect(sums).toEqual({ ...charged('model gpt-4o', long, 17), ...charged('user ada', long, 17) });
      // The request was held for what its call was held for.
      expect(estimates).toEqual([estimates[0], estimates[0]]);
      expect(estimates[0]).toBeGreaterThan(500);
    });
  });

  describe('an identity that only the handler learns', () => {
    const nobody = { identify: () => undefined };
    const call = async ({ fetch }: Pick<Passage, 'fetch'>) => {
      const response = await fetch(`${upstream?.url}/v1/chat/completions`, post(chat()));
      return (await response.json()) as object;
    };

    test('is charged for the calls that are made in its name, and one request for all of them', async (bench) => {
      upstream = await createUpstream(() => ({ body: completion({ input: 30, output: 12 }) }));
      const { ask } = await serve(
        bench,
        async (turn) => {
          const known = turn.passage().as({ user: 'ada' });
          await call(known);
          turn.json(await call(known));
        },
        nobody,
      );

      const { sums } = await ask();

      expect(sums).toEqual({ ...charged('model gpt-4o', 60, 24, 2), ...charged('user ada', 60, 24, 1) });
    });

    test('is refused when its own budget is full, although the request was let in without it', async (bench) => {
      upstream = await createUpstream(() => ({ body: completion({ input: 30, output: 12 }) }));
      const { ask } = await serve(
        bench,
        async (turn) => {
          const response = await turn.passage().as({ user: 'ada' }).fetch(`${upstream?.url}/v1/chat/completions`, post(chat()));
          turn.json(await response.json(), response.status);
        },
        nobody,
        { ...OPTIONS, scopes: { user: { budgets: [{ requests: 1, per: 'hour' }], optional: true } } },
      );

      const [first, second] = [await ask(), await ask()];

      expect([first.reply.status, second.reply.status]).toEqual([200, 429]);
      expect(JSON.parse(second.reply.text).error.message).toContain('the request budget of this user');
      expect(second.sums).toEqual(first.sums);
    });
  });

  describe('a request that is skipped', () => {
    test('is not counted, and calls made in it count for nobody but their model', async (bench) => {
      upstream = await createUpstream(() => ({ body: completion({ input: 30, output: 12 }) }));
      const given: Options<'user'> = { ...OPTIONS, scopes: { user: { budgets: ROOMY } } };
      let fetchIt: Passage['fetch'] = fetch;
      const { ask, world } = await serve(
        bench,
        async (turn) => {
          const response = await fetchIt(`${upstream?.url}/v1/chat/completions`, post(chat()));
          turn.json(await response.json());
        },
        { skip: (req) => req.headers['x-skip'] === 'yes' },
        given,
      );
      fetchIt = world.gate.fetch;

      const { reply, sums } = await ask(chat(), { 'x-skip': 'yes' });

      expect(reply.status).toBe(200);
      expect(sums).toEqual(charged('model gpt-4o', 30, 12));
      expect(world.missing).toEqual([{ route: undefined, scope: 'user' }]);
      expect((await ask()).sums).toEqual({ ...charged('model gpt-4o', 60, 24, 2), ...charged('user ada', 30, 12) });
    });
  });
});
