export {
  type ChatBody,
  createProvider,
  type Provider,
  type ProviderModel,
  type ProviderOptions,
  type ProviderRequest,
  type ProviderStats,
} from '../support/provider.js';
export { createVirtualClock, type VirtualClock } from '../support/virtual-clock.js';
export { type AdapterConformanceOptions, adapterConformance, type MakeApp, type Part, type Turn } from './adapter.js';
export { type AnswerCacheConformanceOptions, answerCacheConformance } from './answer-cache.js';
export { type DialectSamples, type DialectSuite, dialectConformance } from './dialect.js';
export { type LedgerConformanceOptions, ledgerConformance } from './ledger.js';
export { type StoreConformanceOptions, type StoreUnderTest, storeConformance } from './store.js';
