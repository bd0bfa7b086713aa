import { Redis } from 'ioredis';
import { Redis as Redis6 } from 'ioredis6';
import { sharedRedis } from '../../support/redis/shared.js';

/** Clients of both versions on the server that all tests share. */
export const CLIENTS: readonly (readonly [name: string, connect: () => Redis])[] = [
  ['ioredis 5', () => new Redis(sharedRedis().url)],
  ['ioredis 6', () => new Redis6(sharedRedis().url) as never],
];
