import { expect, it } from 'vitest';
import { runExample } from './run.js';

it('anthropic gives messages at each step of the ladder, whole and streamed, and charges what the provider counted', async () => {
  expect(await runExample('anthropic')).toEqual([
    expect.stringMatching(/^whole +claude-sonnet-5-5 +end_turn "This is claude-sonnet-5-5 .+"$/),
    expect.stringMatching(/^streamed +claude-sonnet-5-5 +end_turn "This is claude-sonnet-5-5 .+"$/),
    expect.stringMatching(/^streamed +claude-haiku-5-5 +end_turn "This is claude-haiku-5-5 .+"$/),
    expect.stringMatching(/^streamed +spillway-static +end_turn "We are busy; please try again shortly."$/),
    expect.stringMatching(/^with tools +429 RateLimitError rate_limit_error$/),
    expect.stringMatching(/^claude-sonnet-5-5: charged (\d+ \+ \d+), used \1 tokens$/),
    expect.stringMatching(/^claude-haiku-5-5: charged (\d+ \+ \d+), used \1 tokens$/),
  ]);
});
