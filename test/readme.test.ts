import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withTables } from '../scripts/readme-tables.js';
import { blocksOf, ROOT } from './support/docs.js';
import { until } from './support/loopback.js';
import { createProvider, type Provider } from './support/provider.js';
import { sharedRedis } from './support/redis/shared.js';

const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const SCRATCH = join(ROOT, '.tmp', `readme-${process.pid}`);
const START_MS = 30_000;

/** Goes on after the snippet of a gate on Redis: a call that has to be counted there, once it is connected. */
const CALL_ON_REDIS = `
await Promise.all([gate.ready(), redis.ping()]);
const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello?' }] };
const { kind } = await gate.run({ dialect: 'openai-chat', body }, async () => 'sent');
const keys = await redis.keys('{spillway}*gpt-4o*');
console.log(kind, keys.length > 0 ? 'counted' : 'not counted');
`;
/** Its servers exist nowhere: that it runs and throws nothing is all that can be seen. */
const AFTER_A_MOMENT = `
setTimeout(() => process.exit(0), 500);
`;

/** Names between quotes in a union or the keys of an interface, as the sources declare them. */
function declared(file: string, after: string, pattern: RegExp): string[] {
  const source = readFileSync(join(ROOT, file), 'utf8');
  const text = source.slice(source.indexOf(after));
  return [...text.slice(0, text.search(/\n(?=\n)/)).matchAll(pattern)].map((match) => match[1] as string).sort();
}

describe('README.md', () => {
  it('has the option tables that its types give', () => {
    expect(withTables(README)).toBe(README);
  });

  it('lists every error code', () => {
    const codes = declared('src/errors.ts', 'export type ErrorCode', /'(SPILLWAY_\w+)'/g);

    const listed = [...README.matchAll(/^\| `(SPILLWAY_\w+)`/gm)].map((match) => match[1]).sort();

    expect(codes.length).toBeGreaterThan(3);
    expect(listed).toEqual(codes);
  });

  it('lists every event', () => {
    const source = readFileSync(join(ROOT, 'src/observe/events.ts'), 'utf8');
    const map = source.slice(source.indexOf('export interface SpillwayEvents'), source.indexOf('export type EventName'));
    const events = [...map.matchAll(/^ {2}'([\w-]+)':/gm)].map((match) => match[1]).sort();

    const line = README.split('\n').find((text) => text.startsWith('- `gate.on(event, listener)`')) ?? '';
    const listed = [...line.matchAll(/`([a-z]+-[a-z-]+)`/g)].map((match) => match[1]).sort();

    expect(events.length).toBeGreaterThan(5);
    expect(listed).toEqual(events);
  });
});

describe('the snippets of README.md', () => {
  let provider: Provider;
  const blocks = blocksOf(README);
  const running: ChildProcess[] = [];

  beforeAll(async () => {
    mkdirSync(SCRATCH, { recursive: true });
    provider = await createProvider({
      models: {
        'gpt-4o': { tokensPerMinute: 100_000, requestsPerMinute: 500 },
        'gpt-4o-mini': { tokensPerMinute: 100_000, requestsPerMinute: 500 },
      },
    });
  });
  afterAll(async () => {
    for (const child of running) child.kill('SIGKILL');
    await provider?.close();
    rmSync(SCRATCH, { recursive: true, force: true });
  });

  function start(text: string, name: string, port: number): { child: ChildProcess; output: () => string } {
    const file = join(SCRATCH, `${name}.ts`);
    writeFileSync(file, text.replaceAll('https://api.example.com/v1', provider.url));
    const env = { ...process.env, PORT: String(port), OPENAI_API_KEY: 'no-key', OPENAI_BASE_URL: provider.url };
    const child = spawn(process.execPath, ['--import', 'tsx', file], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
    running.push(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data) => (output += data));
    return { child, output: () => output };
  }

  it('on the first screen serves a request as the README shows', { timeout: 2 * START_MS }, async () => {
    const port = await freePort();
    const { output } = start(blocks[0]?.text ?? '', 'server', port);

    const response = await untilAnswered(`http://127.0.0.1:${port}/api/chat`, output);

    expect(response.status, output()).toBe(200);
    expect(response.headers.get('spillway-outcome')).toBe('passed');
    expect(response.headers.get('spillway-model')).toBe('gpt-4o');
    expect(await response.json()).toMatchObject({ object: 'chat.completion', model: 'gpt-4o' });
  });

  const onRedis = blocks.filter(({ text }) => text.includes(`from 'ioredis'`));
  const [served, elsewhere] = [
    onRedis.filter(({ text }) => text.includes('redis://localhost:6379')),
    onRedis.filter(({ text }) => !text.includes('redis://localhost:6379')),
  ];

  it.each(served)('at line $line counts in Redis, and ends on SIGTERM', { timeout: 2 * START_MS }, async ({ line, text }) => {
    const onShared = text.replace('redis://localhost:6379', sharedRedis().url);
    const { child, output } = start(`${onShared}${CALL_ON_REDIS}`, `line-${line}`, 0);
    await until(() => output() !== '' || child.exitCode !== null, START_MS);

    child.kill('SIGTERM');
    const [code] = await once(child, 'exit');

    expect(output()).toBe('passed counted\n');
    expect(code).toBe(0);
  });

  it.each(elsewhere)('at line $line runs', { timeout: 2 * START_MS }, async ({ line, text }) => {
    const { child, output } = start(`${text}${AFTER_A_MOMENT}`, `line-${line}`, 0);

    const [code] = await once(child, 'exit');

    expect(code, output()).toBe(0);
  });

  const alone = blocks.slice(1).filter((block) => !onRedis.includes(block));
  it.each(alone)('at line $line runs and ends by itself', { timeout: 2 * START_MS }, async ({ line, text }) => {
    const { child, output } = start(text, `line-${line}`, 0);

    const [code] = await once(child, 'exit');

    expect(code, output()).toBe(0);
  });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Asks until the server is up. */
async function untilAnswered(url: string, output: () => string): Promise<Response> {
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'Hello?' }] });
  const deadlineMs = Date.now() + START_MS;
  for (;;) {
    try {
      return await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    } catch (error) {
      if (Date.now() > deadlineMs) throw new Error(`the server never came up: ${output()}`, { cause: error });
      await sleep(100);
    }
  }
}
