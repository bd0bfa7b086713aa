import { expect, it } from 'vitest';
import { runExample } from './run.js';

it('per-route ends each route by its own budget, in its own way', async () => {
  expect(await runExample('per-route')).toEqual([
    expect.stringMatching(/^\/chat +200 passed +200 passed +200 passed +200 static +384 tokens$/),
    expect.stringMatching(/^\/summarize +200 passed +200 passed +402 shed +402 shed +258 tokens$/),
    expect.stringMatching(/^\/embeddings +200 passed +200 passed +200 passed +429 shed +18 tokens$/),
  ]);
});
