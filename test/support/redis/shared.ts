import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import type {} from './global-setup.js';

export interface SharedRedis {
  readonly host: string;
  readonly port: number;
  readonly url: string;
}

/**
 * The server that all test files share: for tests that keep to keys of their own. No FLUSHALL, no CONFIG SET, no pause;
 * `startRedis` has servers for that.
 * @throws when this machine has no server, with the mend
 */
export function sharedRedis(): SharedRedis {
  const redis = inject('redis');
  if ('problem' in redis) throw new Error(`the tests of this file need a Redis server: ${redis.problem}`);
  return { host: '127.0.0.1', port: redis.port, url: `redis://127.0.0.1:${redis.port}` };
}

/** What the keys of one test begin with. */
export function ownPrefix(): string {
  return `test:${randomUUID()}:`;
}
