import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { memoryAnswerCache } from '../../src/cache/memory-answer-cache.js';
import { redisAnswerCache } from '../../src/stores/redis/answer-cache.js';
import { answerCacheConformance } from '../conformance/answer-cache.js';
import { ownPrefix, sharedRedis } from '../support/redis/shared.js';

let client: Redis;
beforeAll(() => {
  client = new Redis(sharedRedis().url);
});
afterAll(() => client.disconnect());

answerCacheConformance('memoryAnswerCache', { create: memoryAnswerCache });

answerCacheConformance('redisAnswerCache', {
  create: (maxBytes) => redisAnswerCache(client, { prefix: ownPrefix(), maxBytes, timeoutMs: 5_000 }),
});
