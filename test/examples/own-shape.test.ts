import { expect, it } from 'vitest';
import { runExample } from './run.js';

it('own-shape tells everything, from answers to refusals, by the events of the application', async () => {
  expect(await runExample('own-shape')).toEqual([
    expect.stringMatching(/^a question +200 "This is gpt-4o on .+" done {"outcome":"passed"}$/),
    expect.stringMatching(/^its history goes along +200 "This is gpt-4o on .+" done {"outcome":"passed"}$/),
    '  the provider was sent ["user","user, assistant, user"]',
    expect.stringMatching(/^full, asked before +200 "This is gpt-4o on .+" done {"outcome":"cached"}$/),
    expect.stringMatching(/^full, not asked before +200 "We are busy; please try again shortly." done {"outcome":"static"}$/),
    expect.stringMatching(/^can never fit +413 error {"message":"Your message is too long."}$/),
    expect.stringMatching(/^nobody is named +401 error {"message":"This request carries no identity for: user.+"}$/),
  ]);
});
