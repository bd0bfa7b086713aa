// A step of one's own on the ladder: when budgets are full, questions that a FAQ answers are answered from it.
import express from 'express';
import OpenAI from 'openai';
import { type Call, createSpillway, type Step, staticAnswer } from 'spillway';
import { spillway } from 'spillway/express';
import { createProvider } from 'spillway/testing';

const FAQ = new Map([['what are your opening hours?', 'We are open from nine to five, Monday to Friday.']]);

const lastQuestion = (call: Call): string => {
  const last = call.draft?.sections.findLast(({ role }) => role === 'user')?.parts[0];
  return last?.kind === 'text' ? last.text.trim().toLowerCase() : '';
};

const faqAnswer: Step = {
  name: 'faqAnswer',
  forPeople: true,
  canHelp: (_refusal, call) => FAQ.has(lastQuestion(call)),
  async attempt({ call }) {
    const text = FAQ.get(lastQuestion(call));
    return text === undefined ? undefined : { kind: 'static', model: 'faq', text };
  },
};

const provider = await createProvider({ models: { 'gpt-4o': { tokensPerMinute: 10_000, requestsPerMinute: 100 } } });
const gate = createSpillway({
  models: { 'gpt-4o': { budgets: [{ requests: 1, per: 'minute' }] } },
  ladder: [faqAnswer, staticAnswer('We are busy; please try again shortly.')],
});
const openai = new OpenAI({ apiKey: 'demo-key', baseURL: provider.url, fetch: gate.fetch });

const app = express();
app.post('/api/chat', express.json(), spillway(gate, { route: 'chat' }), async (req, res) => {
  res.json(await openai.chat.completions.create(req.body));
});

const server = app.listen(0, '127.0.0.1', async () => {
  const { port } = server.address() as { port: number };
  for (const content of ['Tell me a story.', 'What are your opening hours?', 'Tell me another story.']) {
    const response = await fetch(`http://127.0.0.1:${port}/api/chat`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content }] }),
    });
    const { choices, model } = (await response.json()) as OpenAI.ChatCompletion;
    console.log(
      `${response.headers.get('spillway-outcome')?.padEnd(7)} ${model.padEnd(15)} ${choices[0]?.message.content?.slice(0, 60)}`,
    );
  }
  server.close();
  await gate.close();
  await provider.close();
});
