import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';

/** Its input ends when we do, however that happens. Each line on it is the process to watch from then on, or none. */
const SCRIPT = `trap '' INT TERM HUP; while read -r line; do pid=$line; done; test -n "$pid" && kill -9 "$pid"; rm -rf "$1"`;

/** Cleans up when this process is gone. No handler inside could: a test worker may be killed itself. */
export interface Watchdog {
  /** Kills that process then; `undefined`: there is none now. */
  watch(pid: number | undefined): void;
  /** Cleans up now. */
  close(): void;
}

/** @param folder - is removed at the end */
export function createWatchdog(folder: string): Watchdog {
  const child = spawn('sh', ['-c', SCRIPT, 'sh', folder], { stdio: ['pipe', 'ignore', 'ignore'], cwd: '/' });
  const input = child.stdin as Socket;
  for (const each of [child, input]) {
    each.on('error', () => {});
    each.unref();
  }
  return {
    watch: (pid) => void input.write(`${pid ?? ''}\n`),
    close: () => void input.end(),
  };
}
