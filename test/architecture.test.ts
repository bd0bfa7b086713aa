import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { violations } from './support/architecture.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

function read(folder: string): [string, string][] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]);
}

/** What is said about samples, as `file:line rule`. */
function complaints(samples: Record<string, string>): string[] {
  return violations(new Map(Object.entries(samples))).map(({ file, line, rule }) => `${file}:${line} ${rule}`);
}

describe('the sources', () => {
  it('keep the directions of dependency', () => {
    const sources = new Map([...read('src'), ...read('adapters')]);

    expect(sources.has('src/call.ts')).toBe(true);
    expect(violations(sources).map(({ file, line, rule }) => `${file}:${line} ${rule}`)).toEqual([]);
  });
});

describe('the check of the core finds', () => {
  it.each([
    [
      'an adapter',
      `import { spillway } from '../adapters/express.js';`,
      'the core imports nothing outside src: ../adapters/express.js',
    ],
    [
      'test code',
      `export { x } from '../test/support/provider.js';`,
      'the core imports nothing outside src: ../test/support/provider.js',
    ],
    ['a framework, even as a type', `import type { Request } from 'express';`, 'the core knows no framework: express'],
    [
      'a library away from its file',
      `import { LRUCache } from 'lru-cache';`,
      'lru-cache is imported only by src/cache/bounded-map.ts',
    ],
    ['a library that has no file', `import pino from 'pino';`, 'pino is imported nowhere in the core'],
    ['an import on demand', `const load = () => import('@scope/name/deep');`, '@scope/name is imported nowhere in the core'],
    ['an import of a type inside a type', `let x: import('koa').Context;`, 'the core knows no framework: koa'],
    ['a .ts extension', `import type { Call } from './call.ts';`, 'a relative import ends in .js: ./call.ts'],
    ['no extension', `import type { Call } from './call';`, 'a relative import ends in .js: ./call'],
    ['a server', `const s = http.createServer();`, 'the core opens no port'],
    ['a port', `server.listen(80);`, 'the core opens no port'],
    ['Date.now', `const t = Date.now();`, 'the current Date is used only by src/clock.ts'],
    ['new Date without an argument', `const t = new Date();`, 'the current Date is used only by src/clock.ts'],
    ['Date handed on', `const { now } = Date;`, 'the current Date is used only by src/clock.ts'],
    ['a timer', `setTimeout(() => {}, 5);`, 'setTimeout is used only by src/clock.ts'],
    ['a timer handed on', `const options = { setInterval };`, 'setInterval is used only by src/clock.ts'],
    ['a timer of globalThis', `globalThis.setTimeout(f);`, 'setTimeout is used only by src/clock.ts'],
    [
      'a timer of a module',
      `import { setTimeout as wait } from 'node:timers/promises';`,
      'node:timers/promises is used only by src/clock.ts',
    ],
    [
      'a timer inside a signal',
      `fetch(url, { signal: AbortSignal.timeout(5) });`,
      'AbortSignal.timeout is used only by src/clock.ts',
    ],
    ['performance.now', `const t = performance.now();`, 'performance is used only by src/clock.ts'],
    ['chance', `const r = Math.random();`, 'Math.random is used only by src/options.ts'],
  ])('%s', (_, text, rule) => {
    expect(complaints({ 'src/sample.ts': `// one line before\n${text}` })).toEqual([`src/sample.ts:2 ${rule}`]);
  });

  it('nothing wrong with what is in its place', () => {
    const samples = {
      'src/clock.ts': `export const now = () => Date.now(); setTimeout(now, 5); performance.now();`,
      'src/options.ts': `export const random = Math.random;`,
      'src/cache/bounded-map.ts': `import { LRUCache } from 'lru-cache'; export const map = LRUCache;`,
      'src/tokens/vocabularies.ts': `export const load = () => import('js-tiktoken/ranks/o200k_base');`,
      'src/http/read-body.ts': `import bodyParser from 'body-parser'; import { once } from 'node:events'; bodyParser.json(); once;`,
      'src/budget/calendar.ts': `export const day = (ms: number) => new Date(ms).getUTCDate() + Date.UTC(2026, 0) + Date.parse('2026');`,
      'src/budget/is-date.ts': `export const isDate = (x: unknown): x is Date => x instanceof Date; socket.setTimeout(5);`,
      'src/index.ts': `export { now } from './clock.js'; export type { Call } from './call.js';`,
    };

    expect(complaints(samples)).toEqual([]);
  });

  it('a star export of the public names', () => {
    const samples = { 'src/index.ts': `export * from './call.js';\nexport * as all from './call.js';`, 'src/call.ts': '' };

    expect(complaints(samples)).toEqual([
      'src/index.ts:1 public names are listed one by one',
      'src/index.ts:2 public names are listed one by one',
    ]);
  });

  it('a value that a file of interfaces imports, and lets its types pass', () => {
    const samples = {
      'src/stores/store.ts': `import type { A } from '../call.js';\nimport { memoryStore } from './memory.js';`,
      'src/call.ts': `import { type Budget } from './budget/budget.js';`,
      'src/stores/memory.ts': '',
    };

    expect(complaints(samples)).toEqual([
      'src/stores/store.ts:2 a file of interfaces imports only types: ./memory.js',
      'src/call.ts:1 a file of interfaces imports only types: ./budget/budget.js',
    ]);
  });

  it('a step, dialect or store that imports another, even as a type', () => {
    const samples = {
      'src/ladder/queue.ts': `import type { Options } from './cheaper-model.js';\nexport function queue(): Step {}`,
      'src/ladder/cheaper-model.ts': 'export const cheaperModel = (): Step => ({});',
      'src/dialects/anthropic.ts': `import { read } from './openai-chat.js';\nexport const anthropic = {} satisfies Dialect;`,
      'src/dialects/openai-chat.ts': 'export const openaiChat: Dialect = {};',
      'src/stores/memory.ts': `import { scripts } from './redis.js';\nexport interface MemoryStore extends Store {}`,
      'src/stores/redis.ts': 'export class RedisStore implements Store {}',
    };

    expect(complaints(samples)).toEqual([
      'src/ladder/queue.ts:1 one Step does not import another: ./cheaper-model.js',
      'src/dialects/anthropic.ts:1 one Dialect does not import another: ./openai-chat.js',
      'src/stores/memory.ts:1 one Store does not import another: ./redis.js',
    ]);
  });

  it('nothing wrong with helpers of a folder and with the file that puts its implementations together', () => {
    const samples = {
      'src/ladder/queue.ts': `import type { Line } from './line.js'; import { check } from './check.js'; export function queue(): Step {}`,
      'src/ladder/ladder.ts': `import { queue } from './queue.js'; export function createLadder(steps: Step[]): Ladder {}`,
      'src/ladder/line.ts': 'export interface Line { readonly step: Step }',
      'src/ladder/check.ts': 'export type Options = Pick<Step, "name">;',
      'src/dialects/openai-chat.ts': `import { events } from './sse.js'; export const openaiChat: Dialect = {};`,
      'src/dialects/sse.ts': 'export function events(dialect: Dialect): string[] {}',
      'src/dialects/registry.ts': `import { openaiChat } from './openai-chat.js'; const BUILT_IN: readonly Dialect[] = [openaiChat];`,
    };

    expect(complaints(samples)).toEqual([]);
  });

  it('a cycle of imports that exist at run time, and none where a type closes it', () => {
    const cyclic = {
      'src/a.ts': `import { b } from './b.js';`,
      'src/b.ts': `import { c } from './c.js';`,
      'src/c.ts': `export const a = () => import('./a.js');`,
    };
    const typed = { ...cyclic, 'src/c.ts': `import type { a } from './a.js';` };

    expect(complaints(cyclic)).toEqual(['src/c.ts:1 imports form a cycle: src/a.ts -> src/b.ts -> src/c.ts -> src/a.ts']);
    expect(complaints(typed)).toEqual([]);
  });
});

describe('the check of adapters', () => {
  it.each([
    [
      'a file of the core that is not public',
      `import { run } from '../src/run.js';`,
      'an adapter imports only src/index.ts and src/http: ../src/run.js',
    ],
    ['another adapter', `import { x } from './koa.js';`, 'an adapter imports only src/index.ts and src/http: ./koa.js'],
    ['its framework as a value', `import express from 'express';`, 'an adapter imports only types of its framework: express'],
    ['another library', `import type { Context } from 'koa';`, 'adapter express imports no library but types of express: koa'],
  ])('finds %s', (_, text, rule) => {
    expect(complaints({ 'adapters/express.ts': text })).toEqual([`adapters/express.ts:1 ${rule}`]);
  });

  it('lets the public names, the HTTP parts, types of the framework and Node pass', () => {
    const text = `import { x } from '../src/index.js'; import { render } from '../src/http/render.js'; import type { Request } from 'express'; import { once } from 'node:events';`;

    expect(complaints({ 'adapters/express.ts': text })).toEqual([]);
  });
});
