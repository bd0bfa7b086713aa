import type { RedisClient } from './client.js';

/** What is wrong with a client; `undefined`: nothing. */
export function clientFault(what: string, given: unknown): string | undefined {
  const { evalsha, eval: evaluate } = (given ?? {}) as Partial<RedisClient>;
  if (typeof evalsha === 'function' && typeof evaluate === 'function') return undefined;
  return `${what} needs a client with evalsha and eval; give one like new Redis(url) of ioredis`;
}

export function prefixFault(given: unknown): string | undefined {
  if (typeof given === 'string' && /^[\x21-\x7a|~]{1,64}$/.test(given)) return undefined;
  return 'prefix must be 1 to 64 characters of printable ASCII without spaces and braces; give one like "chat"';
}

export function numberFault(name: string, given: unknown, most: number): string | undefined {
  if (Number.isInteger(given) && (given as number) >= 1 && (given as number) <= most) return undefined;
  return `${name} must be a whole number from 1 to ${most.toLocaleString('en-US')}, got ${String(given)}`;
}
