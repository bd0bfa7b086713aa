import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe } from 'vitest';
import { createRedisStore } from '../../../src/stores/redis/redis-store.js';
import { storeConformance } from '../../conformance/store.js';
import { ownPrefix } from '../../support/redis/shared.js';
import { createVirtualClock } from '../../support/virtual-clock.js';
import { CLIENTS } from './clients.js';

describe.each(CLIENTS)('over %s', (_, connect) => {
  let client: Redis;
  beforeAll(() => {
    client = connect();
  });
  afterAll(() => client.disconnect());

  storeConformance('redisStore', {
    create(nowMs) {
      const clock = createVirtualClock(nowMs);
      const store = createRedisStore({
        client,
        readClient: client,
        prefix: ownPrefix(),
        timeoutMs: 5_000,
        expectedInstances: 1,
        maxKeys: 1_000,
        clock,
        serverNow: () => clock.now(),
      });
      return { store, advance: (ms) => clock.set(clock.now() + ms) };
    },
  });
});
