// The route of the README's first lines, on Koa: two questions fit the budget of a caller, the others get less and no error.
import { bodyParser } from '@koa/bodyparser';
import Router from '@koa/router';
import Koa from 'koa';
import OpenAI from 'openai';
import { cachedAnswer, cheaperModel, createSpillway, queue, staticAnswer } from 'spillway';
import { spillway } from 'spillway/koa';
import { createProvider } from 'spillway/testing';

const provider = await createProvider({
  models: {
    'gpt-4o': { tokensPerMinute: 10_000, requestsPerMinute: 100 },
    'gpt-4o-mini': { tokensPerMinute: 10_000, requestsPerMinute: 100 },
  },
});
const gate = createSpillway({
  models: {
    'gpt-4o': { budgets: [{ requests: 2, per: 'minute' }], headroomRatio: 0, cheaper: ['gpt-4o-mini'] },
    'gpt-4o-mini': { budgets: [{ requests: 1, per: 'minute' }] },
  },
  scopes: { user: { budgets: [{ tokens: 20_000, per: 'minute' }, { concurrent: 5 }] } },
  ladder: [queue({ waitMs: 200 }), cachedAnswer(), cheaperModel(), staticAnswer('We are busy; please try again shortly.')],
});
const openai = new OpenAI({ apiKey: 'demo-key', baseURL: provider.url, fetch: gate.fetch, maxRetries: 0 });
const governed = spillway(gate, { route: 'chat', identify: (ctx) => ({ user: ctx.get('x-user') }) });

const router = new Router();
router.post('/api/chat', bodyParser(), governed, async (ctx) => {
  const { messages } = ctx.request.body as Pick<OpenAI.ChatCompletionCreateParams, 'messages'>;
  ctx.body = await openai.chat.completions.create({ model: 'gpt-4o', messages });
});
const server = new Koa().use(router.routes()).listen(0, '127.0.0.1', async () => {
  const { port } = server.address() as { port: number };
  for (const question of ['Where does the water go?', 'How high is the wall?', 'And then?', 'How high is the wall?', 'Why?']) {
    const response = await fetch(`http://127.0.0.1:${port}/api/chat`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-user': 'ada' },
      body: JSON.stringify({ messages: [{ role: 'user', content: question }] }),
    });
    const { choices } = (await response.json()) as OpenAI.ChatCompletion;
    const said = choices[0]?.message.content?.slice(0, 40);
    console.log(`${response.status} ${response.headers.get('spillway-outcome')?.padEnd(8)} ${question.padEnd(25)} "${said}"`);
  }
  server.close();
  await gate.close();
  await provider.close();
});
