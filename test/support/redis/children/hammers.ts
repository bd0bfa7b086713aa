// One of several processes that hammer the same counts: waits for a word, sends reservations and settlements, writes down each reply.
import { Redis } from 'ioredis';
import { createExact } from '../../../../src/stores/redis/exact.js';
import type { Item } from '../../../../src/stores/store.js';
import { ALL, itemOf, NAMES } from '../../store-program.js';
import type { Reply } from '../replies.js';

const [port, prefix = '', name = '', how = '', ms] = process.argv.slice(2);
const client = new Redis(Number(port), '127.0.0.1');
const exact = createExact({ client, readClient: client, prefix, newEpoch: () => 5, now: Date.now });
const IN_FLIGHT = 8;
const BURST = 50;

let seed = [...name].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7);
/** A whole number below `below`; the same ones with each run. */
function below(limit: number): number {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
  return (seed >>> 8) % limit;
}

const replies: Reply[] = [];
let sent = 0;

async function reserve(id: string, items: readonly Item[], from?: string, leaseMs = 30_000): Promise<boolean> {
  const reply = await exact.reserve(id, items, { from, leaseMs });
  replies.push({ verb: 'reserve', id, items, from, leaseMs, ...reply });
  return reply.kind === 'held';
}

async function settle(id: string, amounts: readonly number[]): Promise<void> {
  replies.push({ verb: 'settle', id, amounts, ...(await exact.settle(id, amounts)) });
}

async function hammer(endMs: number): Promise<void> {
  const live: string[] = [];
  while (Date.now() < endMs) {
    const id = `${name}-${sent++}`;
    const items = NAMES.filter(() => below(2) === 0).map((name) =>
      itemOf(name, below(name === 'calls' ? 3 : 30), below(3) === 0),
    );
    const from = live.length > 0 && below(3) === 0 ? live[below(live.length)] : undefined;
    const leaseMs = below(4) === 0 ? 150 : 30_000;
    const isTwice = below(8) === 0;
    const answers = [reserve(id, items, from, leaseMs), ...(isTwice ? [reserve(id, items, undefined, leaseMs)] : [])];
    if ((await Promise.all(answers)).some((isHeld) => isHeld)) live.push(id);
    if (live.length > 4 || below(2) === 0) {
      const [done] = live.splice(below(Math.max(1, live.length)), 1);
      const amounts = ALL.map(() => below(40));
      if (done) await Promise.all([settle(done, amounts), ...(below(8) === 0 ? [settle(done, amounts)] : [])]);
    }
  }
}

async function burst(endMs: number): Promise<void> {
  while (Date.now() < endMs) {
    const calls = Array.from({ length: BURST }, () => reserve(`${name}-${sent++}`, [itemOf('second', 1 + below(5))]));
    await Promise.all(calls);
    await new Promise((resolve) => setTimeout(resolve, below(80)));
  }
}

await client.ping();
process.once('message', async () => {
  const endMs = Date.now() + Number(ms);
  if (how === 'burst') await burst(endMs);
  else await Promise.all(Array.from({ length: IN_FLIGHT }, () => hammer(endMs)));
  client.disconnect();
  process.send?.(replies, () => process.disconnect());
});
process.send?.('ready');
