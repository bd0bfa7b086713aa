// A proxy in front of the provider, with neither an SDK nor gate.fetch in it: what a call used is read from its answer as that
// passes by.
import OpenAI from 'openai';
import { cheaperModel, createSpillway, staticAnswer } from 'spillway';
import { createProvider } from 'spillway/testing';
import { createApp } from './app.js';

const provider = await createProvider({
  models: {
    'gpt-4o': { tokensPerMinute: 10_000, requestsPerMinute: 100 },
    'gpt-4o-mini': { tokensPerMinute: 10_000, requestsPerMinute: 100 },
  },
});
const gate = createSpillway({
  models: {
    'gpt-4o': { budgets: [{ requests: 2, per: 'minute' }], cheaper: ['gpt-4o-mini'] },
    'gpt-4o-mini': { budgets: [{ requests: 1, per: 'minute' }] },
  },
  scopes: { customer: { budgets: [{ tokens: 20_000, per: 'minute' }] } },
  ladder: [cheaperModel(), staticAnswer('We are busy; please try again shortly.')],
});
await gate.ready();

const server = createApp(gate, provider.url).listen(0, '127.0.0.1', async () => {
  const { port } = server.address() as { port: number };
  const client = new OpenAI({ apiKey: 'key-of-acme', baseURL: `http://127.0.0.1:${port}/v1` });
  const messages = [{ role: 'user' as const, content: 'Where does the water go?' }];

  for (const stream of [false, true, false, false]) {
    const response = await client.chat.completions
      .create({ model: 'gpt-4o', messages, ...(stream ? { stream, stream_options: { include_usage: true } } : {}) })
      .asResponse();
    const { headers } = response;
    await response.text();
    const kind = headers.get('content-type')?.split(';')[0];
    console.log(`${headers.get('spillway-outcome')?.padEnd(8)} ${headers.get('spillway-model')?.padEnd(15)} ${kind}`);
  }

  const { models } = provider.stats();
  for (const { key, inputTokens, outputTokens } of await gate.usage({ scope: 'model' })) {
    const counted = models[key];
    console.log(
      `${key}: charged ${inputTokens} + ${outputTokens}, used ${counted?.inputTokens} + ${counted?.outputTokens} tokens`,
    );
  }
  const stranger = client.withOptions({ apiKey: 'key-of-nobody' });
  const refused = await stranger.models.list().catch((error: InstanceType<typeof OpenAI.APIError>) => error.status);
  console.log(`a stranger gets ${refused}`);
  server.close();
  await gate.close();
  await provider.close();
});
