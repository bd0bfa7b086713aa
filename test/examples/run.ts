import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../support/docs.js';

const LONGEST_MS = 60_000;

/** Runs an example as its script does, without a key. @returns the lines that it printed */
export async function runExample(name: string): Promise<readonly string[]> {
  const { OPENAI_API_KEY: _, ANTHROPIC_API_KEY: __, ...env } = process.env;
  // Rejects, with what was printed, on another exit code than 0 and when the time is over.
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', join('examples', name, 'main.ts')], {
    cwd: ROOT,
    env,
    timeout: LONGEST_MS,
    killSignal: 'SIGKILL',
  });
  return stdout.trimEnd().split('\n');
}
