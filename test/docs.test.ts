import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { DEFAULTS } from '../src/options.js';
import { blocksOf, compileErrors, documentedDefaults, ROOT } from './support/docs.js';

const COMPILE_MS = 60_000;
const EXAMPLE_MS = 120_000;
const MOST_LINES = 60;

const examples = readdirSync(join(ROOT, 'examples')).filter((name) => existsSync(join(ROOT, 'examples', name, 'main.ts')));

describe('README.md', () => {
  it('has TypeScript blocks, and each compiles against the sources', { timeout: COMPILE_MS }, () => {
    expect(existsSync(join(ROOT, 'README.md')), 'README.md is missing').toBe(true);
    const blocks = blocksOf(readFileSync(join(ROOT, 'README.md'), 'utf8'));

    expect(blocks.length, 'README.md has no ```ts block').toBeGreaterThan(0);
    expect(compileErrors(blocks, 'README.md')).toEqual([]);
  });
});

describe('the check of documents', () => {
  const markdown = [
    '# Title',
    '```ts',
    `import type { Clock } from 'spillway/testing/nowhere';`,
    '```',
    '<!-- given',
    `import type { VirtualClock } from 'spillway/testing';`,
    'declare const virtualTime: VirtualClock;',
    '-->',
    '',
    '```ts',
    'const fine: number = virtualTime.now();',
    'const wrong: string = virtualTime.now();',
    '```',
    '```sh',
    'npm test',
    '```',
    '```ts',
    'virtualTime.now();',
    '```',
  ].join('\n');

  it('finds the errors of each block at the lines of the document, each block apart', { timeout: COMPILE_MS }, () => {
    expect(compileErrors(blocksOf(markdown), 'SAMPLE.md')).toEqual([
      expect.stringMatching(/^SAMPLE\.md:3 Cannot find module 'spillway\/testing\/nowhere'/),
      `SAMPLE.md:12 Type 'number' is not assignable to type 'string'.`,
      `SAMPLE.md:18 Cannot find name 'virtualTime'.`,
    ]);
  });

  it('reads documented defaults as the values they stand for', () => {
    const source = `interface O {
      /** A. @defaultValue 4_194_304 */ readonly a?: number;
      /** B. @defaultValue \`'count'\` */ readonly b?: string;
      /** C. @defaultValue 0.10 */ c: number;
      /** D. @defaultValue false */ d: boolean;
      /** E. @defaultValue \`memoryStore()\` */ e: object;
      /** No default. */ f: string;
    }`;

    expect(documentedDefaults(source).map(({ name, value }) => [name, value])).toEqual([
      ['a', 4_194_304],
      ['b', 'count'],
      ['c', 0.1],
      ['d', false],
      ['e', 'memoryStore()'],
    ]);
  });
});

describe('documented defaults', () => {
  const documented = documentedDefaults(readFileSync(join(ROOT, 'src', 'options.ts'), 'utf8')).filter(({ name }) =>
    Object.hasOwn(DEFAULTS, name),
  );

  it('exist for options that DEFAULTS knows', () => {
    expect(documented.length).toBeGreaterThan(5);
  });

  it.each(documented)('$name is $value, as in DEFAULTS', ({ name, value }) => {
    expect(value).toBe(DEFAULTS[name as keyof typeof DEFAULTS]);
  });
});

describe('the scripts of package.json', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
  const started = new Set(
    Object.values(scripts).flatMap((command) =>
      [...command.matchAll(/(?:node|tsx) (\S+\.m?[jt]s)/g)].map((match) => match[1] as string),
    ),
  );

  it.each([...started])('start %s, which exists', (file) => {
    expect(existsSync(join(ROOT, file))).toBe(true);
  });

  it('start every example', () => {
    expect(examples.filter((name) => !started.has(`examples/${name}/main.ts`))).toEqual([]);
  });
});

describe('the example', () => {
  it.each(examples)(
    '%s ends well by itself, needs no key and prints less than a screen',
    { timeout: EXAMPLE_MS + 5_000 },
    async (name) => {
      const { OPENAI_API_KEY: _, ...env } = process.env;

      // Rejects, with what was printed, on another exit code than 0 and when the time is over.
      const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--import', 'tsx', `examples/${name}/main.ts`], {
        cwd: ROOT,
        env,
        timeout: EXAMPLE_MS,
        killSignal: 'SIGKILL',
        maxBuffer: 4 * 1024 * 1024,
      });

      expect(stdout.trim()).not.toBe('');
      expect(`${stdout}${stderr}`.trimEnd().split('\n').length).toBeLessThanOrEqual(MOST_LINES);
    },
  );
});
