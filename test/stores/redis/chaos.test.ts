import { afterEach, describe, expect, it } from 'vitest';
import { until } from '../../support/loopback.js';
import { createFaultProxy, type FaultProxy } from '../../support/redis/fault-proxy.js';
import { type RedisServer, startRedis } from '../../support/redis/server.js';
import { ownPrefix } from '../../support/redis/shared.js';
import { closeRigs, countsIn, HASTE, HOW, money, openStore, type Rig, running, TIMEOUT_MS, tokens } from './rig.js';

/** A soak asks for more: `SPILLWAY_CHAOS_MS=60000`, and for the same ones again: `SPILLWAY_SEED=7`. */
const CHAOS_MS = Number(process.env.SPILLWAY_CHAOS_MS ?? 2_000);
const SEED = Number(process.env.SPILLWAY_SEED ?? Math.floor(Math.random() * 1_000_000));

let server: RedisServer | undefined;
const proxies: FaultProxy[] = [];
afterEach(async () => {
  server?.resume();
  await closeRigs();
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
  await server?.stop();
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function dice(seed: number) {
  let state = seed;
  return (sides: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 8) % sides;
  };
}

/** Requests, some with inner calls that draw on them; every one is settled. Nothing is ever refused. */
async function load(rig: Rig, name: string, roll: (sides: number) => number, spent: { tokens: number }, isOver: () => boolean) {
  const items = (amount: number) => [
    tokens(amount, 'open', 1e9),
    { ...money(amount, 1e9), onStoreError: 'open' as const },
    running(1e6),
  ];
  for (let i = 0; !isOver(); i++) {
    const id = `${name}-${i}`;
    await rig.store.reserve(id, items(100), HOW);
    await pause(roll(40));
    if (roll(3) === 0) {
      await rig.store.reserve(`${id}-inner`, items(60), { ...HOW, from: id });
      await pause(roll(150));
      const amount = roll(90);
      spent.tokens += amount;
      await rig.store.settle(`${id}-inner`, [amount, amount, 0]);
    }
    const amount = roll(4) === 0 ? 0 : roll(150);
    spent.tokens += amount;
    await rig.store.settle(id, [amount, amount, 0]);
  }
}

async function breakThings(proxy: FaultProxy, roll: (sides: number) => number, isOver: () => boolean): Promise<void> {
  const faults = [
    () => proxy.dropReplies(),
    () => proxy.halfOpen(),
    () => proxy.cut(),
    () => proxy.set({ replies: 'hold' }),
    () => proxy.set({ requests: 'hold' }),
    () => proxy.set({ replies: { delayMs: TIMEOUT_MS / 2 } }),
    () => proxy.set({ requests: { delayMs: TIMEOUT_MS * 2 } }),
  ];
  while (!isOver()) {
    await pause(50 + roll(300));
    faults[roll(faults.length)]?.();
    await pause(10 + roll(400));
    await proxy.heal();
  }
}

describe('two instances on a bad network', () => {
  it.each([
    ['', async (_: RedisServer) => {}],
    [
      'whose server is killed now and then, and keeps a file',
      async (own: RedisServer) => {
        await pause(400);
        await own.kill9();
        await pause(200);
        await own.restart();
      },
    ],
    [
      'whose server loses all counts',
      async (own: RedisServer) => {
        await pause(700);
        await own.cli('FLUSHALL');
        await pause(1_000);
      },
    ],
  ])('count each call once %s', { timeout: 60_000 + 3 * CHAOS_MS }, async (_, trouble) => {
    const roll = dice(SEED);
    const own = await startRedis({ config: ['appendonly yes', 'appendfsync always'] });
    server = own;
    const prefix = ownPrefix();
    const rigs: Rig[] = [];
    for (let i = 0; i < 2; i++) {
      const proxy = await createFaultProxy(own);
      proxies.push(proxy);
      rigs.push(openStore(proxy.port, { prefix, timeoutMs: (TIMEOUT_MS * HASTE) / 2 }));
    }
    const counts = countsIn(own.port, prefix);
    const spent = { tokens: 0 };
    let isOver = false;
    const over = () => isOver;

    const callers = rigs.flatMap((rig, index) =>
      Array.from({ length: 8 }, (_, i) => load(rig, `${index}-${i}`, roll, spent, over)),
    );
    const breakers = proxies.map((proxy) => breakThings(proxy, roll, over));
    const troubles = (async () => {
      while (!isOver) await trouble(own).then(() => pause(100));
    })();
    await pause(CHAOS_MS);
    isOver = true;
    await Promise.all([...callers, ...breakers, troubles]);
    await until(() => rigs.every(({ store }) => !store.isAway));

    const expected = [spent.tokens, spent.tokens, 0];
    await expect
      .poll(() => counts(tokens(0), money(0), running()), { timeout: 5_000, message: `seed ${SEED}` })
      .toEqual(expected);
    await pause(1_200);
    expect(await counts(tokens(0), money(0), running()), `seed ${SEED}`).toEqual(expected);
    expect(spent.tokens).toBeGreaterThan(2_000);
  });
});
