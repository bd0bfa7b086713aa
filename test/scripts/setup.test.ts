import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ROOT } from '../support/docs.js';

/** A checkout with a lockfile, and an npm that only writes down how it was called. */
let checkout: string;

beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'spillway-setup-'));
  cpSync(join(ROOT, 'scripts'), join(checkout, 'scripts'), { recursive: true });
  mkdirSync(join(checkout, 'bin'));
  writeFileSync(join(checkout, 'package-lock.json'), '{}');
  writeFileSync(join(checkout, 'bin', 'npm'), '#!/bin/sh\necho "$@" > called\necho installing\nexit $NPM_EXIT\n', {
    mode: 0o755,
  });
});

afterEach(() => rmSync(checkout, { recursive: true }));

function installed(atMs: number): void {
  const stamp = join(checkout, 'node_modules', '.package-lock.json');
  mkdirSync(join(checkout, 'node_modules'));
  writeFileSync(stamp, '{}');
  utimesSync(stamp, atMs / 1_000, atMs / 1_000);
}

function setup(env: Record<string, string> = {}) {
  const PATH = `${join(checkout, 'bin')}${delimiter}${process.env.PATH}`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/setup.mjs'], {
    cwd: checkout,
    env: { ...process.env, PATH, NPM_EXIT: '0', ...env },
    encoding: 'utf8',
  });
  const called = existsSync(join(checkout, 'called')) ? readFileSync(join(checkout, 'called'), 'utf8').trim() : undefined;
  return { status, stdout, stderr, called };
}

describe('setup', () => {
  it('installs from the lockfile when there are no packages, and keeps stdout for what follows', () => {
    const { status, stdout, stderr, called } = setup();

    expect([status, called]).toEqual([0, 'ci --no-audit --no-fund']);
    expect(stdout).toBe('');
    expect(stderr).toContain('installing');
  });

  it('installs again when the lockfile is newer than the last install', () => {
    installed(Date.now() - 60_000);

    expect(setup().called).toBe('ci --no-audit --no-fund');
  });

  it('installs again when the last install was broken off', () => {
    mkdirSync(join(checkout, 'node_modules', 'half'), { recursive: true });

    expect(setup().called).toBe('ci --no-audit --no-fund');
  });

  it('does and says nothing when the packages are those of the lockfile', () => {
    installed(Date.now() + 60_000);

    expect(setup()).toEqual({ status: 0, stdout: '', stderr: '', called: undefined });
  });

  it('ends with the exit code of npm and says what to do when the install fails', () => {
    const { status, stderr } = setup({ NPM_EXIT: '7' });

    expect(status).toBe(7);
    expect(stderr).toContain('npm ci failed');
  });
});
