import { it } from 'vitest';
import { runExample } from './run.js';
import { expectOneBudget } from './shared-budget.js';

it('two-instances shares one budget between two servers, to the token', async () => {
  expectOneBudget(await runExample('two-instances'));
});
