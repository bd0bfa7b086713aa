// Longest time that hostile bodies hold the event loop, beside the bare JSON route with the same body, in one run; what the parser
// takes is in both. Run: npx tsx bench/hostile.ts [part of a server's name]
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { FORMATS, hostileBodies } from '../test/http/hostile-bodies.js';

/** The first round of each body meets code that was never run on the like. */
const ROUNDS = 3;
const WARM_UP = 300;
/** Most that may be added to the bare route, in milliseconds. */
const GOAL_MS = 50;
/** Bodies without an answer that are named. */
const SHOWN = 15;

interface Server {
  readonly name: string;
  readonly child: ChildProcess;
  readonly url: string;
}

async function start(name: string): Promise<Server> {
  const child = fork(fileURLToPath(new URL('./hostile-server.ts', import.meta.url)), [name], { execArgv: ['--import', 'tsx'] });
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return { name, child, url: `http://127.0.0.1:${port}` };
}

/** The longest block since the last time. */
async function longestMs({ child }: Server): Promise<number> {
  child.send('longest');
  const [{ longestMs }] = (await once(child, 'message')) as [{ longestMs: number }];
  return longestMs;
}

async function post({ url }: Server, path: string, body: string): Promise<number> {
  try {
    const response = await fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** How long one body held a server's loop, of several rounds, and how it was answered. */
interface Held {
  readonly midMs: number;
  readonly maxMs: number;
  readonly status: number;
}

async function hold(server: Server, path: string, body: string): Promise<Held> {
  const rounds: number[] = [];
  let status = 0;
  for (let round = 0; round < ROUNDS; round++) {
    await longestMs(server);
    status = await post(server, path, body);
    rounds.push(await longestMs(server));
  }
  return { midMs: median(rounds), maxMs: Math.max(...rounds), status };
}

interface Row {
  readonly body: string;
  readonly server: string;
  readonly bytes: number;
  readonly bare: Held;
  readonly governed: Held;
  /** Median beside median, and the worst round beside the bare route's median. */
  readonly addedMs: number;
  readonly worstMs: number;
}

const wanted = process.argv[2] ?? '';
const rows: Row[] = [];
for (const framework of ['express', 'koa', 'fetch']) {
  const variants = framework === 'fetch' ? ['full budgets'] : ['behind a parser', 'reads itself', 'full budgets'];
  const names = variants.map((variant) => `${framework}, ${variant}`).filter((name) => name.includes(wanted));
  if (names.length === 0) continue;
  const [bareServer, ...governed] = (await Promise.all([`${framework}, bare`, ...names].map(start))) as [Server, ...Server[]];
  for (const server of [bareServer, ...governed])
    for (let turn = 0; turn < WARM_UP; turn++)
      for (const { path, body } of FORMATS.slice(0, turn === 0 ? undefined : 1))
        await post(server, path, body(`"Question ${turn}?"`));
  for (const format of FORMATS) {
    for (const [name, body] of Object.entries(hostileBodies(format))) {
      const bare = await hold(bareServer, format.path, body);
      for (const server of governed) {
        const held = await hold(server, format.path, body);
        rows.push({
          body: `${format.name}: ${name}`,
          server: server.name,
          bytes: body.length,
          bare,
          governed: held,
          addedMs: held.midMs - bare.midMs,
          worstMs: held.maxMs - bare.midMs,
        });
      }
    }
  }
  for (const { child } of [bareServer, ...governed]) child.disconnect();
}

const ms = (value: number): string => `${value.toFixed(0)} ms`.padStart(8);
function print(chosen: readonly Row[]): void {
  for (const { body, server, bytes, bare, governed, addedMs, worstMs } of chosen) {
    const size = `${Math.ceil(bytes / 1_000)} kB`.padStart(8);
    console.log(
      `${body.padEnd(58)} ${server.padEnd(26)} ${size} ${String(governed.status).padStart(4)} ${ms(bare.midMs)} ${ms(governed.midMs)} ${ms(addedMs)} ${ms(worstMs)}`,
    );
  }
}

/** The row that adds the most, of each group. */
function worstBy(groupOf: (row: Row) => string): Row[] {
  const worst = new Map<string, Row>();
  for (const row of rows) if (row.addedMs > (worst.get(groupOf(row))?.addedMs ?? -Infinity)) worst.set(groupOf(row), row);
  return [...worst.values()].sort((a, b) => b.addedMs - a.addedMs);
}

console.log(
  `${'longest block of the event loop: the worst of each body'.padEnd(85)}     size  ans.     bare governed    added    worst`,
);
print(worstBy(({ body }) => body.slice(body.indexOf(':'))));
console.log('\nthe worst of each server');
print(worstBy(({ server }) => server));
const bad = rows.filter(
  ({ governed }) => !((governed.status >= 200 && governed.status < 300) || (governed.status >= 400 && governed.status < 500)),
);
console.log(`\n${rows.length} bodies and servers; ${bad.length} without an answer or a 4xx`);
print(bad.slice(0, SHOWN));
const most = Math.max(...rows.map(({ addedMs }) => addedMs));
console.log(`longest block beside the bare route's: ${most.toFixed(0)} ms; goal: at most ${GOAL_MS} ms`);
process.exitCode = bad.length > 0 || most > GOAL_MS ? 1 : 0;
