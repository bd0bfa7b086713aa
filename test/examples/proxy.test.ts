import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { createSpillway, type Gate } from 'spillway';
import { createProvider, type Provider } from 'spillway/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createApp } from '../../examples/proxy/app.js';
import { runExample } from './run.js';

it('proxy charges what the provider counted, sends the admitted model, and lets nobody unknown through', async () => {
  expect(await runExample('proxy')).toEqual([
    expect.stringMatching(/^passed +gpt-4o +application\/json$/),
    expect.stringMatching(/^passed +gpt-4o +text\/event-stream$/),
    expect.stringMatching(/^cheaper +gpt-4o-mini +application\/json$/),
    expect.stringMatching(/^static +spillway-static +application\/json$/),
    expect.stringMatching(/^gpt-4o: charged (\d+ \+ \d+), used \1 tokens$/),
    expect.stringMatching(/^gpt-4o-mini: charged (\d+ \+ \d+), used \1 tokens$/),
    'a stranger gets 401',
  ]);
});

describe('the proxy of the example', () => {
  const BODY = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Wohin fließt das Wasser?' }] };
  let provider: Provider;
  let gate: Gate<'customer'>;
  let server: Server;

  beforeEach(async () => {
    provider = await createProvider({
      models: { 'gpt-4o': { tokensPerMinute: 10_000, requestsPerMinute: 100 } },
      msPerToken: 10,
    });
    gate = createSpillway({ scopes: { customer: { budgets: [{ tokens: 10_000, per: 'minute' }] } } });
    server = createApp(gate, provider.url).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await gate.close();
    await provider.close();
  });

  const send = (given: RequestInit & { duplex?: 'half' }) =>
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/chat/completions`, {
      ...given,
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer key-of-acme', ...given.headers },
    });

  it('sends a compressed body plain, and says so', async () => {
    const response = await send({ body: gzipSync(JSON.stringify(BODY)), headers: { 'content-encoding': 'gzip' } });

    expect(response.status).toBe(200);
    expect(provider.requests).toMatchObject([{ body: BODY }]);
    expect(provider.requests[0]?.headers).not.toHaveProperty('content-encoding');
  });

  it('sends a body of unknown length in one piece', async () => {
    const response = await send({ body: new Blob([JSON.stringify(BODY)]).stream(), duplex: 'half' });

    expect(response.status).toBe(200);
    expect(provider.requests).toMatchObject([{ body: BODY }]);
    expect(provider.requests[0]?.headers).not.toHaveProperty('transfer-encoding');
  });

  it.each([false, true])('stops the provider when the client leaves (stream: %s)', async (stream) => {
    const leaving = new AbortController();
    const answered = send({ body: JSON.stringify({ ...BODY, stream }), signal: leaving.signal }).then((one) => one.text());
    await vi.waitFor(() => expect(provider.stats().accepted).toBe(1));

    leaving.abort();

    await expect(answered).rejects.toThrow();
    await vi.waitFor(() => expect(provider.stats().aborted).toBe(1));
  });
});
