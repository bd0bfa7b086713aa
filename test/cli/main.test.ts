import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it } from 'vitest';
import { USAGE } from '../../src/cli/command.js';
import { ROOT } from '../support/docs.js';

const folder = mkdtempSync(join(tmpdir(), 'spillway-cli-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function start(args: readonly string[]) {
  return spawn(process.execPath, ['--import', 'tsx', join(ROOT, 'src/cli/main.ts'), ...args], { cwd: ROOT });
}

async function run(args: readonly string[], input = ''): Promise<{ status: number; out: string; err: string }> {
  const child = start(args);
  child.stdin.end(input);
  const [out, err, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { status, out, err };
}

function fileOf(name: string, content: string): string {
  const file = join(folder, name);
  writeFileSync(file, content);
  return file;
}

const SECRET = 'the river is secret';
const chat = (content: unknown, more: object = {}) => ({ model: 'gpt-4o', messages: [{ role: 'user', content }], ...more });
const weather = {
  type: 'function',
  function: { name: 'weather', description: SECRET, parameters: { type: 'object', properties: {} } },
};
const lines = (...bodies: unknown[]) => bodies.map((body) => `${JSON.stringify(body)}\n`).join('');

describe('spillway estimate', () => {
  it('shows what a body takes, by message, tool and image, and nothing that it says', async () => {
    const content = [
      { type: 'text', text: SECRET },
      { type: 'image_url', image_url: { url: `https://example.com/${encodeURIComponent(SECRET)}.png` } },
    ];
    const file = fileOf('one.json', JSON.stringify(chat(content, { tools: [weather], max_tokens: 20 }), undefined, 2));

    const { status, out, err } = await run(['estimate', file]);

    expect([status, err]).toEqual([0, '']);
    expect(out).toContain(`${file}:1  openai-chat  gpt-4o  input `);
    expect(out).toMatch(/ output 20$/m);
    expect(out).toMatch(/^ {2}user {2,}\d+$/m);
    expect(out).toMatch(/^ {4}image elsewhere {2,}765$/m);
    expect(out).toMatch(/^ {2}tools {2,}\d+$/m);
    expect(out).toMatch(/^ {4}tool weather {2,}\d+$/m);
    expect(out).not.toContain('secret');
  });

  it('prints JSON, one object for each body, from standard input', async () => {
    const { status, out } = await run(['estimate', '-', '--json'], lines(chat('Hi'), chat('Hello', { n: 2 })));

    const printed = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(status).toBe(0);
    expect(printed).toMatchObject([
      {
        line: 1,
        dialect: 'openai-chat',
        model: 'gpt-4o',
        inputTokens: 8,
        heldInputTokens: 9,
        outputTokens: 512,
        confidence: 'counted',
      },
      { line: 2, outputTokens: 1_024 },
    ]);
  });

  it('goes on behind what it cannot read, and says where that is and what to do', async () => {
    const file = fileOf(
      'some.jsonl',
      `${lines(chat('Hi'))}{"model":"gpt-4o","messages":["${SECRET}\n${lines({ text: SECRET }, chat('Hi'))}`,
    );

    const { status, out, err } = await run(['estimate', file]);

    expect(status).toBe(1);
    expect(err).toMatch(
      /^.*some\.jsonl:2: is no JSON; give .+\n.*some\.jsonl:3: is no body of a call that is known; name its model with --model .+\n$/,
    );
    expect(out).toContain('2 bodies  input 16 (held 18)  output 1024\n');
    expect(out + err).not.toContain('secret');
  });

  it('takes the model and the path where bodies name none', async () => {
    const contents = [{ parts: [{ text: 'Where does the water go?' }] }];
    const input = JSON.stringify({ contents });

    const named = await run(['estimate', '-', '--json', '--path', '/v1beta/models/gemini-2.5-pro:generateContent'], input);
    const other = await run(['estimate', '-', '--json', '--model', 'gemini-2.0-flash'], input);

    expect(JSON.parse(named.out)).toMatchObject({ dialect: 'gemini-content', model: 'gemini-2.5-pro', inputTokens: 7 });
    expect(JSON.parse(other.out)).toMatchObject({ dialect: 'gemini-content', model: 'gemini-2.0-flash', inputTokens: 6 });
  });

  it('reads the lines of a batch', async () => {
    const { status, out } = await run(
      ['estimate', '-', '--json'],
      lines({ custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: chat('Hi') }),
    );

    expect([status, JSON.parse(out).inputTokens]).toEqual([0, 8]);
  });

  it('says that there is nothing in an empty file', async () => {
    const { status, err } = await run(['estimate', fileOf('empty.jsonl', '\n\n')]);

    expect([status, err]).toEqual([1, expect.stringMatching(/empty\.jsonl:1: there is no body; give .+\n$/)]);
  });

  it.each([
    ['a file that is not there', () => join(folder, 'none.json'), 'ENOENT'],
    ['a folder', () => folder, 'EISDIR'],
  ])('has status 2 for %s', async (_, file, code) => {
    const { status, out, err } = await run(['estimate', file()]);

    expect([status, out]).toEqual([2, '']);
    expect(err).toMatch(new RegExp(`^spillway: .+ cannot be read \\(${code}\\); give .+\n$`));
  });

  it('ends in peace when nobody reads on', async () => {
    const file = fileOf('many.jsonl', lines(chat('Hi')).repeat(20_000));
    const child = start(['estimate', file]);
    const complaints = text(child.stderr);

    await once(child.stdout, 'data');
    child.stdout.destroy();
    const [status] = await once(child, 'exit');

    expect([status, await complaints]).toEqual([0, '']);
  });
});

describe('spillway', () => {
  it('tells how it is used, and its version', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    const [help, told] = await Promise.all([run(['--help']), run(['--version'])]);

    expect(help).toEqual({ status: 0, out: USAGE, err: '' });
    expect(told).toEqual({ status: 0, out: `${version}\n`, err: '' });
  });

  it('has status 2 for what it does not know', async () => {
    const { status, out, err } = await run(['guess']);

    expect({ status, out, err }).toEqual({
      status: 2,
      out: '',
      err: 'spillway: there is no command "guess"; see spillway --help\n',
    });
  });
});
