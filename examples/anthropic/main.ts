// Claude: Anthropic's SDK in the handler and in the client. A cheaper model and a prepared answer reach the client as messages,
// whole or streamed, and what is refused as its SDK's own RateLimitError.
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import Anthropic, { type APIError, RateLimitError } from '@anthropic-ai/sdk';
import express, { type ErrorRequestHandler } from 'express';
import { cheaperModel, createSpillway, staticAnswer } from 'spillway';
import { spillway, spillwayOf } from 'spillway/express';
import { createProvider } from 'spillway/testing';

const provider = await createProvider({
  models: {
    'claude-sonnet-5-5': { tokensPerMinute: 10_000, requestsPerMinute: 100 },
    'claude-haiku-5-5': { tokensPerMinute: 10_000, requestsPerMinute: 100 },
  },
});
const gate = createSpillway({
  models: {
    'claude-sonnet-5-5': { budgets: [{ requests: 2, per: 'minute' }], cheaper: ['claude-haiku-5-5'] },
    'claude-haiku-5-5': { budgets: [{ requests: 1, per: 'minute' }] },
  },
  scopes: { user: { budgets: [{ tokens: 20_000, per: 'minute' }] } },
  ladder: [cheaperModel(), staticAnswer('We are busy; please try again shortly.')],
});
await gate.ready();
// Anthropic's SDK adds `/v1` by itself.
const anthropic = new Anthropic({ apiKey: 'demo-key', baseURL: new URL(provider.url).origin, fetch: gate.fetch, maxRetries: 0 });

const app = express();
app.post(
  '/v1/messages',
  express.json(),
  spillway(gate, { route: 'messages', identify: (req) => ({ user: req.get('x-user') }) }),
  async (req, res) => {
    const answer = await anthropic.messages.create(req.body, { signal: spillwayOf(req).signal }).asResponse();
    res.type(answer.headers.get('content-type') ?? 'application/json');
    await pipeline(Readable.fromWeb(answer.body as never), res);
  },
);
const asAnthropic: ErrorRequestHandler = ({ status = 502, error }: Partial<APIError>, _req, res, _next) => {
  if (res.headersSent) return void res.destroy();
  res.status(status).json(error ?? { type: 'error', error: { type: 'api_error', message: 'Something went wrong.' } });
};
app.use(asAnthropic);

const server = app.listen(0, '127.0.0.1', async () => {
  const { port } = server.address() as { port: number };
  const client = new Anthropic({
    apiKey: 'unused',
    baseURL: `http://127.0.0.1:${port}`,
    defaultHeaders: { 'x-user': 'ada' },
    maxRetries: 0,
  });
  const ask = { model: 'claude-sonnet-5-5', max_tokens: 200, messages: [{ role: 'user' as const, content: 'Why?' }] };
  const tools = [{ name: 'look_up', input_schema: { type: 'object' as const } }];

  show('whole', await client.messages.create(ask));
  show('streamed', await client.messages.stream(ask).finalMessage());
  show('streamed', await client.messages.stream(ask).finalMessage());
  show('streamed', await client.messages.stream(ask).finalMessage());
  // A program reads what is asked for with tools: it gets an error rather than a prepared text.
  await client.messages.create({ ...ask, tools }).catch((error) => {
    console.log(`with tools  ${error.status} ${error instanceof RateLimitError ? 'RateLimitError' : error} ${error.type}`);
  });
  for (const { key, inputTokens, outputTokens } of await gate.usage({ scope: 'model' })) {
    const counted = provider.stats().models[key];
    console.log(
      `${key}: charged ${inputTokens} + ${outputTokens}, used ${counted?.inputTokens} + ${counted?.outputTokens} tokens`,
    );
  }
  server.close();
  await gate.close();
  await provider.close();
});

function show(how: string, { model, content, stop_reason }: Anthropic.Message): void {
  const [block] = content;
  console.log(`${how.padEnd(11)} ${model.padEnd(17)} ${stop_reason} "${block?.type === 'text' ? block.text.slice(0, 40) : ''}"`);
}
