import { once } from 'node:events';
import { createServer } from 'node:net';

/** How far above its port a node of a cluster listens for the other nodes. */
export const BUS_OFFSET = 10_000;

/**
 * Where ports are looked for: with their bus below what systems give to outgoing connections. A server that was killed
 * finds its port free when it comes back.
 */
const FIRST = 10_000;
const COUNT = 12_000;

/** A loopback port that nobody listens on. Another process may be quicker: who listens there has to be ready for that. */
export async function freePort({ withBus = false } = {}): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if ((await isFree(port)) && (!withBus || (await isFree(port + BUS_OFFSET)))) return port;
  }
  throw new Error(`found no free port from ${FIRST} to ${FIRST + COUNT}`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
