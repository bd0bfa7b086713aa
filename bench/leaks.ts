// What is left after clients that went away at any time, and after keys that were used once.
// Run: node --expose-gc --import tsx bench/leaks.ts [aborted requests] [keys]
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createSpillway, memoryStore, systemClock } from '../src/index.js';

const ABORTED = Number(process.argv[2] ?? 100_000);
const KEYS = Number(process.argv[3] ?? 1_000_000);
const SAMPLES = 20;
/** Samples before everything is compiled and every pool is filled. */
const WARM_UP = 5;
const AT_ONCE = 48;
const LIVE_KEYS = 200_000;

if (!globalThis.gc) throw new Error('needs --expose-gc: node --expose-gc --import tsx bench/leaks.ts');
await aborts();
await keys();

/** Heap by least squares over the number of what was done, warm-up left out; bytes each. */
function slope(points: readonly (readonly [count: number, bytes: number])[]): number {
  const late = points.slice(WARM_UP);
  const mean = (of: (point: readonly [number, number]) => number) =>
    late.reduce((sum, point) => sum + of(point), 0) / late.length;
  const [x, y] = [mean(([count]) => count), mean(([, bytes]) => bytes)];
  return mean(([count, bytes]) => (count - x) * (bytes - y)) / mean(([count]) => (count - x) ** 2);
}

async function aborts(): Promise<void> {
  const execArgv = ['--expose-gc', '--import', 'tsx'];
  const child = fork(fileURLToPath(new URL('./leaks-server.ts', import.meta.url)), { execArgv });
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  const points: [number, number][] = [];
  const stages = new Map<string, number>();
  let done = 0;
  let left: Record<string, number> = {};
  for (let sample = 1; sample <= SAMPLES; sample++) {
    const until = Math.round((ABORTED / SAMPLES) * sample);
    const work = async () => {
      while (done < until) {
        const stage = await leave(port, done++);
        stages.set(stage, (stages.get(stage) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    child.send('rest');
    [left] = (await once(child, 'message')) as [Record<string, number>];
    points.push([done, left.heapUsed as number]);
  }
  child.disconnect();
  const { heapUsed = 0, external: _, ...counts } = left;
  console.log(
    `${done.toLocaleString('en-US')} requests whose clients left: ${[...stages].map(([stage, n]) => `${n} ${stage}`).join(', ')}`,
  );
  console.log(`  heap at rest ${points.map(([, bytes]) => (bytes / 1e6).toFixed(2)).join(' ')} MB`);
  console.log(
    `  slope after warm-up ${slope(points).toFixed(1)} bytes a request; heap ${(heapUsed / 1e6).toFixed(2)} MB at the end`,
  );
  console.log(
    `  left: ${Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')}`,
  );
}

/** One client that goes away. Resolves with where it was then. */
function leave(port: number, index: number): Promise<string> {
  const stream = index % 2 === 0;
  const body = JSON.stringify({ model: 'gpt-4o', stream, messages: [{ role: 'user', content: `Question ${index}?` }] });
  const path = index % 3 === 0 ? '/answers' : '/calls';
  const head = `POST ${path} HTTP/1.1\r\nhost: x\r\nx-user: u${index % 100}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  const end = () => (index % 4 === 0 ? socket.resetAndDestroy() : socket.destroy());
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const after = (ms: number, what: string) => setTimeout(end, ms) && closed.then(() => what);
  switch (Math.floor(Math.random() * 5)) {
    case 0:
      socket.write(head + body.slice(0, Math.floor(Math.random() * body.length)));
      return after(1, 'while they sent');
    case 1:
      socket.write(head + body);
      return after(0, 'at once');
    case 2:
      socket.write(head + body);
      return after(Math.random() * 15, 'within 15 ms');
    case 3:
      socket.pause().write(head + body);
      return after(5 + Math.random() * 10, 'without reading');
    default:
      socket.write(head + body);
      socket.once('data', end);
      return closed.then(() => 'at the first byte');
  }
}

/** Jobs that each have a key of their own. */
async function keys(): Promise<void> {
  let nowMs = Date.now();
  const clock = { ...systemClock, now: () => nowMs };
  const store = memoryStore({ clock });
  const gate = createSpillway<'user'>({
    models: { 'gpt-4o': { budgets: [{ tokens: 1e12, per: 'minute' }] } },
    scopes: { user: { budgets: [{ tokens: 1e12, per: 'minute' }] } },
    store,
    clock,
  });
  await gate.ready();
  const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Where does the water go?' }] };
  const run = (key: string) => gate.as({ user: key }).run({ dialect: 'openai-chat', body }, async () => ({}));
  const heap = async () => {
    for (let turn = 0; turn < 3; turn++) {
      globalThis.gc?.();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return process.memoryUsage().heapUsed;
  };

  // Ids that were settled are remembered, and the ledger tells keys apart, up to a bound: both are filled before.
  for (let key = 0; key < 220_000; key++) await run('same');
  for (let key = 0; key < 12_000; key++) await run(`first-customer-${key}`);
  await pass(LIVE_KEYS);
  const before = await heap();
  const beforeKeys = store.size;
  for (let key = 0; key < LIVE_KEYS; key++) await run(`live-customer-${key}`);
  const live = await heap();
  const liveKeys = store.size - beforeKeys;
  console.log(`\n${liveKeys.toLocaleString('en-US')} live keys: ${((live - before) / liveKeys).toFixed(0)} bytes each`);
  await pass(LIVE_KEYS);
  console.log(
    `  once their window has passed ${(((await heap()) - before) / 1e6).toFixed(1)} MB are left of ${((live - before) / 1e6).toFixed(1)} MB; keys ${store.size}`,
  );

  const points: [number, number][] = [];
  const startedAt = performance.now();
  for (let key = 0; key < KEYS; key++) {
    nowMs++;
    await run(`customer-${key}`);
    if ((key + 1) % (KEYS / SAMPLES) === 0) points.push([key + 1, await heap()]);
  }
  console.log(
    `\n${KEYS.toLocaleString('en-US')} keys, one each millisecond: ${((performance.now() - startedAt) / 1e3).toFixed(0)} s`,
  );
  console.log(`  heap ${points.map(([, bytes]) => (bytes / 1e6).toFixed(2)).join(' ')} MB`);
  console.log(
    `  slope after warm-up ${slope(points).toFixed(2)} bytes a key; ${store.size.toLocaleString('en-US')} keys live at the end`,
  );
  await pass(100_000);
  console.log(`  ${store.size} keys live once their windows have passed`);
  await gate.close();

  /** Time goes by, and whoever comes then lets the store look at `count` keys. */
  async function pass(count: number): Promise<void> {
    nowMs += 200_000;
    for (let turn = 0; turn < count; turn++) await run('same');
    nowMs += 200_000;
    await run('same');
  }
}
