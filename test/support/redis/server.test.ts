import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ROOT } from '../docs.js';
import { until } from '../loopback.js';
import { createFaultProxy, type FaultProxy } from './fault-proxy.js';
import { type RedisServer, startRedis, startReplica } from './server.js';

const open: (RedisServer | FaultProxy)[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await ('stop' in each ? each.stop() : each.close());
});

function keep<T extends RedisServer | FaultProxy>(each: T): T {
  open.push(each);
  return each;
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return once(socket, 'connect').then(
    () => {
      socket.destroy();
      return true;
    },
    () => false,
  );
}

async function folderOf(server: RedisServer): Promise<string> {
  const [, folder] = (await server.cli('CONFIG', 'GET', 'dir')) as [string, string];
  return folder;
}

describe('startRedis', () => {
  it('starts servers that answer, each on a port of its own', async () => {
    const servers = await Promise.all([startRedis(), startRedis({ config: ['maxmemory 12345678'] })]);
    servers.map(keep);

    expect(new Set(servers.map(({ port }) => port)).size).toBe(2);
    expect(await Promise.all(servers.map((server) => server.cli('PING')))).toEqual(['PONG', 'PONG']);
    expect(await servers[1]?.cli('CONFIG', 'GET', 'maxmemory')).toEqual(['maxmemory', '12345678']);
    expect(await servers[0]?.cli('CONFIG', 'GET', 'save')).toEqual(['save', '']);
  });

  it('comes back empty on the same port after kill -9', async () => {
    const server = keep(await startRedis());
    const { port, pid } = server;
    await server.cli('SET', 'a', 1);

    await server.kill9();

    expect(server.pid).toBeUndefined();
    expect(await isListening(port)).toBe(false);

    await server.restart();

    expect(server.port).toBe(port);
    expect(server.pid).not.toBe(pid);
    expect(await server.cli('GET', 'a')).toBeNull();
  });

  it('keeps its data over a crash with an append-only file', async () => {
    const server = keep(await startRedis({ config: ['appendonly yes', 'appendfsync always'] }));
    await server.cli('SET', 'a', 1);

    await server.kill9();
    await server.restart();

    expect(await server.cli('GET', 'a')).toBe('1');
  });

  it('answers late what came while it stood still', async () => {
    const server = keep(await startRedis());
    let isAnswered = false;

    server.pause();
    const answer = server.cli('PING').finally(() => {
      isAnswered = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 100));

    expect(isAnswered).toBe(false);

    server.resume();

    expect(await answer).toBe('PONG');
  });

  it('leaves neither a process nor a file when it is stopped, though it stands still', async () => {
    const server = keep(await startRedis());
    const folder = await folderOf(server);

    server.pause();
    await server.stop();

    expect(await isListening(server.port)).toBe(false);
    expect(existsSync(folder)).toBe(false);
    await expect(server.restart()).rejects.toThrow('stopped for good');
  });

  it('tells what the server said when it does not start', async () => {
    await expect(startRedis({ config: ['no-such-setting 1'] })).rejects.toThrow(/ended at once:.*no-such-setting/s);
  });

  it('says that a port is taken when it was asked for that one', async () => {
    const { port } = keep(await startRedis());

    await expect(startRedis({ port })).rejects.toThrow('Address already in use');
  });

  it.each<[string, (child: ChildProcess) => void]>([
    ['throws', () => {}],
    ['is killed', (child) => child.kill('SIGKILL')],
    ['is ended', (child) => child.kill('SIGTERM')],
  ])('dies with the process that started it when that one %s', async (how, end) => {
    const script = 'test/support/redis/children/starts-redis.ts';
    const child = spawn(process.execPath, ['--import', 'tsx', script, how], { cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'] });
    const [line] = await once(child.stdout, 'data');
    const [port, [, folder]] = JSON.parse(`${line}`) as [number, [string, string]];

    end(child);
    await once(child, 'exit');

    await until(async () => !(await isListening(port)) && !existsSync(folder));
  });
});

describe('startReplica', () => {
  it('lags behind while the link is held up, and catches up', async () => {
    const master = keep(await startRedis());
    const proxy = keep(await createFaultProxy(master));
    await master.cli('SET', 'a', 'old');
    const replica = keep(await startReplica(proxy));
    expect(await replica.cli('GET', 'a')).toBe('old');

    proxy.set({ replies: 'hold' });
    await master.cli('SET', 'a', 'new');

    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(await replica.cli('GET', 'a')).toBe('old');

    await proxy.heal();

    await until(async () => (await replica.cli('GET', 'a')) === 'new');
  });

  it('becomes a master without the writes that it had not seen', async () => {
    const master = keep(await startRedis());
    const proxy = keep(await createFaultProxy(master));
    const replica = keep(await startReplica(proxy));
    proxy.set({ replies: 'hold' });
    await master.cli('SET', 'a', 1);

    await master.kill9();
    await replica.cli('REPLICAOF', 'NO', 'ONE');

    expect(await replica.cli('GET', 'a')).toBeNull();
    expect(await replica.cli('SET', 'b', 1)).toBe('OK');
  });
});
