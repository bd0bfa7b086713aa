// An API of one's own shape: { message } in, { reply } out. The model and the history come from the server, so the route's
// calls are what is priced; a dialect made from a built-in one lets the ladder answer in the application's shape.
import express from 'express';
import OpenAI from 'openai';
import { createSpillway, type Dialect, openaiChat, staticAnswer } from 'spillway';
import { spillway } from 'spillway/express';
import { createProvider } from 'spillway/testing';

const history: OpenAI.ChatCompletionMessageParam[] = [{ role: 'system', content: 'You are brief.' }];

const myChat: Dialect = {
  ...openaiChat,
  name: 'my-chat',
  read(body) {
    const { message } = (body ?? {}) as { message?: unknown };
    if (typeof message !== 'string') return undefined;
    return openaiChat.read({ model: 'gpt-4o', messages: [...history, { role: 'user', content: message }] });
  },
  rewrite: (body) => body,
  collect: () => undefined,
  answer: ({ text }) => ({ status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify({ reply: text }) }),
};

const provider = await createProvider({ models: { 'gpt-4o': { tokensPerMinute: 10_000, requestsPerMinute: 100 } } });
const gate = createSpillway({
  models: { 'gpt-4o': { budgets: [{ requests: 2, per: 'minute' }] } },
  ladder: [staticAnswer('We are busy; please try again shortly.')],
});
const openai = new OpenAI({ apiKey: 'demo-key', baseURL: provider.url, fetch: gate.fetch });

const app = express();
app.post('/bot', express.json(), spillway(gate, { route: 'bot', dialect: myChat }), async (req, res) => {
  const messages: OpenAI.ChatCompletionMessageParam[] = [...history, { role: 'user', content: req.body.message }];
  const { choices } = await openai.chat.completions.create({ model: 'gpt-4o', messages });
  res.json({ reply: choices[0]?.message.content });
});

const server = app.listen(0, '127.0.0.1', async () => {
  const { port } = server.address() as { port: number };
  for (const message of ['Hello?', 'And now?', 'Still there?']) {
    const response = await fetch(`http://127.0.0.1:${port}/bot`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ message }),
    });
    const { reply } = (await response.json()) as { reply: string };
    console.log(`${response.headers.get('spillway-outcome')?.padEnd(7)} ${reply.slice(0, 70)}`);
  }
  const [usage] = gate.usage({ scope: 'model' });
  console.log(
    `charged: ${usage?.calls} calls, ${usage?.inputTokens} input and ${usage?.outputTokens} output tokens on ${usage?.key}`,
  );
  server.close();
  await gate.close();
  await provider.close();
});
