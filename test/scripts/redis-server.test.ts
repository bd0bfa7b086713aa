import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ROOT } from '../support/docs.js';

/** The only folder of PATH. */
let bin: string;
beforeEach(() => {
  bin = mkdtempSync(join(tmpdir(), 'spillway-bin-'));
  put('env', 'while case "$1" in *=*) true;; *) false;; esac; do export "$1"; shift; done\nexec "$@"');
});
afterEach(() => rmSync(bin, { recursive: true }));

function put(command: string, script = ''): void {
  writeFileSync(join(bin, command), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/** A package manager that writes down how it was called, and installs at the call that matches `installsAt`. */
function putManager(command: string, installsAt: string, server = 'redis-server'): void {
  const install = `PATH=/bin:/usr/bin cp "$0" "${bin}/${server}"`;
  put(
    command,
    `echo "${command} $@\${DEBIAN_FRONTEND:+ $DEBIAN_FRONTEND}" >> "${bin}/called"\necho working\ncase "$(PATH=/bin:/usr/bin cat "${bin}/called")" in ${installsAt}) ${install};; *) exit 100;; esac`,
  );
}

function ensure({ uid = 1_000, ...env }: { uid?: number; CI?: string } = {}) {
  const as = `data:text/javascript,process.getuid=()=>${uid}`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', as, 'scripts/redis-server.mjs'], {
    cwd: ROOT,
    env: { PATH: bin, ...env },
    encoding: 'utf8',
  });
  const called = existsSync(join(bin, 'called')) ? readFileSync(join(bin, 'called'), 'utf8').trim().split('\n') : [];
  return { status, stdout, stderr, called };
}

const INSTALL = 'apt-get install -y --no-install-recommends redis-server noninteractive';
const UPDATE = 'apt-get update noninteractive';

describe('redis-server', () => {
  it.each(['redis-server', 'valkey-server'])('does and says nothing when there is a %s', (server) => {
    put(server);
    putManager('apt-get', '*');

    expect(ensure({ uid: 0 })).toEqual({ status: 0, stdout: '', stderr: '', called: [] });
  });

  it('installs one as root, and keeps stdout for what follows', () => {
    putManager('apt-get', '*install*');

    const { status, stdout, stderr, called } = ensure({ uid: 0 });

    expect({ status, stdout, called }).toEqual({ status: 0, stdout: '', called: [INSTALL] });
    expect(stderr).toContain('working');
  });

  it('updates the lists of packages when the first install fails', () => {
    putManager('apt-get', '*update*install*');

    expect(ensure({ uid: 0 })).toMatchObject({ status: 0, called: [INSTALL, UPDATE, INSTALL] });
  });

  it('goes by sudo in CI, which may not ask for a password', () => {
    putManager('apt-get', '*install*');
    put('sudo', `echo "sudo $1" >> "${bin}/called"\nshift\nexec "$@"`);

    expect(ensure({ CI: 'true' })).toMatchObject({ status: 0, called: ['sudo -n', INSTALL] });
  });

  it.each([
    ['apk', 0, ['apk add --no-cache redis', 'apk add --no-cache valkey']],
    ['dnf', 0, ['dnf install -y redis', 'dnf install -y valkey']],
  ])('takes valkey where %s has no redis', (manager, uid, lines) => {
    putManager(manager, '*valkey*', 'valkey-server');

    expect(ensure({ uid })).toMatchObject({ status: 0, called: lines });
  });

  it('uses brew in CI, never as root', () => {
    putManager('brew', '*install*');

    expect(ensure({ uid: 0, CI: '1' })).toMatchObject({ status: 1, called: [] });
    expect(ensure({ CI: '1' })).toMatchObject({ status: 0, called: ['brew install redis'] });
  });

  it.each<[string, { CI?: string }]>([
    ['a person', {}],
    ['a person, CI being false', { CI: 'false' }],
    ['CI without sudo', { CI: 'true' }],
  ])('installs nothing for %s, and says what to type', (_, env) => {
    putManager('apt-get', '*');

    const { status, stdout, stderr, called } = ensure(env);

    expect({ status, stdout, called }).toEqual({ status: 1, stdout: '', called: [] });
    expect(stderr).toContain('\n  sudo apt-get update && sudo apt-get install -y --no-install-recommends redis-server\n');
  });

  it('says so when the install fails', () => {
    putManager('apt-get', 'never');

    const { status, stderr } = ensure({ uid: 0 });

    expect(status).toBe(1);
    expect(stderr).toContain('apt-get installed no server');
    expect(stderr).toContain('sudo apt-get update');
  });

  it('names no line where it knows no package manager', () => {
    const { status, stderr } = ensure({ uid: 0 });

    expect(status).toBe(1);
    expect(stderr).toMatch(/neither is on PATH\.\nInstall Redis or Valkey/);
  });
});
