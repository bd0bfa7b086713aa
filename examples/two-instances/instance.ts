import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import OpenAI from 'openai';
import { createSpillway, type Snapshot, staticAnswer } from 'spillway';
import { spillway } from 'spillway/express';
import { type RedisClient, redisStore } from 'spillway/redis';

/** One of the servers of an application, as it would run on a machine of its own. */
export interface Instance {
  readonly url: string;
  /** What its own calls used, as the provider reported it. */
  readonly tokens: number;
  snapshot(): Promise<Snapshot>;
  close(): Promise<void>;
}

/** Instances, crowd, provider and Redis share one machine here: an answer may take a while. */
const SHARED = { expectedInstances: 2, timeoutMs: 2_000 };

export async function startInstance(redis: RedisClient, baseURL: string, tokensPerMinute: number): Promise<Instance> {
  const gate = createSpillway({
    store: redisStore(redis, SHARED),
    models: { 'gpt-4o': { budgets: [{ tokens: tokensPerMinute, per: 'minute' }] } },
    ladder: [staticAnswer('We are busy; please try again shortly.')],
  });
  await gate.ready();
  let tokens = 0;
  gate.on('request-answered', ({ usage }) => {
    tokens += (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);
  });

  const openai = new OpenAI({ apiKey: 'demo-key', baseURL, fetch: gate.fetch });
  const app = express();
  app.post('/api/chat', express.json(), spillway(gate, { route: 'chat' }), async (req, res) => {
    res.json(await openai.chat.completions.create(req.body));
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get tokens() {
      return tokens;
    },
    snapshot: () => gate.snapshot(),
    async close() {
      server.close();
      server.closeAllConnections();
      await gate.close();
    },
  };
}
