// Handlers that know nothing of gate.fetch: the response that they send settles their requests, or their own word does, or
// gate.run around a call of axios. Each time exactly what the provider counted is charged.
import axios from 'axios';
import express from 'express';
import OpenAI from 'openai';
import { createSpillway, staticAnswer } from 'spillway';
import { spillway, spillwayOf } from 'spillway/express';
import { createProvider } from 'spillway/testing';

const provider = await createProvider({ models: { 'gpt-4o': { tokensPerMinute: 10_000, requestsPerMinute: 100 } } });
const gate = createSpillway({
  models: { 'gpt-4o': { budgets: [{ requests: 3, per: 'minute' }] } },
  ladder: [staticAnswer('We are busy; please try again shortly.')],
});
await gate.ready();
const openai = new OpenAI({ apiKey: 'demo-key', baseURL: provider.url });
const app = express();
app.use(express.json());

// The response has the provider's usage in it: nothing to do.
app.post('/as-it-comes', spillway(gate), async (req, res) => {
  res.json(await openai.chat.completions.create(req.body));
});

// The response has no usage in it: the handler says what was used, or that nothing was.
const FAQ = new Map([['When do you open?', 'At nine.']]);
app.post('/reply', spillway(gate), async (req, res) => {
  const known = FAQ.get(req.body.messages[0].content);
  if (known) {
    spillwayOf(req).cancel();
    return void res.json({ reply: known });
  }
  const { choices, usage } = await openai.chat.completions.create(req.body);
  spillwayOf(req).settle({ inputTokens: usage?.prompt_tokens, outputTokens: usage?.completion_tokens });
  res.json({ reply: choices[0]?.message.content });
});

// The body that came in shows no call: the one that goes out is governed, whatever sends it.
app.post('/axios', spillway(gate), async (req, res) => {
  const body = { model: 'gpt-4o', messages: [{ role: 'user', content: req.body.question }] };
  const outcome = await spillwayOf(req).run({ dialect: 'openai-chat', body }, (call) =>
    axios.post<OpenAI.ChatCompletion>(`${provider.url}/chat/completions`, call.body),
  );
  if ('value' in outcome) res.json({ reply: outcome.value.data.choices[0]?.message.content });
  else if (outcome.kind === 'shed') res.status(429).json({ error: 'busy' });
  else res.json({ reply: outcome.answer.text });
});

const charged = async () =>
  (await gate.usage({ scope: 'model' })).reduce((sum, one) => sum + one.inputTokens + one.outputTokens, 0);
const counted = () => Object.values(provider.stats().models).reduce((sum, one) => sum + one.inputTokens + one.outputTokens, 0);

const server = app.listen(0, '127.0.0.1', async () => {
  const { port } = server.address() as { port: number };
  const ask = async (path: string, question: string, body: object) => {
    const before = { charged: await charged(), counted: counted() };
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    await response.text();
    const used = `charged ${(await charged()) - before.charged}, provider counted ${counted() - before.counted}`;
    console.log(`${path.padEnd(13)} ${question.padEnd(18)} ${response.headers.get('spillway-outcome')?.padEnd(7)} ${used}`);
  };
  const chat = (content: string) => ({ model: 'gpt-4o', messages: [{ role: 'user', content }] });
  await ask('/as-it-comes', 'Why?', chat('Why?'));
  await ask('/reply', 'Why?', chat('Why?'));
  await ask('/reply', 'When do you open?', chat('When do you open?'));
  await ask('/axios', 'Why?', { question: 'Why?' });
  await ask('/axios', 'Why not?', { question: 'Why not?' });
  server.close();
  await gate.close();
  await provider.close();
});
