import { afterEach, describe, expect, it } from 'vitest';
import type { Ending, Usage } from '../../src/call.js';
import { openaiChat } from '../../src/dialects/openai-chat.js';
import { staticAnswer } from '../../src/ladder/static-answer.js';
import type { Step } from '../../src/ladder/step.js';
import type { EstimateState } from '../../src/learning/learning.js';
import type { Options } from '../../src/options.js';
import { createTestCore, createTestGate } from '../support/gate.js';
import { createOutbound, post } from '../support/outbound.js';
import { listen, tokens } from '../support/runs.js';
import { serve } from '../support/served.js';

const TEXT = 'How deep is the river at the bridge, and how deep was it a year ago?';
const chat = (fields: object = {}, model = 'gpt-4o') => ({ model, messages: [{ role: 'user', content: TEXT }], ...fields });
const IMAGE = { type: 'image_url', image_url: { url: 'https://example.com/river.png' } };

/** A core whose calls are estimated with a tenth on top, and answered as told. */
async function createRoute(options: Options<string> = {}) {
  const test = createTestCore({ overheadRatio: 0.1, models: { 'gpt-4o': {}, 'gpt-4o-mini': {} }, ...options });
  await test.core.tokenizer.ready(['o200k_base']);
  const draft = (body: object = chat(), facts: { route?: string; identity?: Record<string, string> } = {}) =>
    test.core.draft(test.visitIn({ route: 'chat', ...facts }), openaiChat, openaiChat.read(body), body);

  /** Makes a call that ends as told; its prompt takes `ratio` times what was estimated before any correction. */
  async function ask(
    {
      body,
      ratio,
      usage,
      ...ending
    }: Omit<Partial<Ending>, 'usage'> & { body?: object; ratio?: number; usage?: Partial<Usage> } = {},
    facts: Parameters<typeof draft>[1] = {},
  ) {
    const call = draft(body, facts);
    const inputTokens = ratio === undefined ? undefined : Math.round((call.uncorrected?.inputTokens ?? call.inputTokens) * ratio);
    const reported = { inputTokens, outputTokens: undefined, ...usage };
    const ended = Promise.resolve({ by: 'done', status: 200, sentOutputTokens: undefined, usage: reported, ...ending } as const);
    await test.core.run(call, async () => ({ value: undefined, ended }));
    await ended;
  }

  async function askOften(times: number, ...given: Parameters<typeof ask>): Promise<void> {
    for (let call = 0; call < times; call++) await ask(...given);
  }
  return { ...test, draft, ask, askOften, states: () => test.core.learning?.states() ?? [] };
}

describe('input', () => {
  it('is corrected by what calls of the same route and model really took, and by nothing else', async () => {
    const { draft, askOften } = await createRoute();
    const before = draft();

    await askOften(50, { ratio: 2 });

    const { inputTokens, heldInputTokens } = draft();
    expect(before.heldInputTokens).toBe(Math.ceil(before.inputTokens * 1.1));
    expect([inputTokens, heldInputTokens]).toEqual([2 * before.inputTokens, 2 * before.inputTokens]);
    for (const other of [draft(chat(), { route: 'other' }), draft(chat({}, 'gpt-4o-mini'))])
      expect([other.inputTokens, other.heldInputTokens]).toEqual([before.inputTokens, before.heldInputTokens]);
  });

  it('is held with nearly no overhead where it is counted exactly', async () => {
    const { draft, askOften } = await createRoute();

    await askOften(50, { ratio: 1 });

    expect(draft().heldInputTokens).toBe(draft().inputTokens);
    expect(draft().inputTokens).toBe(draft().uncorrected?.inputTokens);
  });

  it('with images is learned apart: their errors do not widen the margin of text', async () => {
    const { draft, ask, states } = await createRoute();
    const image = { body: chat({ messages: [{ role: 'user', content: [{ type: 'text', text: TEXT }, IMAGE] }] }) };

    for (let call = 0; call < 60; call++) {
      await ask({ ratio: 1 });
      await ask({ ...image, ratio: call % 2 === 0 ? 0.5 : 1.5 });
    }

    expect(draft().heldInputTokens).toBe(draft().inputTokens);
    const { inputTokens, heldInputTokens } = draft(image.body);
    expect(heldInputTokens / inputTokens).toBeGreaterThan(1.4);
    expect(states().map(({ prompt }) => prompt)).toEqual(['counted', 'media']);
  });

  it('is learned for nobody when a provider reports none, or fails', async () => {
    const { askOften, states } = await createRoute();

    await askOften(30, { usage: { outputTokens: 5 } });
    await askOften(30, { ratio: 3, status: 500 });

    expect(states()).toEqual([]);
  });

  it('that was learned to be larger makes no call impossible: nobody could learn any more that it fits', async () => {
    const limit = 60;
    const { core, draft } = await createRoute({
      models: { 'gpt-4o': { budgets: [tokens(limit), { inputTokens: limit, per: 'call' }] } },
    });
    for (let call = 0; call < 50; call++)
      core.learning?.learn(draft(), { inputTokens: 3 * draft().inputTokens, outputTokens: 1, isCut: false });
    const call = draft();

    const ended = Promise.resolve({ by: 'done', status: 200, sentOutputTokens: 1 } as const);
    const outcome = await core.run(call, async () => ({ value: undefined, ended }));

    expect(call.inputTokens).toBeGreaterThan(limit);
    expect(outcome.kind).toBe('passed');
  });
});

describe('output', () => {
  const answered = (outputTokens: number, facts: object = {}) => ({ usage: { outputTokens }, ...facts });

  it('is the smaller of the declared maximum and 512 before ten answers, then what nine in ten took', async () => {
    const { draft, ask, askOften } = await createRoute();
    await askOften(9, answered(40));
    expect(draft().expectedOutputTokens).toBe(512);

    await ask(answered(40));

    expect(draft().expectedOutputTokens).toBe(128);
    await askOften(60, answered(2_000));
    expect(draft().expectedOutputTokens).toBe(2_000);
  });

  it('is never more than the call declares', async () => {
    const { draft, askOften } = await createRoute();
    await askOften(10, answered(900));

    expect(draft(chat({ max_tokens: 300 })).expectedOutputTokens).toBe(300);
    expect(draft(chat({ max_tokens: 300, n: 2 })).expectedOutputTokens).toBe(600);
    expect(draft(chat({ max_tokens: 5_000, n: 2 })).expectedOutputTokens).toBe(1_800);
  });

  it('is learned for one choice when several are asked for', async () => {
    const { draft, askOften } = await createRoute();

    await askOften(10, answered(600, { body: chat({ n: 3 }) }));

    expect(draft().expectedOutputTokens).toBe(200);
    expect(draft(chat({ n: 5 })).expectedOutputTokens).toBe(1_000);
  });

  it('is not lowered by answers that were cut: by callers that left, broken streams, or their maximum', async () => {
    const { draft, askOften } = await createRoute();
    await askOften(20, answered(400));

    for (const by of ['left', 'stalled', 'failed'] as const)
      await askOften(60, answered(7, { by, body: chat({ stream: true }) }));
    await askOften(60, answered(20, { body: chat({ max_tokens: 20 }) }));

    expect(draft().expectedOutputTokens).toBe(400);
  });

  it('is raised by answers that were cut beyond it', async () => {
    const { draft, askOften } = await createRoute();
    await askOften(20, answered(400));

    await askOften(30, answered(1_500, { by: 'left', body: chat({ stream: true }) }));

    expect(draft().expectedOutputTokens).toBe(1_500);
  });

  it('learned from short answers makes it no cheaper to leave before a long one is done', async () => {
    const { draft, core, askOften, used } = await createRoute({
      models: { 'gpt-4o': { budgets: [{ outputTokens: 10_000, per: 'minute' }] } },
    });
    await askOften(20, answered(2));
    const before = await used('model|gpt-4o|outputTokens;60000');

    const ended = Promise.resolve({ by: 'left', status: 200, sentOutputTokens: 0 } as const);
    await core.run(draft(), async () => ({ value: undefined, ended }));
    await ended;

    expect((await used('model|gpt-4o|outputTokens;60000')) - before).toBe(512);
  });
});

describe('a call', () => {
  it('inside a request teaches once', async () => {
    const { draft, core, visitIn, states } = await createRoute();
    const usage = { inputTokens: 40, outputTokens: 9 };
    const ended = Promise.resolve({ by: 'done', status: 200, usage, sentOutputTokens: undefined } as const);
    const inner = () => core.run(draft(), async () => ({ value: undefined, ended }));

    await core.run(
      core.draft(visitIn({ route: 'chat' }), openaiChat, openaiChat.read(chat()), chat()),
      async () => {
        await inner();
        await inner();
        return { value: undefined, ended };
      },
      { kind: 'request' },
    );
    await ended;

    expect(states()).toMatchObject([{ calls: 2, answers: 2 }]);
  });

  it('that a cache or a static text answers teaches nothing', async () => {
    const usage = { inputTokens: 90, outputTokens: 900 };
    const kept: Step = {
      name: 'kept',
      canHelp: () => true,
      attempt: async () => ({ kind: 'cached', model: 'gpt-4o', text: 'Deep.', usage }),
    };
    for (const step of [kept, staticAnswer('busy')]) {
      const { gate } = createTestGate({ ladder: [step], models: { 'gpt-4o': { budgets: [tokens(700)] } } });
      const answer = { usage: { prompt_tokens: 30, completion_tokens: 600 } };
      const kinds: string[] = [];
      for (let call = 0; call < 20; call++) kinds.push((await gate.run({ body: chat() }, async () => answer)).kind);

      const { estimates } = await gate.snapshot();

      expect(kinds[0]).toBe('passed');
      expect(new Set(kinds.slice(1))).toEqual(new Set([step === kept ? 'cached' : 'static']));
      expect(estimates).toMatchObject([{ calls: 1, answers: 1 }]);
    }
  });

  it('of a handler behind a mount teaches its route, once', async () => {
    const outbound = await createOutbound({}, { countInput: () => 75 });
    const served = await serve(outbound.gate, { route: 'chat' }, async (_req, res) => {
      const answer = await outbound.gate.fetch(outbound.url, post(chat()));
      res.json(await answer.json());
    });
    for (let call = 0; call < 50; call++) await served.ask('ann', chat());

    const { estimates } = await outbound.gate.snapshot();
    await served.close();
    await outbound.close();

    expect(estimates).toMatchObject([
      { route: 'chat', model: 'gpt-4o', calls: 50, answers: 50, inputRatio: expect.closeTo(3), outputTokens: 12 },
    ]);
  });

  it('with a name that is no model, or is made up, pushes out nothing', async () => {
    const { ask, askOften, draft, states } = await createRoute();
    await askOften(50, { ratio: 2 });
    const before = draft().inputTokens;

    for (let call = 0; call < 1_500; call++) await ask({ ratio: 1, body: chat({}, `made-up-${call}`) });
    await ask({ ratio: 1, body: chat({}, 'a secret of mine') });
    await ask({ ratio: 1, body: chat({}, 'x'.repeat(2_000)) });

    expect(draft().inputTokens).toBe(before);
    expect(states()).toHaveLength(101);
    expect(states()[0]).toMatchObject({ model: 'gpt-4o', calls: 50 });
    expect(JSON.stringify(states())).not.toMatch(/secret|xxxx/);
  });
});

describe('a snapshot', () => {
  it('shows what is learned: figures, no identity, no text', async () => {
    const { gate } = createTestGate({ models: { 'gpt-4o': {} }, scopes: { user: { budgets: [], optional: true } } });
    await gate.ready();
    const body = chat({ user: 'ann@example.com' });
    for (let call = 0; call < 60; call++)
      await gate.as({ user: 'ann@example.com' }).run({ body }, async () => ({
        usage: { prompt_tokens: 50, completion_tokens: 100 },
      }));

    const { estimates } = await gate.snapshot();

    expect(estimates).toEqual([
      {
        route: undefined,
        model: 'gpt-4o',
        prompt: 'counted',
        calls: 60,
        inputRatio: 2,
        inputSpread: 0,
        overheadRatio: 0,
        outputTokens: 100,
        answers: 60,
      } satisfies EstimateState,
    ]);
    expect(JSON.stringify(estimates)).not.toMatch(/ann|river/);
  });

  it('is the same as before with nothing learned when calibration is off', async () => {
    const { core, draft, askOften } = await createRoute({ calibration: false });
    const before = draft();

    await askOften(60, { ratio: 2, usage: { outputTokens: 9 } });

    expect(core.learning).toBeUndefined();
    const { inputTokens, heldInputTokens, expectedOutputTokens, uncorrected } = draft();
    expect([inputTokens, heldInputTokens]).toEqual([before.inputTokens, before.heldInputTokens]);
    expect([expectedOutputTokens, uncorrected]).toEqual([512, undefined]);
  });
});

describe('the event estimate-calibrated', () => {
  const gates: { close(): Promise<void> }[] = [];
  afterEach(() => Promise.all(gates.splice(0).map((gate) => gate.close())));

  it('tells when a correction has moved by over a tenth, at most once a minute', async () => {
    const { gate, clock } = createTestGate({ models: { 'gpt-4o': {} }, overheadRatio: 0.1 });
    gates.push(gate);
    await gate.ready();
    const told = listen(gate, 'estimate-calibrated') as EstimateState[];
    const ask = async (promptTokens: number, times: number) => {
      for (let call = 0; call < times; call++)
        await gate.run({ body: chat() }, async () => ({ usage: { prompt_tokens: promptTokens, completion_tokens: 5 } }));
    };

    await ask(46, 60);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ route: undefined, model: 'gpt-4o', prompt: 'counted' });
    expect(told[0]?.inputRatio).toBeGreaterThan(1.04);

    await clock.advance(60_000);
    await ask(46, 1);
    expect(told).toHaveLength(2);
    expect(told[1]).toMatchObject({ calls: 61, overheadRatio: 0, outputTokens: 5 });

    await clock.advance(60_000);
    await ask(47, 60);
    expect(told).toHaveLength(2);
  });
});
