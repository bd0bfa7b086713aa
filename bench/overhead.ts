// Processor time that spillway adds to a request, beside the usual limiters and the bare route, in one run.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';

const ROUNDS = 7;
const REQUESTS = 3_000;
const WARM_UP = 3_000;
const AT_ONCE = 16;
const SENTENCE = 'We put the old plan by the new one, saw what was cut and why, and it is not yet clear who is to pay for it. ';

/** A body of about `bytes`: one question, or a conversation whose last message is new each time. */
const bodies: Record<string, (index: number) => string> = {
  '1 KB': (index) => body([`Question ${index}: ${SENTENCE.repeat(8)}`]),
  '20 KB, a growing conversation': (index) =>
    body([...Array.from({ length: 20 }, (_, at) => `${at}: ${SENTENCE.repeat(9)}`), `Question ${index}?`]),
};

function body(texts: readonly string[]): string {
  return JSON.stringify({
    model: 'gpt-4o',
    messages: texts.map((content, index) => ({ role: index % 2 ? 'assistant' : 'user', content })),
  });
}

interface Server {
  readonly name: string;
  readonly child: ChildProcess;
  readonly port: number;
}

async function start(name: string): Promise<Server> {
  const child = fork(fileURLToPath(new URL('./overhead-server.ts', import.meta.url)), [name], { execArgv: ['--import', 'tsx'] });
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return { name, child, port };
}

async function cpuMicros({ child }: Server): Promise<number> {
  child.send('cpu');
  const [{ cpuMicros }] = (await once(child, 'message')) as [{ cpuMicros: number }];
  return cpuMicros;
}

/**
 * Keeps this process awake: to wake it costs the server that answers 20 us, but only one that is slower than its caller, and that is
 * no part of what a middleware adds.
 */
function stayAwake(): () => void {
  let isOver = false;
  const turn = (): void => {
    if (!isOver) setImmediate(turn);
  };
  turn();
  return () => {
    isOver = true;
  };
}

async function send({ port }: Server, count: number, bodyOf: (index: number) => string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  let next = 0;
  const work = async () => {
    while (next < count) await post(port, agent, bodyOf(next), `user-${next++ % 1_000}`);
  };
  const fallAsleep = stayAwake();
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  fallAsleep();
  agent.destroy();
}

function post(port: number, agent: Agent, text: string, user: string): Promise<void> {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), 'x-user': user };
  return new Promise((resolve, reject) => {
    const req = request({ port, agent, method: 'POST', path: '/chat', headers }, (res) => {
      if (res.statusCode !== 200) reject(new Error(`status ${res.statusCode}`));
      res.resume().on('end', resolve);
    });
    req.on('error', reject).end(text);
  });
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

for (const framework of ['express', 'koa']) {
  const servers = await Promise.all([framework, `${framework} + limiters`, `${framework} + spillway`].map(start));
  for (const [size, bodyOf] of Object.entries(bodies)) {
    for (const server of servers) await send(server, WARM_UP, bodyOf);
    const micros = new Map(servers.map(({ name }) => [name, [] as number[]]));
    for (let round = 0; round < ROUNDS; round++) {
      for (const server of servers) {
        const before = await cpuMicros(server);
        await send(server, REQUESTS, (index) => bodyOf(round * REQUESTS + index));
        micros.get(server.name)?.push(((await cpuMicros(server)) - before) / REQUESTS);
      }
    }
    const bare = median(micros.get(framework) ?? []);
    console.log(`\n${framework}, ${size}: processor time per request, median of ${ROUNDS} rounds of ${REQUESTS}`);
    for (const [name, values] of micros) {
      const mid = median(values);
      const added =
        name === framework
          ? ''
          : `  adds ${(mid - bare).toFixed(0)} us, ${(((mid - bare) / bare) * 100).toFixed(0)} % of the bare route`;
      console.log(`  ${name.padEnd(22)} ${mid.toFixed(0).padStart(5)} us${added}`);
    }
  }
  for (const { child } of servers) child.disconnect();
}
