import { expect, it } from 'vitest';
import { runExample } from './run.js';
import { expectOneBudget } from './shared-budget.js';

it('cluster shares one budget between two servers, to the token, with all keys on one master', async () => {
  const lines = await runExample('cluster');

  expectOneBudget(lines.slice(0, -1));
  const [, counts = '', owner = ''] =
    /^keys on the masters: ([\d, ]+); \{spillway\} belongs to the (\w+)$/.exec(lines.at(-1) ?? '') ?? [];
  const filled = counts.split(', ').map((count) => Number(count) > 0);
  expect(filled).toEqual(['first', 'second', 'third'].map((name) => name === owner));
});
