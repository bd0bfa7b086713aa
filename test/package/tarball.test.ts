import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../support/docs.js';
import { CHECKS, type Framework, frameworks, PROGRAMS } from './programs.js';

const run = promisify(execFile);
const INSTALL_MS = 180_000;
const RUN_MS = 60_000;

/** Majors that are installed together, as applications have them: types of a framework come from the one beside it. */
const PROJECTS = {
  old: { express: '^4.22.3', '@types/express': '^4.17.25', koa: '^2.16.4', '@types/koa': '^2.15.2' },
  new: { express: '^5.1.0', '@types/express': '^5.0.6', koa: '^3.0.3', '@types/koa': '^3.0.3' },
} as const;

const folder = mkdtempSync(join(tmpdir(), 'spillway-package-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Builds the package beside the checkout, and packs what `files` names. @returns the tarball */
async function pack(): Promise<string> {
  const built = join(folder, 'package');
  await run(process.execPath, [join(ROOT, 'node_modules/tsdown/dist/run.mjs'), '--out-dir', join(built, 'dist')], { cwd: ROOT });
  for (const file of ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md']) copyFileSync(join(ROOT, file), join(built, file));
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], { cwd: built });
  return join(folder, (JSON.parse(stdout) as { filename: string }[])[0]?.filename ?? '');
}

async function install(name: keyof typeof PROJECTS, tarball: string): Promise<void> {
  const project = join(folder, name);
  mkdirSync(project);
  const dependencies = { spillway: `file:${tarball}`, '@types/node': '^20.19.43', ...PROJECTS[name] };
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name, private: true, type: 'module', dependencies }));
  for (const [file, text] of Object.entries({ ...PROGRAMS, ...CHECKS })) writeFileSync(join(project, file), text);
  const args = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock'];
  await run('npm', args, { cwd: project });
}

beforeAll(async () => {
  const tarball = await pack();
  await Promise.all([install('old', tarball), install('new', tarball)]);
}, INSTALL_MS);

function majorOf(project: keyof typeof PROJECTS, framework: Framework): string {
  const file = join(folder, project, 'node_modules', framework, 'package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version.split('.')[0] as string;
}

describe.each([
  { project: 'old', majors: { express: '4', koa: '2' } },
  { project: 'new', majors: { express: '5', koa: '3' } },
] as const)('the packed package, in an application with Express $majors.express and Koa $majors.koa', ({ project, majors }) => {
  const cwd = join(folder, project);

  it.each(frameworks)('finds the %s that the application has', (framework) => {
    expect(majorOf(project, framework)).toBe(majors[framework]);
  });

  for (const framework of frameworks) {
    it.each(['mjs', 'cjs'])(
      `governs a server on ${framework} that is a .%s file, and lets it end`,
      { timeout: RUN_MS },
      async (ending) => {
        const { stdout, stderr } = await run(process.execPath, [`${framework}.${ending}`], { cwd, timeout: RUN_MS - 5_000 });

        expect(JSON.parse(stdout)).toEqual([
          { status: 200, outcome: 'passed', body: { asked: 'gpt-4o', isExposed: true } },
          { status: 429, outcome: 'shed', body: { error: expect.objectContaining({ code: 'rate_limit_exceeded' }) } },
        ]);
        expect(stderr).toBe('');
      },
    );
  }

  it.each(['mjs', 'cjs'])(
    'counts over a client for Redis from a .%s file, and lets it end',
    { timeout: RUN_MS },
    async (ending) => {
      const { stdout, stderr } = await run(process.execPath, [`redis.${ending}`], { cwd, timeout: RUN_MS - 5_000 });

      expect(JSON.parse(stdout)).toEqual(['passed', 'shed']);
      expect(stderr).toBe('');
    },
  );

  it('has a command line that estimates', { timeout: RUN_MS }, async () => {
    const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Where does the water go?' }] };
    writeFileSync(join(cwd, 'body.json'), JSON.stringify(body));

    const { stdout, stderr } = await run(join(cwd, 'node_modules/.bin/spillway'), ['estimate', 'body.json', '--json'], { cwd });

    expect(JSON.parse(stdout)).toMatchObject({ line: 1, dialect: 'openai-chat', inputTokens: 13, confidence: 'counted' });
    expect(stderr).toBe('');
  });

  it.each(['node16-import', 'node16-require', 'bundler'])(
    'has types for both frameworks and for Redis, checked by tsconfig.%s.json',
    { timeout: RUN_MS },
    async (resolution) => {
      const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');

      const { stdout } = await run(process.execPath, [tsc, '-p', `tsconfig.${resolution}.json`], { cwd }).catch((error) => error);

      expect(stdout).toBe('');
    },
  );
});
