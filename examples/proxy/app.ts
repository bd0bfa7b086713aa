import type { ClientRequest } from 'node:http';
import express, { type Express, type Request } from 'express';
import { createProxyMiddleware, fixRequestBody } from 'http-proxy-middleware';
import type { Gate } from 'spillway';
import { spillway } from 'spillway/express';

const CUSTOMERS = new Map([['Bearer key-of-acme', 'acme']]);

/** Hands everything under `/v1` on to the provider, on the provider's key. */
export function createApp(gate: Gate<'customer'>, target: string): Express {
  const app = express();
  app.use(
    '/v1',
    spillway(gate, {
      route: 'proxy',
      identify: (req) => ({ customer: CUSTOMERS.get(req.get('authorization') ?? '') }),
      // Nobody unknown may use the key: without a body, too, a request is governed, and without a customer it gets 401.
      skip: () => false,
    }),
    createProxyMiddleware<Request>({
      target,
      changeOrigin: true,
      headers: { authorization: 'Bearer key-of-the-provider' },
      on: { proxyReq: sendBody },
    }),
  );
  return app;
}

/** Sends what spillway left in `req.body`: the JSON that it read, plain and in one piece, on the model that it admitted. */
function sendBody(proxyReq: ClientRequest, req: Request): void {
  if (req.body !== undefined) for (const name of ['content-encoding', 'transfer-encoding']) proxyReq.removeHeader(name);
  fixRequestBody(proxyReq, req);
  // A proxy does not see that a client left whose body was read before; the provider would write on for nobody.
  req.spillway?.signal.addEventListener('abort', () => proxyReq.destroy());
}
