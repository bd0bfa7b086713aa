// What the Redis store is measured beside: the usual limiter, one round trip for each counter, and the log that textbooks show.
import type { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';

/** Limiters of rate-limiter-flexible, asked one after the other, as an application does that has several limits. */
export function sequentialLimiters(client: Redis, count: number): (key: string) => Promise<void> {
  const limiters = Array.from(
    { length: count },
    (_, index) => new RateLimiterRedis({ storeClient: client, points: 1e9, duration: 60, keyPrefix: `peer${index}` }),
  );
  return async (key) => {
    for (const limiter of limiters) await limiter.consume(key, 1);
  };
}

/** KEYS: the log, a sorted set of `id:tokens` by time. ARGV: window, most requests, most tokens, tokens, id. */
const LOG = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[1])
local entries = redis.call('ZRANGE', KEYS[1], 0, -1)
local sum = 0
for _, entry in ipairs(entries) do sum = sum + tonumber(string.match(entry, ':(%d+)$')) end
if #entries + 1 > tonumber(ARGV[2]) or sum + ARGV[4] > tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], now, ARGV[5] .. ':' .. ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
`;

/** A sliding log of requests and tokens per minute, as one sorted set. */
export async function slidingLog(client: Redis): Promise<{ ask(key: string, tokens: number): Promise<unknown> }> {
  const sha = `${await client.script('LOAD', LOG)}`;
  let next = 0;
  return { ask: (key, tokens) => client.evalsha(sha, 1, key, 60_000, 1e9, 1e12, tokens, next++) };
}
