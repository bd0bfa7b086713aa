import type { RedisClient } from './client.js';

const OLDEST_MAJOR = 6;

/** What of the server's settings would make counts wrong: messages for an operator, each with its mend. */
export async function checkServer(client: RedisClient): Promise<readonly string[]> {
  if (typeof client.info !== 'function') return [];
  const [server, memory] = await Promise.all([client.info('server'), client.info('memory')]);
  const faults: string[] = [];
  const version = fieldOf(server, 'redis_version');
  const mode = fieldOf(server, 'redis_mode');
  const policy = fieldOf(memory, 'maxmemory_policy');
  const most = Number(fieldOf(memory, 'maxmemory') ?? 0);
  if (version !== undefined && Number.parseInt(version, 10) < OLDEST_MAJOR)
    faults.push(`Redis ${version} is too old; use ${OLDEST_MAJOR}.2 or newer`);
  if (most > 0 && policy !== undefined && policy !== 'noeviction')
    faults.push(
      `maxmemory-policy is ${policy}: Redis may drop counters, and forgive whoever is over a limit; set it to noeviction`,
    );
  if (mode === 'cluster' && !('nodes' in client))
    faults.push('Redis runs as a cluster, and the client is one for a single server; give a Cluster client');
  return faults;
}

function fieldOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}
