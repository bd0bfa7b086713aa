// Installs the packages of the lockfile when they are missing or out of date. Plain Node: nothing is installed yet when it runs.
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Whether packages have to be installed. npm writes `node_modules/.package-lock.json` at the end of every install, so an
 * install that was broken off counts as missing.
 */
export function needsInstall(root = ROOT) {
  const installedAtMs = modifiedAtMs(join(root, 'node_modules', '.package-lock.json'));
  return installedAtMs === undefined || installedAtMs < (modifiedAtMs(join(root, 'package-lock.json')) ?? 0);
}

/** Installs what is missing. Output goes to stderr: stdout belongs to the command that follows. Returns npm's exit code. */
export function setup(root = ROOT) {
  if (!needsInstall(root)) return 0;
  console.error('Packages are missing or older than package-lock.json: running npm ci, once.');
  const { status, error } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: root,
    stdio: ['ignore', process.stderr, process.stderr],
    shell: process.platform === 'win32',
  });
  if (status !== 0) console.error(`npm ci failed${error ? `: ${error.message}` : ''}. Mend what it says above, then try again.`);
  return status ?? 1;
}

function modifiedAtMs(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) process.exitCode = setup();
