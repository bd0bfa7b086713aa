// Makes sure of a Redis server for the tests: one on PATH, or one from the package manager of the system. Plain Node, as setup.mjs.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const SERVERS = ['redis-server', 'valkey-server'];

/**
 * Each manager with the lines to try in turn, until there is a server. apt starts a service on the usual port where a system
 * has services; it is left alone: the tests start servers of their own, on free ports.
 */
const MANAGERS = [
  {
    command: 'apt-get',
    env: ['DEBIAN_FRONTEND=noninteractive'],
    // The lists of a fresh image are empty: the first line fails, quickly.
    lines: ['install -y --no-install-recommends redis-server', 'update', 'install -y --no-install-recommends redis-server'],
    byHand: 'sudo apt-get update && sudo apt-get install -y --no-install-recommends redis-server',
  },
  { command: 'apk', lines: ['add --no-cache redis', 'add --no-cache valkey'], byHand: 'sudo apk add redis' },
  {
    command: 'dnf',
    lines: ['install -y redis', 'install -y valkey'],
    byHand: 'sudo dnf install redis || sudo dnf install valkey',
  },
  // Refuses to run as root.
  { command: 'brew', neverRoot: true, lines: ['install redis'], byHand: 'brew install redis' },
];

/** The path of a command, `undefined` when no folder of PATH has it. */
export function onPath(command) {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, command)).find(isExecutable);
}

export function findServer() {
  return SERVERS.map(onPath).find((path) => path !== undefined);
}

/** Installs a server when there is none and nobody has to be asked. All output goes to stderr. Returns an exit code. */
export function ensureServer() {
  if (findServer() !== undefined) return 0;
  const manager = MANAGERS.find(({ command }) => onPath(command) !== undefined);
  const prefix = manager && rightToRun(manager);
  if (prefix !== undefined) {
    console.error(`The tests need a redis-server: installing one with ${manager.command}, once.`);
    for (const line of manager.lines) {
      run([...prefix, ...(manager.env ? ['env', ...manager.env] : []), manager.command, ...line.split(' ')]);
      if (findServer() !== undefined) return 0;
    }
  }
  console.error(
    [
      prefix === undefined
        ? 'The tests need a redis-server or a valkey-server, and neither is on PATH.'
        : `${manager.command} installed no server: see what it says above.`,
      ...(manager
        ? [`Install one with the next line, then try again:`, `  ${manager.byHand}`]
        : ['Install Redis or Valkey by the package manager of this system, then try again.']),
    ].join('\n'),
  );
  return 1;
}

/** What stands before a command that installs; `undefined` where a person has to decide: neither root nor CI. */
function rightToRun({ neverRoot = false }) {
  const isRoot = process.getuid?.() === 0;
  const isCi = ![undefined, '', '0', 'false'].includes(process.env.CI);
  if (neverRoot) return isCi && !isRoot ? [] : undefined;
  if (isRoot) return [];
  return isCi && onPath('sudo') !== undefined ? ['sudo', '-n'] : undefined;
}

function run([command, ...rest]) {
  const { error } = spawnSync(command, rest, { stdio: ['ignore', process.stderr, process.stderr] });
  if (error) console.error(`${command}: ${error.message}`);
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) process.exitCode = ensureServer();
