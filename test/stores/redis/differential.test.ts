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

/** No reservation is forgotten sooner. */
const KNOWN_MS = 1_000;

type Counts = Pick<Store, 'reserve' | 'peek'> & { settle: Exact['settle'] | Store['settle']; renew: Exact['renew'] };

/**
 * What each of some counts answers to a program, and what each counter holds after each of its commands.
 * @param together - decisions are asked without waiting for the ones before, so that several go in one script
 */
async function follow(
  counts: Counts,
  clock: ReturnType<typeof createVirtualClock>,
  commands: readonly Command[],
  together: boolean,
) {
  const answers: unknown[] = [];
  const sent: Reserve[] = [];
  const settledAtMs = new Map<string, number>();
  /** When ids were reserved that the counts surely know: others they look up first, and settle later. */
  const reservedAtMs = new Map<string, number>();
  const isKnown = (id: string) => clock.now() - (reservedAtMs.get(id) ?? -Infinity) < KNOWN_MS;
  let asked: Promise<void>[] = [];
  const idOf = (back: number) => `${Math.max(0, sent.length - 1 - back)}`;
  clock.set(START_MS);

  async function join(): Promise<void> {
    await Promise.all(asked);
    asked = [];
    answers.push(await counts.peek(ALL));
  }

  async function reserve(id: string, items: readonly Item[], how: ReserveHow): Promise<void> {
    // How long beyond a minute a store remembers is its own affair.
    if (clock.now() - (settledAtMs.get(id) ?? Infinity) >= REMEMBERED_MS) return;
    const index = answers.push(undefined) - 1;
    reservedAtMs.set(id, clock.now());
    const { kind, used, atMs, ...rest }: Held | Full = await counts.reserve(id, items, how);
    if (kind === 'full') reservedAtMs.delete(id);
    answers[index] = { kind, used, atMs, full: 'full' in rest ? rest.full : [] };
  }

  for (const command of commands) {
    switch (command.kind) {
      case 'reserve': {
        const how = howOf(command, idOf);
        sent.push(command);
        asked.push(reserve(idOf(0), command.items, how));
        break;
      }
      case 'resend': {
        const again = sent[Number(idOf(command.back))];
        if (again) asked.push(reserve(idOf(command.back), again.items, { leaseMs: again.leaseMs }));
        break;
      }
      case 'settle': {
        const id = idOf(command.back);
        if (!settledAtMs.has(id)) settledAtMs.set(id, clock.now());
        const isAlone = !isKnown(id);
        if (isAlone) await join();
        asked.push(counts.settle(id, command.amounts).then(() => {}));
        if (isAlone) await join();
        break;
      }
      case 'renew':
        await join();
        await counts.renew(command.backs.map(idOf), command.leaseMs);
        break;
      case 'advance':
        await join();
        clock.set(clock.now() + command.ms);
        break;
    }
    if (!together) await join();
  }
  await join();
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

  it.each([
    ['one after the other', false],
    ['together', true],
  ])('answers as the memory store does, whatever is asked, %s', { timeout: 300_000 }, async (_, together) => {
    await fc.assert(
      fc.asyncProperty(program, fc.constantFrom(1, 1, 997, 123_456_789), async (plain, by) => {
        const commands = scaled(plain, by);
        const clock = createVirtualClock(START_MS);
        const now = () => clock.now();
        const parts = { client, readClient: client, prefix: ownPrefix(), newEpoch: () => 5, now, serverNow: now };

        const overRedis = await follow(createExact(parts), clock, commands, together);

        expect(overRedis).toEqual(await follow(memoryStore({ clock }), clock, commands, together));
      }),
      { numRuns: RUNS },
    );
  });
});
