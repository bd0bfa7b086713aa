// A chat of one's own shape: { message, conversationId } in, one's own events out. What a model says, what the cache kept, what
// was prepared and what is refused all reach the browser as the same three events.
import { cachedAnswer, createSpillway, staticAnswer } from 'spillway';
import { createProvider } from 'spillway/testing';
import { createApp } from './app.js';

const provider = await createProvider({ models: { 'gpt-4o': { tokensPerMinute: 10_000, requestsPerMinute: 100 } } });
const gate = createSpillway({
  models: { 'gpt-4o': { budgets: [{ requests: 2, per: 'minute' }] } },
  scopes: {
    user: {
      budgets: [
        { tokens: 20_000, per: 'minute' },
        { inputTokens: 1_000, per: 'call' },
      ],
    },
  },
  ladder: [cachedAnswer(), staticAnswer('We are busy; please try again shortly.')],
});
await gate.ready();

const server = createApp(gate, provider.url).listen(0, '127.0.0.1', async () => {
  const { port } = server.address() as { port: number };
  const say = async (title: string, user: string, conversationId: string, message: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/chat`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-user': user },
      body: JSON.stringify({ message, conversationId }),
    });
    console.log(`${title.padEnd(28)} ${response.status} ${inShort(await response.text())}`);
  };
  await say('a question', 'ada', 'monday', 'Where does the water go?');
  await say('its history goes along', 'ada', 'monday', 'And then?');
  console.log(`  the provider was sent ${JSON.stringify(provider.requests.map(({ body }) => rolesOf(body)))}`);
  await say('full, asked before', 'ada', 'tuesday', 'Where does the water go?');
  await say('full, not asked before', 'ada', 'tuesday', 'Who built the dam?');
  await say('can never fit', 'ada', 'tuesday', 'And then? '.repeat(1_000));
  await say('nobody is named', '', 'tuesday', 'Hello?');
  server.close();
  await gate.close();
  await provider.close();
});

/** What a browser read: how many tokens came, the beginning of their text, and the event that ended it. */
function inShort(events: string): string {
  const read = [...events.matchAll(/event: (\w+)\ndata: (.*)\n\n/g)].map(([, name, data]) => ({
    name,
    ...JSON.parse(data ?? ''),
  }));
  const text = read.map((one) => one.text ?? '').join('');
  const { name, ...last } = read.at(-1);
  return `${text ? `"${text.slice(0, 38)}" ` : ''}${name} ${JSON.stringify(last)}`;
}

function rolesOf(body: unknown): string {
  return (body as { messages: { role: string }[] }).messages.map(({ role }) => role).join(', ');
}
