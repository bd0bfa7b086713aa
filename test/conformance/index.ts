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
