// A process that uses a gate and forgets it. Ends by itself, or the test fails.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSpillway, queue } from '../../../src/index.js';

const server = createServer((_req, res) => {
  res.setHeader('content-type', 'application/json');
  res.end(JSON.stringify({ usage: { prompt_tokens: 9, completion_tokens: 4 } }));
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/chat/completions`;
const gate = createSpillway({
  models: { 'gpt-4o': { budgets: [{ tokens: 100_000, per: 'minute' }, { concurrent: 1 }] } },
  ladder: [queue({ waitMs: 3_600_000 })],
});
const body = JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello?' }] });
const ask = async () => (await gate.fetch(url, { method: 'POST', headers: { connection: 'close' }, body })).json();
const answers = await Promise.all([ask(), ask(), ask()]);
// One more whose answer nobody reads.
await gate.fetch(url, { method: 'POST', headers: { connection: 'close' }, body });
server.close();
server.closeAllConnections();

console.log(JSON.stringify({ answers: answers.length }));
