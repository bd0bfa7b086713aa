// A process whose store is closed while it is away, or well. Ends by itself, or the test fails.
import { Redis } from 'ioredis';
import { redisStore } from '../../../../src/stores/redis/index.js';

const [port, prefix = ''] = process.argv.slice(2);
const client = new Redis(Number(port), '127.0.0.1', { retryStrategy: () => 50, maxRetriesPerRequest: 1 });
client.on('error', () => {});
const store = redisStore(client, { prefix });
const window = { kind: 'sliding', ms: 60_000 } as const;
for (let i = 0; i < 8; i++) {
  await store.reserve(`${i}`, [{ counter: 'tokens', window, amount: 1, limit: 100, refuseAt: 100 }], { leaseMs: 5_000 });
}
await store.settle('0', [1]);
const { isAway } = store;

await store.close();
await store.close();
client.disconnect();

console.log(JSON.stringify({ isAway }));
