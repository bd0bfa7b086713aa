import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { report } from '../../scripts/feed/report.js';
import type { Fed } from '../../scripts/feed/server.js';
import { ROOT } from '../support/docs.js';

/** A process that loads a vocabulary, on a machine that may be busy. */
const PROCESS_MS = 60_000;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'spillway-feed-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function feed(...lines: unknown[]) {
  const file = join(folder, 'recordings.jsonl');
  writeFileSync(file, lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'));
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', 'scripts/feed-bodies.ts', file], {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: PROCESS_MS,
  });
  return { status, stdout, stderr };
}

/** Cells of the row with that title, without the unit. */
function row(stdout: string, title: string): string[] {
  const line = stdout.split('\n').find((each) => each.startsWith(`${title}  `)) ?? '';
  return line.slice(title.length).replaceAll(' %', '').trim().split(/\s+/);
}

const messages = [{ role: 'user', content: 'Hello, how are you today?' }];
const hello = { api: 'openai.chat', body: { model: 'gpt-4o', messages }, usage: { input: 14 } };
const claude = {
  api: 'anthropic.messages',
  body: { model: 'claude-sonnet-4-5', max_tokens: 10, stream: true, messages },
  usage: { input: 15 },
};

describe('feed-bodies', { timeout: PROCESS_MS }, () => {
  it('tells by api and kind how close the charges come, and ends well when they do', () => {
    const spoken = [...messages, { role: 'assistant', content: 'Fine.' }, { role: 'user', content: 'Why?' }];
    const more = { ...hello, body: { model: 'gpt-4o', messages: spoken }, usage: { input: 26 } };

    const { status, stdout, stderr } = feed(hello, more, claude, { api: 'gemini', body: {}, usage: { input: 1 } });

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('lines of another api, passed over: 1\n');
    expect(row(stdout, 'openai.chat, plain')).toEqual(['1', '0', '0', '0', '1.00', '100.0', '0.0', '0.0']);
    expect(row(stdout, 'openai.chat, multi-turn')).toEqual(['1', '0', '0', '0', '1.00', '100.0', '0.0', '0.0']);
    expect(row(stdout, 'anthropic.messages, plain').slice(0, 4)).toEqual(['1', '0', '0', '0']);
    expect(row(stdout, 'all')[0]).toBe('3');
  });

  it('fails and names the body when one is charged far more than was reported', () => {
    const long = {
      ...hello,
      id: 'long-one',
      body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'word '.repeat(500) }] },
    };

    const { status, stdout } = feed(hello, long);

    expect(status).toBe(1);
    expect(row(stdout, 'all')).toEqual(['2', '0', '0', '0', expect.any(String), '50.0', '50.0', '0.0']);
    expect(stdout).toMatch(/charged over 3 x reported \+ 100: 1\n {2}long-one: reported 14, held \d+, charged \d+\n/);
  });

  it('does not fail for an image elsewhere, whose size nobody can know', () => {
    const content = [{ type: 'image_url', image_url: { url: 'https://images.example.com/1.png' } }];

    const { status, stdout } = feed({ ...hello, body: { model: 'gpt-4o', messages: [{ role: 'user', content }] } });

    expect(row(stdout, 'openai.chat, remote images').slice(5)).toEqual(['0.0', '100.0', '0.0']);
    expect(status).toBe(0);
  });

  it.each([
    ['no JSON', '{"api": ', /recordings\.jsonl:1: not JSON/],
    ['no usage', { ...hello, usage: undefined }, /recordings\.jsonl:1: usage\.input must be the input tokens/],
    ['nothing that is fed', { api: 'gemini' }, /no line has an api that is fed/],
  ])('says what is wrong with a file of %s, with another exit code', (_, line, message) => {
    const { status, stderr } = feed(line);

    expect(stderr).toMatch(message);
    expect(status).toBe(2);
  });
});

describe('its report', () => {
  const recording = { name: 'one', api: 'openai.chat', kind: 'plain', body: {}, reported: 10 } as const;
  const fine: Fed = { recording, status: 200, complaint: undefined, held: 11, charged: 10 };

  it('lets refusals pass that say why', () => {
    const { text, isFine } = report([fine, { ...fine, status: 413, complaint: 'too large', held: 0, charged: 0 }]);

    expect(isFine).toBe(true);
    expect(text).toContain('refused: 1\n  one: reported 10, held 0, charged 0, answered 413 too large');
  });

  it.each<[string, Partial<Fed>, string]>([
    ['a server error', { status: 500, complaint: 'TypeError' }, 'crashed: 1'],
    ['a connection that ended', { status: 0, complaint: 'TypeError: fetch failed' }, 'crashed: 1'],
    ['a call that cost nothing', { charged: 0 }, 'free: 1'],
  ])('does not let %s pass', (_, what, reason) => {
    const { text, isFine } = report([fine, { ...fine, ...what }]);

    expect(isFine).toBe(false);
    expect(text).toContain(reason);
  });

  it.each([
    [100, true],
    [99, false],
  ])('lets 2 of %d bodies be charged far too much: %s', (count, isRight) => {
    const fed = Array.from({ length: count }, (_, index) => (index < 2 ? { ...fine, charged: 131 } : fine));

    expect(report(fed).isFine).toBe(isRight);
  });
});
