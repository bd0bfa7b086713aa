import type { Script } from './scripts.js';

/**
 * What is used of a Redis client. Those of ioredis 5 and 6 (and iovalkey) fit as they are: a single server, Sentinel or Cluster. The
 * caller makes and closes it; nothing is added to it.
 */
export interface RedisClient {
  evalsha(sha: string, numberOfKeys: number, ...args: string[]): Promise<unknown>;
  eval(script: string, numberOfKeys: number, ...args: string[]): Promise<unknown>;
  info?(section: string): Promise<string>;
}

/** Runs a script by its name; sends its text once more where the server does not know it, and on that error only. */
export async function runScript(
  client: RedisClient,
  { sha, text }: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  try {
    return await client.evalsha(sha, keys.length, ...keys, ...args);
  } catch (error) {
    if (!isUnknownScript(error)) throw error;
    return client.eval(text, keys.length, ...keys, ...args);
  }
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}
