import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { memoryStore } from '../../../src/stores/memory.js';
import { createExact, type Exact } from '../../../src/stores/redis/exact.js';
import type { Full, Held, Item, ReserveHow, Store } from '../../../src/stores/store.js';
import { ownPrefix } from '../../support/redis/shared.js';
import { ALL, type Command, howOf, program, REMEMBERED_MS, type Reserve, START_MS } from '../../support/store-program.js';
import { createVirtualClock } from '../../support/virtual-clock.js';
import { CLIENTS } from './clients.js';

const RUNS = Number(process.env.SPILLWAY_RUNS ?? 400);

type Counts = Pick<Store, 'reserve' | 'peek'> & { settle: Exact['settle'] | Store['settle']; renew: Exact['renew'] };

/** What each of some counts answers to a program, and what each counter holds after each of its commands. */
async function follow(counts: Counts, clock: ReturnType<typeof createVirtualClock>, commands: readonly Command[]) {
  const answers: unknown[] = [];
  const sent: Reserve[] = [];
  const settledAtMs = new Map<string, number>();
  const idOf = (back: number) => `${Math.max(0, sent.length - 1 - back)}`;
  clock.set(START_MS);

  async function reserve(id: string, items: readonly Item[], how: ReserveHow): Promise<void> {
    // How long beyond a minute a store remembers is its own affair.
    if (clock.now() - (settledAtMs.get(id) ?? Infinity) >= REMEMBERED_MS) return;
    const { kind, used, atMs, ...rest }: Held | Full = await counts.reserve(id, items, how);
    answers.push({ kind, used, atMs, full: 'full' in rest ? rest.full : [] });
  }

  for (const command of commands) {
    switch (command.kind) {
      case 'reserve': {
        const how = howOf(command, idOf);
        sent.push(command);
        await reserve(idOf(0), command.items, how);
        break;
      }
      case 'resend': {
        const again = sent[Number(idOf(command.back))];
        if (again) await reserve(idOf(command.back), again.items, { leaseMs: again.leaseMs });
        break;
      }
      case 'settle': {
        const id = idOf(command.back);
        if (!settledAtMs.has(id)) settledAtMs.set(id, clock.now());
        await counts.settle(id, command.amounts);
        break;
      }
      case 'renew':
        await counts.renew(command.backs.map(idOf), command.leaseMs);
        break;
      case 'advance':
        clock.set(clock.now() + command.ms);
        break;
    }
    answers.push(await counts.peek(ALL));
  }
  return answers;
}

/** The same program with larger amounts and limits: small numbers are packed in fewer bytes. */
function scaled(commands: readonly Command[], by: number): readonly Command[] {
  const itemBy = (item: Item): Item =>
    item.window.kind === 'concurrent'
      ? item
      : { ...item, amount: item.amount * by, limit: item.limit * by, refuseAt: item.refuseAt * by };
  return commands.map((command) => {
    if (command.kind === 'reserve') return { ...command, items: command.items.map(itemBy) };
    return command.kind === 'settle' ? { ...command, amounts: command.amounts.map((amount) => amount * by) } : command;
  });
}

describe.each(CLIENTS)('over %s, Redis', (_, connect) => {
  let client: Redis;
  beforeAll(() => {
    client = connect();
  });
  afterAll(() => client.disconnect());

  it('answers as the memory store does, whatever is asked', { timeout: 300_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(program, fc.constantFrom(1, 1, 997, 123_456_789), async (plain, by) => {
        const commands = scaled(plain, by);
        const clock = createVirtualClock(START_MS);
        const now = () => clock.now();
        const parts = { client, readClient: client, prefix: ownPrefix(), newEpoch: () => 5, now, serverNow: now };

        const overRedis = await follow(createExact(parts), clock, commands);

        expect(overRedis).toEqual(await follow(memoryStore({ clock }), clock, commands));
      }),
      { numRuns: RUNS },
    );
  });
});
