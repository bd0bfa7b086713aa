import { afterEach, describe, expect, it } from 'vitest';
import { until } from '../../support/loopback.js';
import { type RedisServer, startRedis } from '../../support/redis/server.js';
import { ownPrefix } from '../../support/redis/shared.js';
import { closeRigs, countsIn, HASTE, hasty, openStore, type Rig, tokens } from './rig.js';

/** A soak asks for longer ones: `SPILLWAY_OUTAGE_MS=30000`. */
const OUTAGE_MS = Number(process.env.SPILLWAY_OUTAGE_MS ?? 2_500);
const TIMEOUT_MS = 50;
const LIMIT = 6_000;
const MOST = 40;
const INSTANCES = 3;
const HOW = { leaseMs: 120_000 };

let server: RedisServer | undefined;
afterEach(async () => {
  server?.resume();
  await closeRigs();
  await server?.stop();
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Callers that reserve and settle, one after the other, until told to stop. */
function load(rigs: readonly Rig[], callers: number) {
  const seen = { tookMs: [] as number[], errors: [] as unknown[], spent: 0, held: 0, refused: 0 };
  let isOver = false;
  const items = (amount: number) => [tokens(amount, 'local-share', LIMIT), { ...tokens(amount, 'open', 1), counter: 'open' }];

  async function call({ store }: Rig, id: string): Promise<void> {
    const beganAtMs = performance.now();
    const [first, second] = items(1 + Math.floor(Math.random() * MOST));
    const { kind } = await store.reserve(id, [first as never, { ...second, refuseAt: Infinity } as never], HOW);
    seen.tookMs.push(performance.now() - beganAtMs);
    if (kind === 'full') {
      seen.refused++;
      return;
    }
    seen.held++;
    await pause(Math.random() * 30);
    const amount = Math.floor(Math.random() * (first?.amount ?? 0));
    seen.spent += amount;
    await store.settle(id, [amount, amount]);
  }

  const running = rigs.flatMap((rig, instance) =>
    Array.from({ length: callers }, async (_, caller) => {
      for (let i = 0; !isOver; i++) {
        await call(rig, `${instance}-${caller}-${i}`).catch((error) => seen.errors.push(error));
        await pause(10 + Math.random() * 10);
      }
    }),
  );
  const stop = async () => {
    isOver = true;
    await Promise.all(running);
  };
  return { seen, stop };
}

const p99 = (all: readonly number[]) => [...all].sort((a, b) => a - b)[Math.floor(all.length * 0.99)] ?? 0;

async function three(port: number, prefix: string): Promise<Rig[]> {
  const rigs = Array.from({ length: INSTANCES }, () => openStore(port, { prefix, timeoutMs: TIMEOUT_MS * HASTE, clock: hasty }));
  for (const [index, { store }] of rigs.entries())
    await store.reserve(`first-${index}`, [{ ...tokens(0), counter: 'none' }], HOW);
  await until(() => rigs.every(({ store }) => store.instances === INSTANCES));
  return rigs;
}

describe.each<[string, (server: RedisServer) => unknown, (server: RedisServer) => unknown]>([
  ['stands still', (server) => server.pause(), (server) => server.resume()],
  ['is gone, and comes back empty', (server) => server.kill9(), (server) => server.restart()],
])('three instances under load, while Redis %s', (_, lose, bring) => {
  it('stop no call for want of it, keep within their shares, and tell it once what they spent', {
    timeout: 120_000,
  }, async () => {
    server = await startRedis();
    const prefix = ownPrefix();
    const rigs = await three(server.port, prefix);
    const counts = countsIn(server.port, prefix);

    const { seen, stop } = load(rigs, 6);
    await pause(300);
    await lose(server);
    seen.tookMs.length = 0;
    await pause(OUTAGE_MS);
    await bring(server);
    await until(() => rigs.every(({ store }) => !store.isAway));
    const tookMs = [...seen.tookMs];
    await pause(500);
    await stop();
    await until(async () => (await counts(tokens(0), { ...tokens(0), counter: 'open' })).every((sum) => sum === seen.spent));

    expect(seen.errors).toEqual([]);
    expect(p99(tookMs)).toBeLessThan(TIMEOUT_MS * 1.5);
    // The window is longer than all of this.
    if (OUTAGE_MS < 20_000) {
      expect(seen.spent).toBeLessThanOrEqual(2 * LIMIT - LIMIT / INSTANCES);
      expect(seen.refused).toBeGreaterThan(0);
    }
    expect(seen.held).toBeGreaterThan(100);
    for (const { notices, store } of rigs) {
      expect(notices.filter((code) => code !== 'lost')).toEqual(['away', 'back']);
      expect(store.instances).toBe(INSTANCES);
    }
    if (process.env.SPILLWAY_FIGURES)
      console.log({
        p99: p99(tookMs),
        most: Math.max(...tookMs),
        ...seen,
        tookMs: tookMs.length,
        bound: 2 * LIMIT - LIMIT / INSTANCES,
      });
  });
});

describe('three instances of which one had used all of the limit, without Redis', () => {
  it('spend 2L - L/n in the first window, and no more', async () => {
    server = await startRedis();
    const prefix = ownPrefix();
    const rigs = await three(server.port, prefix);
    const counts = countsIn(server.port, prefix);
    const [first] = rigs as [Rig];
    const one = tokens(10, 'local-share', 900);
    let spent = 0;
    const spend = async (rig: Rig, id: string) => {
      const { kind } = await rig.store.reserve(id, [one], HOW);
      if (kind === 'held') spent += one.amount;
    };
    for (let i = 0; i < 100; i++) await spend(first, `before-${i}`);
    expect(spent).toBe(900);

    await server.kill9();
    for (let i = 0; i < 60; i++) for (const [index, rig] of rigs.entries()) await spend(rig, `without-${index}-${i}`);
    expect(spent).toBe(900 + 2 * 300);
    await server.restart();
    for (let i = 0; rigs.some(({ notices }) => !notices.includes('back')); i++) {
      for (const [index, rig] of rigs.entries()) await spend(rig, `mending-${index}-${i}`);
      await pause(5);
    }
    for (const [index, rig] of rigs.entries()) await spend(rig, `after-${index}`);

    expect(spent).toBe(2 * 900 - 900 / 3);
    expect(await counts(tokens(0))).toEqual([spent]);
  });
});

describe('three instances of which two spent their shares, when Redis answers again', () => {
  it('pass no limit: none goes by the common counts before all have told them', async () => {
    server = await startRedis();
    const prefix = ownPrefix();
    const rigs = await three(server.port, prefix);
    const counts = countsIn(server.port, prefix);
    const one = tokens(10, 'local-share', 900);
    let spent = 0;
    const spend = async (rig: Rig | undefined, id: string) => {
      const decision = await rig?.store.reserve(id, [one], HOW);
      if (decision?.kind === 'held') spent += one.amount;
    };

    server.pause();
    for (let i = 0; i < 60; i++) for (const index of [1, 2]) await spend(rigs[index], `without-${index}-${i}`);
    while (!rigs[0]?.store.isAway) await rigs[0]?.store.reserve(`lost-${Math.random()}`, [{ ...one, counter: 'none' }], HOW);
    expect(spent).toBe(600);
    server.resume();
    for (let i = 0; rigs.some(({ store }) => store.isAway); i++) {
      await spend(rigs[0], `mending-${i}`);
      await pause(2);
    }
    for (let i = 0; i < 100; i++) await spend(rigs[i % 3], `after-${i}`);

    expect(spent).toBe(900);
    expect(await counts(tokens(0))).toEqual([900]);
  });
});
