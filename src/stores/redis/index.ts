export type { AnswerCache } from '../../cache/answer-cache.js';
export type { Ledger } from '../../observe/ledger.js';
export type { OnStoreError } from '../store.js';
export { type RedisAnswerCacheOptions, redisAnswerCache } from './answer-cache.js';
export type { RedisClient } from './client.js';
export { type RedisLedgerOptions, redisLedger } from './ledger.js';
export { type RedisStore, type RedisStoreOptions, redisStore } from './redis-store.js';
