import { once } from 'node:events';
import type { RequestHandler } from 'express';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { spillwayOf } from '../../adapters/express.js';
import { createProvider, type Provider, type ProviderOptions } from './provider.js';

/** A provider for the tests of one file, and handlers that call it. */
export interface Upstream {
  readonly provider: Provider;
  /** Calls it through the request's own fetch, as an SDK does. */
  call(req: Parameters<RequestHandler>[0]): Promise<Response>;
  /** Passes what it streams on to the client, at the client's pace. */
  readonly streams: RequestHandler;
}

/** Unless told otherwise an answer takes a second. */
export function useUpstream(options: Partial<ProviderOptions> = {}): Upstream {
  let provider: Provider;
  beforeAll(async () => {
    const models = { 'gpt-4o': { tokensPerMinute: 100_000_000, requestsPerMinute: 1_000_000 } };
    provider = await createProvider({ models, outputTokens: 2_000, msPerToken: 0.5, ...options });
  });
  afterAll(() => provider.close());
  afterEach(() => provider.reset());

  const call: Upstream['call'] = (req) =>
    spillwayOf(req).fetch(`${provider.url}/chat/completions`, { method: 'POST', body: JSON.stringify(req.body) });
  return {
    get provider() {
      return provider;
    },
    call,
    async streams(req, res) {
      const upstream = await call(req);
      res.writeHead(upstream.status, { 'content-type': upstream.headers.get('content-type') ?? '' });
      for await (const chunk of upstream.body ?? []) if (!res.write(chunk)) await once(res, 'drain');
      res.end();
    },
  };
}
