// The main job, visible: a crowd of 300 asks a server that shares one provider key; first bare, then behind spillway.
import { getEncoding } from 'js-tiktoken';
import { createProvider, type Provider } from 'spillway/testing';
import { bareApp, createDemoGate, GRANTED, governedApp } from './app.js';
import { type Listening, listen, sendCrowd } from './crowd.js';
import { printReports, type RunReport } from './report.js';

const USERS = 300;
const OVER_MS = 20_000;
const HEADROOM = 0.9;

/** A provider that reports usage as OpenAI does: counted by the model's own vocabulary. */
function startProvider(): Promise<Provider> {
  const encoding = getEncoding('o200k_base');
  return createProvider({
    models: GRANTED,
    outputTokens: 150,
    firstTokenMs: 200,
    msPerToken: 4,
    countInput: ({ messages }) => messages.reduce((sum, { content }) => sum + encoding.encode(String(content)).length + 4, 3),
  });
}

async function measure(
  title: string,
  overMs: number,
  start: (provider: Provider) => Promise<Listening & { used?: () => Promise<number> }>,
): Promise<RunReport> {
  const provider = await startProvider();
  const server = await start(provider);
  console.log(
    `${title}: ${USERS} users, three calls each, ${overMs > 0 ? `arriving over ${overMs / 1_000} s` : 'all at once'} ...`,
  );
  const received = await sendCrowd(server.url, USERS, overMs);
  const { calls, refused429 } = provider.stats();
  const usedRatio = await server.used?.();
  await server.close();
  await provider.close();
  return { title, received, providerCalls: calls, provider429: refused429, usedRatio };
}

async function startGoverned(provider: Provider): Promise<Listening & { used: () => Promise<number> }> {
  const lines: object[] = [];
  const gate = createDemoGate((line) => lines.push(line));
  await gate.ready();
  const server = await listen(governedApp(provider.url, 'demo-key', gate));
  return {
    url: server.url,
    async used() {
      const first = (await gate.usage({ scope: 'model', top: 10 })).find(({ key }) => key === 'gpt-4o');
      return ((first?.inputTokens ?? 0) + (first?.outputTokens ?? 0)) / (GRANTED['gpt-4o'].tokensPerMinute * HEADROOM);
    },
    async close() {
      await server.close();
      await gate.close();
      const last = lines.findLast((line) => 'outcome' in line);
      console.log(`  one line of its log: ${JSON.stringify(last)}`);
    },
  };
}

async function compare(): Promise<void> {
  console.log('A stand-in provider grants gpt-4o 100,000 tokens a minute, gpt-4o-mini 400,000. Nothing leaves this machine.\n');
  const spread = [
    await measure('bare route', OVER_MS, async (provider) => listen(bareApp(provider.url, 'demo-key'))),
    await measure('spillway', OVER_MS, startGoverned),
    await measure('spillway, all at once', 0, startGoverned),
  ];
  printReports(spread);
  console.log(
    '\nThe crowd asks for about 1.1 million tokens; a minute grants 450,000 after headroom. The rest gets a prepared answer.',
  );
}

/** Keeps a governed server up, in front of a real provider when a key is given. */
async function serve(): Promise<void> {
  const key = process.env.OPENAI_API_KEY;
  const provider = key ? undefined : await startProvider();
  const baseURL = provider?.url ?? process.env.OPENAI_BASE_URL ?? 'https://api.openai.com/v1';
  const gate = createDemoGate((line) => console.log(JSON.stringify(line)));
  await gate.ready();
  const server = await listen(governedApp(baseURL, key ?? 'demo-key', gate), Number(process.env.PORT ?? 0));
  console.log(`Listening; calls go to ${provider ? 'the stand-in provider' : baseURL}. Try:\n`);
  console.log(
    `curl -i ${server.url}/api/chat -H 'content-type: application/json' -H 'x-demo-user: ada' -H 'x-demo-organization: acme' \\`,
  );
  console.log(`  -d '{"model":"gpt-4o","messages":[{"role":"user","content":"Hello?"}]}'\n`);
  process.once('SIGINT', async () => {
    await server.close();
    await gate.close();
    await provider?.close();
  });
}

await (process.argv.includes('--serve') ? serve() : compare());
