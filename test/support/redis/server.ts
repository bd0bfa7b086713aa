import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { until } from '../loopback.js';
import { freePort } from './ports.js';
import { createWatchdog } from './watchdog.js';

/** A Redis server of its own: a process on a loopback port, that dies with this one. */
export interface RedisServer {
  readonly port: number;
  /** `redis://127.0.0.1:port` */
  readonly url: string;
  /** `undefined` while it is not running. */
  readonly pid: number | undefined;
  /** Sends one command over a connection of its own. Numbers come as numbers, bulk strings as strings. */
  cli(...command: readonly (string | number)[]): Promise<unknown>;
  /** Stands still, connections open and all: what comes waits in the sockets. */
  pause(): void;
  resume(): void;
  /** Kills it as a crash would. Its port and its files stay its own. */
  kill9(): Promise<void>;
  /** Comes back on the same port; ended in an orderly way first, if it is running. Without `appendonly yes` all data are gone. */
  restart(): Promise<void>;
  /** Ends it for good, and removes its files. */
  stop(): Promise<void>;
}

export interface RedisOptions {
  /** Lines of the configuration file, after ours: `['maxmemory 2mb', 'appendonly yes']`. */
  readonly config?: readonly string[];
  /** A free one when left out. */
  readonly port?: number;
}

/** Another server under test, a path or a name: `REDIS_SERVER=valkey-server npm test`. */
const PROGRAMS = process.env.REDIS_SERVER ? [process.env.REDIS_SERVER] : ['redis-server', 'valkey-server'];
const MEND = 'no redis-server or valkey-server on PATH; `node scripts/redis-server.mjs` installs one or says how';
const READY = 'Ready to accept connections';
const PORT_IS_TAKEN = 'Address already in use';

/** Starts a server without persistence, and waits until it answers. */
export async function startRedis({ config = [], port }: RedisOptions = {}): Promise<RedisServer> {
  const isNode = config.some((line) => /^cluster-enabled\s+yes/i.test(line));
  for (let attempt = 1; ; attempt++) {
    const server = createServer(port ?? (await freePort({ withBus: isNode })), config);
    try {
      await server.restart();
      return server;
    } catch (error) {
      await server.stop();
      if (port !== undefined || attempt === 5 || !`${error}`.includes(PORT_IS_TAKEN)) throw error;
    }
  }
}

/** Starts a replica of a server, or of what a proxy has behind it, and waits until it has all data. */
export async function startReplica(of: { readonly port: number }, options: RedisOptions = {}): Promise<RedisServer> {
  const server = await startRedis({ ...options, config: [`replicaof 127.0.0.1 ${of.port}`, ...(options.config ?? [])] });
  try {
    await until(async () => `${await server.cli('INFO', 'replication')}`.includes('master_link_status:up'));
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

function createServer(port: number, config: readonly string[]): RedisServer {
  const folder = mkdtempSync(join(tmpdir(), 'spillway-redis-'));
  const files = { config: join(folder, 'redis.conf'), log: join(folder, 'server.log') };
  const watchdog = createWatchdog(folder);
  let child: ChildProcess | undefined;
  let isStopped = false;

  async function start(): Promise<void> {
    if (isStopped) throw new Error(`the server on port ${port} was stopped for good`);
    writeFileSync(files.config, [...baseConfig(port, folder), ...config, ''].join('\n'));
    const started = await launch(files.config, files.log);
    child = started;
    watchdog.watch(started.pid);
    started.once('exit', () => {
      watchdog.watch(undefined);
      child = undefined;
    });
    const log = () => readFileSync(files.log, 'utf8');
    await until(() => child !== started || log().includes(READY));
    if (child !== started) throw new Error(`the server on port ${port} ended at once:\n${log().slice(-1_000)}`);
  }

  async function end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (!child) return;
    const ended = once(child, 'exit');
    // Nothing else may keep this process up until then.
    child.ref();
    child.kill(signal);
    await ended;
  }

  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    get pid() {
      return child?.pid;
    },
    cli: (...command) => send(port, command),
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    kill9: () => end('SIGKILL'),
    async restart() {
      child?.kill('SIGCONT');
      await end('SIGTERM');
      await start();
    },
    async stop() {
      isStopped = true;
      await end('SIGKILL');
      watchdog.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function baseConfig(port: number, folder: string): string[] {
  return [
    `port ${port}`,
    'bind 127.0.0.1',
    'protected-mode no',
    `dir "${folder}"`,
    'save ""',
    'appendonly no',
    // A replica would be kept waiting for others to come.
    'repl-diskless-sync-delay 0',
  ];
}

async function launch(configFile: string, logFile: string): Promise<ChildProcess> {
  const log = openSync(logFile, 'w');
  try {
    for (const program of PROGRAMS) {
      const child = spawn(program, [configFile], { stdio: ['ignore', log, log] });
      child.unref();
      const error = await once(child, 'spawn').then(
        () => undefined,
        (error: NodeJS.ErrnoException) => error,
      );
      if (!error) return child;
      if (error.code !== 'ENOENT') throw error;
    }
  } finally {
    closeSync(log);
  }
  throw new Error(process.env.REDIS_SERVER ? `REDIS_SERVER is ${process.env.REDIS_SERVER}: there is no such program` : MEND);
}

async function send(port: number, [name = '', ...rest]: readonly (string | number)[]): Promise<unknown> {
  const client = new Redis({
    host: '127.0.0.1',
    port,
    lazyConnect: true,
    enableReadyCheck: false,
    retryStrategy: () => null,
    connectTimeout: 5_000,
    commandTimeout: 10_000,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    return await client.call(`${name}`, ...rest);
  } finally {
    client.disconnect();
  }
}
