import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { memoryLedger } from '../../src/observe/memory-ledger.js';
import { redisLedger } from '../../src/stores/redis/ledger.js';
import { ledgerConformance } from '../conformance/ledger.js';
import { ownPrefix, sharedRedis } from '../support/redis/shared.js';

let client: Redis;
beforeAll(() => {
  client = new Redis(sharedRedis().url);
});
afterAll(() => client.disconnect());

ledgerConformance('memoryLedger', { create: memoryLedger });

ledgerConformance('redisLedger', { create: (clock) => redisLedger(client, { prefix: ownPrefix(), clock }) });
