import { beforeEach, describe, expect, it } from 'vitest';
import { spillwayOf } from '../adapters/express.js';
import { cheaperModel, type Passage, queue } from '../src/index.js';
import { chat, createOutbound, type Outbound, post } from './support/outbound.js';
import { serve } from './support/served.js';

let outbound: Outbound;
beforeEach(async () => {
  outbound = await createOutbound();
  return () => outbound.close();
});

const asked = chat('How deep is the river?', { max_tokens: 30 });
const usage = { prompt_tokens: 9, completion_tokens: 4 };

function oneCall(tokens: number) {
  return { 'model gpt-4o tokens': tokens, 'model gpt-4o requests': 1, 'user ada tokens': tokens, 'user ada requests': 1 };
}
function provided(): number {
  const { inputTokens = 0, outputTokens = 0 } = outbound.provider.stats().models['gpt-4o'] ?? {};
  return inputTokens + outputTokens;
}

describe('a handler that knows better', () => {
  async function sumsAfter(handler: (passage: Passage) => unknown, body: object = asked) {
    const served = await serve(outbound.gate, {}, async (req, res) => {
      await handler(spillwayOf(req));
      res.json({ choices: [], usage });
    });
    const response = await served.ask('ada', body);
    await served.close();
    expect(response.status).toBe(200);
    return outbound.sums();
  }

  it('settles at its own word, the last one, and not at what its response says', async () => {
    const sums = await sumsAfter(({ settle }) => {
      settle({ inputTokens: 1, outputTokens: 1 });
      settle({ inputTokens: 100, outputTokens: 20 });
    });

    expect(sums).toEqual(oneCall(120));
  });

  it('settles by the estimate where its word says nothing', async () => {
    const sums = await sumsAfter(({ settle }) => settle({ outputTokens: 20 }));

    expect(sums).toEqual(oneCall((outbound.settled[0]?.estimatedInputTokens ?? 0) + 20));
  });

  it('cancels, and gets everything back', async () => {
    expect(await sumsAfter(({ cancel }) => cancel())).toEqual({});
  });

  it('cancels, and keeps what its calls have used', async () => {
    const sums = await sumsAfter(async ({ fetch, cancel }) => {
      await (await fetch(outbound.url, post(asked))).json();
      cancel();
    });

    expect(sums['model gpt-4o tokens']).toBe(provided());
    expect(sums['user ada tokens']).toBe(provided());
  });

  it('settles a request whose call nobody could read', async () => {
    const sums = await sumsAfter(({ settle }) => settle({ inputTokens: 100, outputTokens: 20 }), { text: 'hello' });

    expect(sums).toEqual({ 'user ada tokens': 120, 'user ada requests': 1 });
  });

  it('sees what it was given: models, estimate, what its own budgets have left, and the worst outcome so far', async () => {
    await outbound.close();
    outbound = await createOutbound({
      models: { 'gpt-4o': { budgets: [{ requests: 0, per: 'hour' }], cheaper: ['gpt-4o-mini'] }, 'gpt-4o-mini': {} },
      scopes: { user: { budgets: [{ tokens: 1_000, per: 'hour' }] } },
      ladder: [queue({ waitMs: 1 }), cheaperModel()],
    });
    let seen: object = {};
    await sumsAfter(({ outcome, requestedModel, model, estimate, remaining, identity }) => {
      seen = { outcome, requestedModel, model, estimate, remaining, identity };
    });

    const inputTokens = outbound.settled[0]?.estimatedInputTokens ?? 0;
    const heldInputTokens = inputTokens + Math.ceil(inputTokens * 0.1);
    expect(seen).toEqual({
      outcome: 'cheaper',
      requestedModel: 'gpt-4o',
      model: 'gpt-4o-mini',
      estimate: { inputTokens, heldInputTokens, outputTokens: 30 },
      remaining: [{ scope: 'user', dimension: 'tokens', limit: 1_000, remaining: 1_000 - heldInputTokens - 30 }],
      identity: { user: 'ada' },
    });
  });
});
