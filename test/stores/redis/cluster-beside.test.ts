import { Cluster } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { redisAnswerCache } from '../../../src/stores/redis/answer-cache.js';
import { redisLedger } from '../../../src/stores/redis/ledger.js';
import { answerCacheConformance } from '../../conformance/answer-cache.js';
import { ledgerConformance } from '../../conformance/ledger.js';
import { type RedisCluster, startCluster } from '../../support/redis/cluster.js';
import { ownPrefix } from '../../support/redis/shared.js';

let cluster: RedisCluster;
let client: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
  client = new Cluster([...cluster.addresses]);
});
afterAll(async () => {
  client?.disconnect();
  await cluster?.stop();
});

answerCacheConformance('redisAnswerCache on a Cluster', {
  create: (maxBytes) => redisAnswerCache(client, { prefix: ownPrefix(), maxBytes, timeoutMs: 5_000 }),
});

ledgerConformance('redisLedger on a Cluster', { create: (clock) => redisLedger(client, { prefix: ownPrefix(), clock }) });
