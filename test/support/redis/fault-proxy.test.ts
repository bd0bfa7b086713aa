import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../loopback.js';
import { createFaultProxy, type FaultProxy } from './fault-proxy.js';
import { type RedisServer, startRedis } from './server.js';

let server: RedisServer;
let proxy: FaultProxy;
const sockets: Socket[] = [];

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server?.stop());
beforeEach(async () => {
  proxy = await createFaultProxy(server);
  await server.cli('DEL', 'n');
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await proxy.close();
});

/** A client that writes down what it hears, and how its connection ended. */
async function client() {
  const socket = connect(proxy.port, '127.0.0.1');
  sockets.push(socket);
  const heard = { text: '', end: undefined as string | undefined };
  socket.on('data', (bytes) => {
    heard.text += bytes;
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    heard.end = error.code;
  });
  socket.on('close', () => {
    heard.end ??= 'closed';
  });
  await once(socket, 'connect');
  return { heard, say: (line: string) => void socket.write(`${line}\r\n`), socket };
}

const count = async () => Number((await server.cli('GET', 'n')) ?? 0);
/** Long enough for an answer that is not stopped. */
const aWhile = () => new Promise((resolve) => setTimeout(resolve, 60));

describe('the fault proxy', () => {
  it('passes both ways, and counts', async () => {
    const { heard, say } = await client();

    say('PING');
    await until(() => heard.text === '+PONG\r\n');

    expect(proxy.requests).toEqual({ bytes: 6, lostBytes: 0 });
    expect(proxy.replies).toEqual({ bytes: 7, lostBytes: 0 });
    expect([proxy.connections, proxy.openConnections]).toEqual([1, 1]);
  });

  it('tells each side when the other one hangs up', async () => {
    const [one, other] = [await client(), await client()];

    one.say('QUIT');
    await until(() => one.heard.end !== undefined);
    other.socket.end();
    await until(async () => !`${await server.cli('CLIENT', 'LIST')}`.includes('cmd=NULL'));

    expect(one.heard).toEqual({ text: '+OK\r\n', end: 'closed' });
    await until(() => proxy.openConnections === 0);
    expect(proxy.connections).toBe(2);
  });

  it('drops replies: the request arrives, its answer never does', async () => {
    const { heard, say } = await client();

    proxy.dropReplies();
    say('INCR n');
    await until(async () => (await count()) === 1);
    await until(() => proxy.replies.lostBytes === 4);
    await aWhile();

    expect(heard).toEqual({ text: '', end: undefined });
  });

  it('resets a connection that has lost an answer, before a later answer could be taken for it', async () => {
    const [losing, idle] = [await client(), await client()];
    proxy.dropReplies();
    losing.say('INCR n');
    await until(() => proxy.replies.lostBytes > 0);

    await proxy.heal();
    idle.say('PING');
    await until(() => losing.heard.end !== undefined && idle.heard.text !== '');

    expect(losing.heard).toEqual({ text: '', end: 'ECONNRESET' });
    expect(idle.heard).toEqual({ text: '+PONG\r\n', end: undefined });
  });

  it('drops requests: nothing happens', async () => {
    const { heard, say } = await client();

    proxy.set({ requests: 'drop' });
    say('INCR n');
    await until(() => proxy.requests.lostBytes === 8);
    await aWhile();

    expect(await count()).toBe(0);
    expect(heard).toEqual({ text: '', end: undefined });
  });

  it.each(['requests', 'replies'] as const)('delays %s by some ms, in their order', async (direction) => {
    const { heard, say } = await client();

    proxy.set({ [direction]: { delayMs: 80 } });
    const beganAtMs = performance.now();
    say('INCR n');
    await until(() => heard.text === ':1\r\n');

    expect(performance.now() - beganAtMs).toBeGreaterThanOrEqual(80);

    say('INCR n');
    await until(() => proxy[direction].bytes === (direction === 'requests' ? 16 : 8));
    proxy.set({ [direction]: 'pass' });
    say('INCR n');
    await until(() => heard.text.length === 12);

    expect(heard.text).toBe(':1\r\n:2\r\n:3\r\n');
  });

  it('holds replies until it is healed: late, and whole', async () => {
    const { heard, say } = await client();

    proxy.set({ replies: 'hold' });
    say('INCR n');
    await until(() => proxy.replies.bytes > 0);
    await aWhile();

    expect(heard.text).toBe('');

    await proxy.heal();
    await until(() => heard.text === ':1\r\n');
    expect(proxy.replies.lostBytes).toBe(0);
  });

  it('is half open: accepts and swallows, though the server goes away', async () => {
    const before = await client();

    proxy.halfOpen();
    const after = await client();
    await server.kill9();
    for (const { say } of [before, after]) say('INCR n');
    await until(() => proxy.requests.lostBytes === 16);
    await aWhile();

    for (const { heard } of [before, after]) expect(heard).toEqual({ text: '', end: undefined });

    await server.restart();
    await proxy.heal();
    await until(() => before.heard.end === 'ECONNRESET' && after.heard.end === 'ECONNRESET');
    const { heard, say } = await client();
    say('PING');
    await until(() => heard.text === '+PONG\r\n');
  });

  it('cuts open connections, and accepts new ones', async () => {
    const { heard, say } = await client();
    say('PING');
    await until(() => heard.text !== '');

    proxy.cut();
    await until(() => heard.end === 'ECONNRESET');
    const next = await client();
    next.say('PING');

    await until(() => next.heard.text === '+PONG\r\n');
  });

  it('refuses new connections until it is healed, and leaves the open ones', async () => {
    const { heard, say } = await client();

    proxy.refuse();

    await expect(client()).rejects.toThrow('ECONNREFUSED');
    say('PING');
    await until(() => heard.text === '+PONG\r\n');

    await proxy.heal();
    const next = await client();
    next.say('PING');
    await until(() => next.heard.text === '+PONG\r\n');
  });

  it('resets a client when nobody is behind it', async () => {
    await server.kill9();

    const { heard } = await client();
    await until(() => heard.end === 'ECONNRESET');

    await server.restart();
  });
});
