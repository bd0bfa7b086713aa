// An instance that holds reservations and keeps them alive, until it is killed.
import { Redis } from 'ioredis';
import { redisStore } from '../../../../src/stores/redis/index.js';

const [port, prefix = '', leaseMs] = process.argv.slice(2);
const store = redisStore(new Redis(Number(port), '127.0.0.1'), { prefix, timeoutMs: 5_000 });
const window = { kind: 'sliding', ms: 60_000 } as const;
const items = [
  { counter: 'tokens', window, amount: 100, limit: 1_000, refuseAt: 1_000 },
  { counter: 'running', window: { kind: 'concurrent' }, amount: 1, limit: 10, refuseAt: 10 } as const,
];
const how = { leaseMs: Number(leaseMs) };
for (const id of ['a', 'b', 'c']) await store.reserve(id, items, how);
setInterval(() => void store.renew(['a', 'b', 'c'], how.leaseMs), how.leaseMs / 3);
process.send?.('held');
