import { afterEach, expect, it } from 'vitest';
import { queue } from '../../src/index.js';
import { SDKS } from '../support/clients/sdks.js';
import { type ClientWorld, createClientWorld, MODES, type Mode, PLACES } from '../support/clients/world.js';

let world: ClientWorld;
afterEach(() => world.close());

const QUESTION = 'How deep is the river?';
const CASES = PLACES.flatMap((place) => MODES.map((mode): [...typeof place, Mode] => [...place, mode]));

it.each(CASES)(
  'in a handler on %s, the SDK of %s does not repeat a call by %s that is refused for a short while',
  async (framework, sdkName, mode) => {
    const { model, errors } = SDKS[sdkName];
    const thrown: unknown[] = [];
    world = await createClientWorld(framework, sdkName, {
      options: { models: { [model]: { budgets: [{ requests: 1, per: 30_000 }] } }, ladder: [queue({ waitMs: 200 })] },
      handler({ gate, provider }) {
        const client = SDKS[sdkName].connect(provider.origin, { fetch: gate.fetch });
        return async () => {
          const answered = await client[mode](QUESTION).catch((error: unknown) => {
            thrown.push(error);
            throw error;
          });
          if (Symbol.asyncIterator in answered) for await (const _ of answered);
          return Response.json({});
        };
      },
    });
    const ask = () =>
      fetch(world.origin, {
        method: 'POST',
        body: '{"ask":"it"}',
        headers: { 'content-type': 'application/json', 'x-user': 'ada' },
      });
    await ask();

    const response = await ask();

    expect([response.status, response.headers.get('spillway-outcome')]).toEqual([429, 'shed']);
    expect(thrown).toEqual([expect.any(errors.RateLimitError)]);
    expect((thrown[0] as { headers: Headers }).headers.get('x-should-retry')).toBe('false');
    await world.expectNothingHeld();
    expect(world.refused).toHaveLength(1);
    expect(world.providerCalls()).toBe(1);
  },
);
