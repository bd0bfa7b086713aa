import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import express from 'express';
import OpenAI from 'openai';
import { cachedAnswer, cheaperModel, createSpillway, type Dialect, type Gate, staticAnswer } from 'spillway';
import { spillway } from 'spillway/express';
import { createProvider, type Provider } from 'spillway/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { blocksOf, ROOT } from '../support/docs.js';

const GRANTED = { tokensPerMinute: 10_000, requestsPerMinute: 100 };
const SCRATCH = join(ROOT, '.tmp', `own-dialect-${process.pid}.ts`);

let provider: Provider;
let gate: Gate<'user'>;
let server: Server;

beforeAll(async () => {
  provider = await createProvider({ models: { 'gpt-4o': GRANTED, 'gpt-4o-mini': GRANTED } });
  gate = createSpillway({
    models: {
      'gpt-4o': { budgets: [{ requests: 2, per: 'minute' }], cheaper: ['gpt-4o-mini'] },
      'gpt-4o-mini': { budgets: [{ requests: 1, per: 'minute' }] },
    },
    scopes: { user: { budgets: [{ inputTokens: 100, per: 'call' }] } },
    ladder: [cachedAnswer(), cheaperModel(), staticAnswer('We are busy; please try again shortly.')],
  });
  await gate.ready();
  const dialect = await dialectOfReadme();
  const openai = new OpenAI({ apiKey: 'no-key', baseURL: provider.url, fetch: gate.fetch });
  const app = express();
  app.post('/ask', spillway(gate, { dialect, identify: (req) => ({ user: req.get('x-user') }) }), async (req, res) => {
    const messages = [{ role: 'user' as const, content: req.body.question }];
    const { choices } = await openai.chat.completions.create({ model: 'gpt-4o', messages });
    res.json({ reply: choices[0]?.message.content });
  });
  server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  server?.close();
  await gate?.close();
  await provider?.close();
  rmSync(SCRATCH, { force: true });
});

it('the dialect of README.md gives the whole ladder in its own shape', async () => {
  expect(await ask('One?')).toEqual(['passed', 200, { reply: expect.stringContaining('gpt-4o on "One?"') }]);
  expect(await ask('Two?')).toEqual(['passed', 200, { reply: expect.stringContaining('gpt-4o on "Two?"') }]);
  expect(await ask('One?')).toEqual(['cached', 200, { reply: expect.stringContaining('gpt-4o on "One?"') }]);
  expect(await ask('Three?')).toEqual(['cheaper', 200, { reply: expect.stringContaining('gpt-4o-mini on "Three?"') }]);
  expect(await ask('Four?')).toEqual(['static', 200, { reply: 'We are busy; please try again shortly.' }]);
  expect(await ask('Why? '.repeat(100))).toEqual(['shed', 413, { error: expect.stringContaining('too large') }]);
  expect(await ask('One?', '')).toEqual(['shed', 401, { error: expect.stringContaining('no identity') }]);
});

async function dialectOfReadme(): Promise<Dialect> {
  const block = blocksOf(readFileSync(join(ROOT, 'README.md'), 'utf8')).find(({ text }) =>
    text.includes('const questions: Dialect'),
  );
  mkdirSync(join(ROOT, '.tmp'), { recursive: true });
  writeFileSync(SCRATCH, `${block?.text}\nexport { questions };\n`);
  return (await import(SCRATCH)).questions;
}

async function ask(question: string, user = 'ada'): Promise<[string | null, number, unknown]> {
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/ask`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-user': user },
    body: JSON.stringify({ question }),
  });
  return [response.headers.get('spillway-outcome'), response.status, await response.json()];
}
