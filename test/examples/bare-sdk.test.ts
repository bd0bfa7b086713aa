import { expect, it } from 'vitest';
import { runExample } from './run.js';

it('bare-sdk charges what the provider counted: by the response, by the word of the handler, by gate.run', async () => {
  expect(await runExample('bare-sdk')).toEqual([
    expect.stringMatching(/^\/as-it-comes +Why\? +passed +charged ([1-9]\d*), provider counted \1$/),
    expect.stringMatching(/^\/reply +Why\? +passed +charged ([1-9]\d*), provider counted \1$/),
    expect.stringMatching(/^\/reply +When do you open\? +passed +charged 0, provider counted 0$/),
    expect.stringMatching(/^\/axios +Why\? +passed +charged ([1-9]\d*), provider counted \1$/),
    expect.stringMatching(/^\/axios +Why not\? +static +charged 0, provider counted 0$/),
  ]);
});
