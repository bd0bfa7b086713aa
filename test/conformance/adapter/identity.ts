import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { Key } from '../../../src/index.js';
import { staticAnswer } from '../../../src/index.js';
import { chat, completion } from '../../support/chat.js';
import { type Reply, send } from '../../support/http-client.js';
import { byHeader, handler, mount, type SuiteOptions } from './app.js';
import type { Bench, Case } from './bench.js';

const LATER = (value: unknown) => new Promise<never>((resolve) => setTimeout(resolve, 2, value));

/** Expects that this `identify` makes the request count for one user. */
async function countsFor(bench: Bench, identify: NonNullable<SuiteOptions['identify']>, user: string): Promise<void> {
  const world = bench.world();
  const seen: unknown[] = [];
  const url = await bench.serve(
    mount(world.gate, { identify }),
    handler((turn) => {
      seen.push(turn.passage().identity);
      turn.json(completion());
    }),
  );

  await send(url, { body: chat() });
  await send(url, { body: chat() });
  await world.atRest();

  expect(seen).toEqual([{ user }, { user }]);
  expect(await world.sums()).toMatchObject({ [`user ${user} requests`]: 2, [`user ${user} tokens`]: 54 });
}

/** Expects that this `identify` ends in the error path, once, with nothing held. */
async function fails(bench: Bench, identify: NonNullable<SuiteOptions['identify']>, failure: object): Promise<void> {
  const world = bench.world();
  let handled = 0;
  const url = await bench.serve(
    mount(world.gate, { identify }),
    handler(() => void handled++),
  );

  const reply = await send(url, { body: chat() });

  expect(reply.status).toBe(500);
  expect(bench.failures).toEqual([expect.objectContaining(failure)]);
  expect({ handled, admitted: world.admitted, sums: await world.sums() }).toEqual({ handled: 0, admitted: [], sums: {} });
  expect((await world.gate.snapshot()).openRequests).toBe(0);
}

const headerText = ({ rawHeaders }: Reply) => rawHeaders.join('\n');

/** Ids that would do harm in a header, in a counter's name or in a log. */
const HOSTILE_IDS: Readonly<Record<string, string>> = {
  'with braces': '{other}{tag}',
  'with line ends': 'ada\r\nset-cookie: admin=1\r\n\r\n<html>',
  'with the separators of counters': 'ada|model|gpt-4o,;',
  'of a megabyte': 'ada-'.repeat(262_144),
  'that is the name of a built-in member': '__proto__',
  'with a lone surrogate': 'ada\ud800',
};

/** Longer keys than 512 characters are remembered by their hash. */
const rememberedAs = (id: string) => (id.length > 512 ? `sha256:${createHash('sha256').update(id).digest('hex')}` : id);

/** Model names that would do harm in a header. */
const HOSTILE_MODELS: Readonly<Record<string, string>> = {
  'with line ends': 'gpt-4o\r\nset-cookie: admin=1',
  'with characters that no header may carry': 'gpt-4o\u0000\u{1f30a}',
  'that is the name of a built-in member': 'constructor',
};

export const identity: readonly Case[] = [
  { name: 'counts for whom identify names', run: (bench) => countsFor(bench, () => ({ user: 'ada' }), 'ada') },
  { name: 'waits for an identify that takes a while', run: (bench) => countsFor(bench, () => LATER({ user: 'ada' }), 'ada') },
  { name: 'takes a number as a key', run: (bench) => countsFor(bench, () => ({ user: 42 }), '42') },
  { name: 'takes a bigint as a key', run: (bench) => countsFor(bench, () => ({ user: 2n ** 64n }), '18446744073709551616') },
  {
    name: 'takes the error path once when identify throws',
    run: (bench) =>
      fails(
        bench,
        () => {
          throw new Error('no session');
        },
        { message: 'no session' },
      ),
  },
  {
    name: 'takes the error path once when identify rejects',
    run: (bench) => fails(bench, async () => Promise.reject(new Error('no session')), { message: 'no session' }),
  },
  ...[undefined, null, 'route', 'router', 0, ''].map((thrown) => ({
    name: `runs no handler when identify rejects with ${JSON.stringify(thrown)}, which some frameworks take for the word to go on`,
    async run(bench: Bench) {
      const world = bench.world();
      let handled = 0;
      const url = await bench.serve(
        mount(world.gate, { identify: () => Promise.reject(thrown) }),
        handler(() => void handled++),
      );

      const reply = await send(url, { body: chat() });
      await world.atRest();

      expect({ status: reply.status, handled }).toEqual({ status: 500, handled: 0 });
      expect(await world.sums()).toEqual({});
    },
  })),
  {
    name: 'takes the error path once when identify names something that is no key',
    run: (bench) => fails(bench, () => ({ user: Number.NaN }), { code: 'SPILLWAY_BAD_IDENTITY', expose: false }),
  },
  {
    name: 'takes the error path once when identify names an unknown scope',
    run: (bench) => fails(bench, () => ({ usr: 'ada' }) as object, { code: 'SPILLWAY_BAD_IDENTITY' }),
  },
  {
    name: 'answers 401 in the dialect of the body when identify names nobody, without a retry',
    async run(bench) {
      const world = bench.world();
      let handled = 0;
      const url = await bench.serve(
        mount(world.gate, { identify: byHeader, route: 'chat' }),
        handler(() => void handled++),
      );

      const reply = await send(url, { body: chat() });

      expect(reply.status).toBe(401);
      expect(reply.headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'spillway-outcome': 'shed',
        'x-should-retry': 'false',
      });
      expect(JSON.parse(reply.text).error).toMatchObject({ code: 'missing_identity', type: 'invalid_request_error' });
      expect(world.missing).toEqual([{ route: 'chat', scope: 'user' }]);
      expect({ handled, admitted: world.admitted, failures: bench.failures }).toEqual({ handled: 0, admitted: [], failures: [] });
    },
  },
  {
    name: 'lets a request without identity pass when its scope is optional',
    async run(bench) {
      const world = bench.world({ scopes: { user: { budgets: [{ requests: 5, per: 'hour' }], optional: true } } });
      const url = await bench.serve(
        mount(world.gate, { identify: byHeader }),
        handler((turn) => turn.json(completion())),
      );

      expect((await send(url, { body: chat() })).status).toBe(200);
      await world.atRest();
      expect(await world.sums()).toEqual({ 'model gpt-4o tokens': 27, 'model gpt-4o requests': 1 });
    },
  },
  ...Object.entries(HOSTILE_IDS).flatMap(([what, id]) => [
    {
      name: `shows nothing of an id ${what} when the request passes`,
      run: async (bench: Bench) => {
        const world = bench.world();
        const url = await bench.serve(
          mount(world.gate, { identify: () => ({ user: id as Key }) }),
          handler((turn) => turn.json(completion())),
        );

        const reply = await send(url, { body: chat() });
        await world.atRest();

        expect(reply.status).toBe(200);
        expect(headerText(reply)).not.toContain(id.slice(0, 8));
        expect(reply.headers).not.toHaveProperty('set-cookie');
        expect(await world.sums()).toMatchObject({ [`user ${rememberedAs(id)} tokens`]: 27 });
      },
    },
    {
      name: `shows nothing of an id ${what} when the request is refused`,
      run: async (bench: Bench) => {
        const world = bench.world({ scopes: { user: { budgets: [{ requests: 1, per: 'hour' }] } }, ladder: [] });
        const url = await bench.serve(
          mount(world.gate, { identify: () => ({ user: id as Key }) }),
          handler((turn) => turn.json(completion())),
        );

        await send(url, { body: chat() });
        const reply = await send(url, { body: chat() });

        expect(reply.status).toBe(429);
        expect(`${headerText(reply)}\n${reply.text}`).not.toContain(id.slice(0, 8));
        expect(reply.headers).not.toHaveProperty('set-cookie');
      },
    },
  ]),
  ...Object.entries(HOSTILE_MODELS).flatMap(([what, model]) => [
    {
      name: `keeps a model name ${what} out of the headers when the request passes`,
      run: async (bench: Bench) => {
        const world = bench.world();
        const url = await bench.serve(
          mount(world.gate),
          handler((turn) => turn.json(completion({ model }))),
        );

        const reply = await send(url, { body: chat({ model }) });
        await world.atRest();

        expect(reply.status).toBe(200);
        expect(reply.headers['spillway-outcome']).toBe('passed');
        expect(reply.headers['spillway-model']).toBe(model === 'constructor' ? model : undefined);
        expect(reply.headers).not.toHaveProperty('set-cookie');
        expect(await world.sums()).toEqual({ 'user ada tokens': 27, 'user ada requests': 1 });
      },
    },
    {
      name: `keeps a model name ${what} out of the headers of a static answer`,
      run: async (bench: Bench) => {
        const world = bench.world({
          scopes: { user: { budgets: [{ inputTokens: 1, per: 'hour' }] } },
          ladder: [staticAnswer(() => 'Later, please.')],
        });
        const url = await bench.serve(
          mount(world.gate),
          handler((turn) => turn.json(completion({ model }))),
        );

        const reply = await send(url, { body: chat({ model }) });

        expect(reply.status).toBe(200);
        expect(reply.headers).toMatchObject({ 'spillway-outcome': 'static', 'spillway-model': 'spillway-static' });
        expect(reply.headers).not.toHaveProperty('set-cookie');
      },
    },
    {
      name: `names no model ${what} when unknown models are refused`,
      run: async (bench: Bench) => {
        const world = bench.world({ unknownModel: 'refuse' });
        const url = await bench.serve(
          mount(world.gate),
          handler((turn) => turn.json(completion({ model }))),
        );

        const reply = await send(url, { body: chat({ model }) });

        expect(reply.status).toBe(400);
        expect(JSON.parse(reply.text).error).toMatchObject({ code: 'model_not_found', param: 'model' });
        expect(`${headerText(reply)}\n${reply.text}`).not.toMatch(/set-cookie|constructor|\u{1f30a}/u);
      },
    },
  ]),
];
