import { Redis } from 'ioredis';
import { Redis as Redis6 } from 'ioredis6';
import { describe, expect, it } from 'vitest';
import { ownPrefix, sharedRedis } from './shared.js';

describe('sharedRedis', () => {
  it.each([
    ['ioredis 5', (url: string) => new Redis(url)],
    ['ioredis 6', (url: string) => new Redis6(url)],
  ])('serves %s, to each test under keys of its own', async (_, connect) => {
    const client = connect(sharedRedis().url);
    const [one, other] = [ownPrefix(), ownPrefix()];
    try {
      await client.set(`${one}a`, 1);

      expect(await client.get(`${one}a`)).toBe('1');
      expect(await client.get(`${other}a`)).toBeNull();
    } finally {
      client.disconnect();
    }
  });
});
