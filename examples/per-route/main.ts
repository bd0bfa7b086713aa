// One gate, three routes: all count on the user's tokens, and each has its own budgets, ladder and way to refuse.
import express, { type Request } from 'express';
import OpenAI from 'openai';
import { createSpillway, queue, staticAnswer } from 'spillway';
import { spillway } from 'spillway/express';
import { createProvider } from 'spillway/testing';

const provider = await createProvider({ models: { 'gpt-4o': { tokensPerMinute: 50_000, requestsPerMinute: 100 } } });
const gate = createSpillway({
  models: { 'gpt-4o': { budgets: [{ tokens: 40_000, per: 'minute' }] } },
  scopes: { user: { budgets: [{ tokens: 20_000, per: 'minute' }] } },
  ladder: [queue({ waitMs: 2_000 })],
});
await gate.ready();
const openai = new OpenAI({ apiKey: 'demo-key', baseURL: provider.url, fetch: gate.fetch });
const identify = (req: Request) => ({ user: req.get('x-user') });

const app = express();
app.use(express.json());

// For people: always something to read, and all chats together leave room for the other routes.
const chat = spillway(gate, {
  route: 'chat',
  identify,
  budgets: { route: [{ tokens: 800, per: 'minute' }] },
  ladder: [staticAnswer('We are busy; please try again shortly.')],
});
app.post('/chat', chat, async (req, res) => {
  res.json(await openai.chat.completions.create(req.body));
});

// Sold by the piece: two an hour for each user, and then no lesser answer, but 402.
const summarize = spillway(gate, {
  route: 'summarize',
  identify,
  budgets: { user: [{ requests: 2, per: 'hour' }] },
  ladder: [],
  refuseWith: 402,
});
app.post('/summarize', summarize, async (req, res) => {
  res.json(await openai.chat.completions.create(req.body));
});

// For programs, by a model of this very process: one at a time, in line as long as the gate's ladder says, else 429.
const embeddings = spillway(gate, {
  route: 'embeddings',
  identify,
  budgets: { route: [{ concurrent: 1 }], user: [{ inputTokens: 20, per: 'minute' }] },
});
app.post('/embeddings', embeddings, (req, res) => {
  const { model, input } = req.body as { model: string; input: string };
  const words = input.split(' ').length;
  const data = [{ object: 'embedding', index: 0, embedding: [words, input.length] }];
  res.json({ object: 'list', model, data, usage: { prompt_tokens: words, total_tokens: words } });
});

const tokens = new Map<string | undefined, number>();
gate.on('request-answered', ({ route, usage }) => {
  tokens.set(route, (tokens.get(route) ?? 0) + (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0));
});

const server = app.listen(0, '127.0.0.1', async () => {
  const { port } = server.address() as { port: number };
  const bodies = {
    chat: { model: 'gpt-4o', messages: [{ role: 'user', content: 'Where does the water go?' }] },
    summarize: { model: 'gpt-4o', messages: [{ role: 'user', content: 'Sum this up: the dam held.' }] },
    embeddings: { model: 'my-embedding', input: 'the water goes down the spillway' },
  };
  for (const [route, body] of Object.entries(bodies)) {
    const got: string[] = [];
    for (let asked = 1; asked <= 4; asked++) {
      const { status, headers } = await fetch(`http://127.0.0.1:${port}/${route}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-user': 'ada' },
        body: JSON.stringify(body),
      });
      got.push(`${status} ${headers.get('spillway-outcome')}`);
    }
    console.log(`/${route.padEnd(11)} ${got.map((one) => one.padEnd(11)).join(' ')} ${tokens.get(route)} tokens`);
  }
  server.close();
  await gate.close();
  await provider.close();
});
