// One route, one user, a budget for two calls: the third and fourth get less, and nobody gets an error.
import OpenAI from 'openai';
import { cheaperModel, createSpillway, queue, staticAnswer } from 'spillway';
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
  scopes: { user: { budgets: [{ tokens: 20_000, per: 'minute' }] } },
  ladder: [queue({ waitMs: 500 }), cheaperModel(), staticAnswer('We are busy; please try again shortly.')],
});
await gate.ready();
const server = createApp(gate, provider.url).listen(0, '127.0.0.1', async () => {
  const { port } = server.address() as { port: number };
  const client = new OpenAI({ apiKey: 'unused', baseURL: `http://127.0.0.1:${port}/v1`, defaultHeaders: { 'x-user': 'ada' } });
  for (let asked = 1; asked <= 4; asked++) {
    const { data, response } = await client.chat.completions
      .create({ model: 'gpt-4o', messages: [{ role: 'user', content: `Question ${asked}?` }] })
      .withResponse();
    const text = data.choices[0]?.message.content?.slice(0, 40);
    console.log(
      `${asked}. ${response.headers.get('spillway-outcome')?.padEnd(8)} ${response.headers.get('spillway-model')?.padEnd(15)} "${text}"`,
    );
  }
  server.close();
  await gate.close();
  await provider.close();
});
