import { describe, expect, it } from 'vitest';
import { type BudgetOptions, cheaperModel, type Jobs, type Options, type Price } from '../../src/index.js';
import { bodyOf, createPause, createTestGate, INPUT, MINUTE } from '../support/gate.js';
import { kindOf, reasonOf } from '../support/runs.js';
import { settled } from '../support/virtual-clock.js';

const DAY = { kind: 'calendar', unit: 'day', timeZone: 'UTC' } as const;
const DAY_MS = 86_400_000;
const PRICE: Price = { input: 2.5, cachedInput: 1.25, cacheWrite: 3.125, output: 10 };

/** Users with these budgets; two models, the second a tenth as dear. */
function createShop(budgets: readonly BudgetOptions[], options: Options<string> = {}) {
  const test = createTestGate({
    models: {
      'gpt-4o': { cheaper: ['gpt-4o-mini'], usdPerMillion: PRICE },
      'gpt-4o-mini': { usdPerMillion: { input: 0.25, output: 1 } },
    },
    unknownModel: 'refuse',
    scopes: { user: { budgets, optional: true } },
    ladder: [],
    ...options,
  });
  /** What ann has spent today, in micro-dollars. */
  const spent = (window: string = 'day@UTC') => test.used(`user|ann|usd;${window}`, window === 'day@UTC' ? DAY : MINUTE);
  const ann = () => test.gate.as({ user: 'ann' });
  return { ...test, spent, ann };
}

/** A call of `tokens` at most, answered with this usage. */
const buy = (by: Pick<Jobs, 'run'>, tokens: number, usage: object, model?: string) =>
  by.run({ body: bodyOf(tokens, model) }, async () => ({ usage }));

describe('a money budget', () => {
  it('holds the worst that was declared, and refunds what the real usage left of it, to the micro-dollar', async () => {
    const { ann, spent } = createShop([{ usd: 1, per: 'day' }]);
    let held = 0;

    await ann().run({ body: bodyOf(INPUT + 97) }, async () => {
      held = await spent();
      return { usage: { prompt_tokens: 3, completion_tokens: 21 } };
    });

    expect(held).toBe(Math.ceil(INPUT * 2.5 + 97 * 10));
    expect(await spent()).toBe(218); // 3 * 2.5 + 21 * 10 = 217.5
  });

  it('keeps what was spent beyond the hold as debt, and refuses until its day is over', async () => {
    const { ann, spent, clock } = createShop([{ usd: 0.001, per: 'day' }]);
    await clock.advance(3_600_000);

    await buy(ann(), INPUT + 50, { prompt_tokens: 400, completion_tokens: 100 });
    expect(await spent()).toBe(2_000);
    const refused = await buy(ann(), INPUT + 1, { prompt_tokens: 1, completion_tokens: 1 });

    expect(refused).toMatchObject({ kind: 'shed', refusal: { reason: 'full', waitMs: DAY_MS - 3_600_000 } });
    await clock.advance(DAY_MS - 3_600_000);
    expect(kindOf(await buy(ann(), INPUT + 1, { prompt_tokens: 3, completion_tokens: 1 }))).toBe('passed');
    expect(await spent()).toBe(18);
  });

  it('lets a call through that spends it to the last micro-dollar, and then not one more', async () => {
    const { ann, spent } = createShop([{ usd: 0.001_008, per: 'day' }]);
    const all = { prompt_tokens: INPUT, completion_tokens: 100 };

    expect(kindOf(await buy(ann(), INPUT + 100, all))).toBe('passed');
    expect(await spent()).toBe(1_008);

    expect(reasonOf(await buy(ann(), INPUT + 1, all))).toBe('full');
    expect(await spent()).toBe(1_008);
  });

  it('holds money that passes now and is not there for a call beside it', async () => {
    const { ann } = createShop([{ usd: 0.001_5, per: 'minute' }]);
    const pause = createPause();
    const running = ann().run({ body: bodyOf(INPUT + 100) }, async () => {
      await pause.during();
      return { usage: { prompt_tokens: 3, completion_tokens: 1 } };
    });
    await settled();

    expect(reasonOf(await buy(ann(), INPUT + 100, {}))).toBe('full');
    await pause.end();
    await running;

    expect(kindOf(await buy(ann(), INPUT + 100, {}))).toBe('passed');
  });

  it('never fits a call whose declared output alone costs more, which says so at once', async () => {
    const { ann, sent } = createShop([{ usd: 0.001, per: 'day' }]);

    expect(reasonOf(await buy(ann(), INPUT + 100, {}))).toBe('never-fits');
    expect(sent).toEqual([]);
  });

  it('gives everything back, the price of the request too, when the call fails', async () => {
    const { ann, spent } = createShop([{ usd: 1, per: 'day' }], {
      models: { 'gpt-4o': { usdPerMillion: { ...PRICE, perRequest: 0.01 } } },
    });

    await expect(ann().run({ body: bodyOf(100) }, () => Promise.reject(new Error('down')))).rejects.toThrow('down');

    expect(await spent()).toBe(0);
  });

  it('is kept to by a cap on one call: the body that is sent may cost no more', async () => {
    const { ann } = createShop([{ usd: 0.001, per: 'call' }]);
    let sent: { max_tokens?: number } = {};

    await ann().run({ body: bodyOf(INPUT + 5_000) }, async ({ body }) => {
      sent = body as never;
      return { usage: { prompt_tokens: INPUT, completion_tokens: sent.max_tokens } };
    });

    expect(sent.max_tokens).toBe(Math.floor((1_000 - Math.ceil(INPUT * 2.5)) / 10));
  });

  it('is spent at the price of the model that was really asked', async () => {
    const { ann, spent } = createShop([{ usd: 0.000_2, per: 'day' }], { ladder: [cheaperModel()] });

    const outcome = await buy(ann(), INPUT + 100, { prompt_tokens: INPUT, completion_tokens: 100 });

    expect(kindOf(outcome)).toBe('cheaper');
    expect(await spent()).toBe(101); // 3 * 0.25 + 100 * 1
  });
});

describe('the parts of a price', () => {
  const chat = (usage: object) => ({ usage });
  const claude = { model: 'claude', max_tokens: 900, messages: [{ role: 'user', content: 'How deep is the river?' }] };

  it.each<[part: string, price: Price, usage: object, microUsd: number]>([
    ['input', { input: 3, output: 0 }, { prompt_tokens: 1_000, completion_tokens: 50 }, 3_000],
    ['output', { input: 0, output: 12 }, { prompt_tokens: 1_000, completion_tokens: 50 }, 600],
    [
      'reasoning, which is part of the output and not paid twice',
      { input: 0, output: 12 },
      { prompt_tokens: 10, completion_tokens: 500, completion_tokens_details: { reasoning_tokens: 450 } },
      6_000,
    ],
    [
      'cached input',
      { input: 2, cachedInput: 0.5, output: 0 },
      { prompt_tokens: 1_000, completion_tokens: 0, prompt_tokens_details: { cached_tokens: 600 } },
      400 * 2 + 600 * 0.5,
    ],
    [
      'cached input that has no price of its own',
      { input: 2, output: 0 },
      { prompt_tokens: 1_000, completion_tokens: 0, prompt_tokens_details: { cached_tokens: 600 } },
      2_000,
    ],
    ['each request', { input: 0, output: 0, perRequest: 0.025 }, { prompt_tokens: 10, completion_tokens: 5 }, 25_000],
  ])('charge %s', async (_, usdPerMillion, usage, microUsd) => {
    const { ann, spent, gate } = createShop([{ usd: 1, per: 'day' }], { models: { 'gpt-4o': { usdPerMillion } } });

    await ann().run({ body: bodyOf(INPUT + 900) }, async () => chat(usage));

    await settled();
    expect(await spent()).toBe(microUsd);
    expect(await gate.usage({ scope: 'user' })).toMatchObject([{ key: 'ann', usd: microUsd / 1_000_000 }]);
  });

  it('charge what Claude read from its cache and wrote to it, which are told beside the input', async () => {
    const usdPerMillion = { input: 3, cachedInput: 0.3, cacheWrite: 3.75, output: 15 };
    const { ann, spent } = createShop([{ usd: 1, per: 'day' }], { models: { claude: { usdPerMillion } } });
    const usage = { input_tokens: 200, cache_read_input_tokens: 1_000, cache_creation_input_tokens: 400, output_tokens: 10 };

    await ann().run({ dialect: 'anthropic-messages', body: claude }, async () => ({ type: 'message', role: 'assistant', usage }));

    expect(await spent()).toBe(200 * 3 + 1_000 * 0.3 + 400 * 3.75 + 10 * 15);
  });

  it('charge embeddings for their input alone', async () => {
    const embedder = 'text-embedding-3-small';
    const { ann, spent } = createShop([{ usd: 1, per: 'day' }], {
      models: { [embedder]: { usdPerMillion: { input: 0.02, output: 99 } } },
    });
    let held = 0;

    await ann().run({ dialect: 'openai-embeddings', body: { model: embedder, input: 'word '.repeat(500) } }, async () => {
      held = await spent();
      return { object: 'list', data: [], model: embedder, usage: { prompt_tokens: 500, total_tokens: 500 } };
    });

    expect(held).toBeLessThanOrEqual(11);
    expect(await spent()).toBe(10);
  });
});

describe('a model without a price', () => {
  it('is charged at the default price, and one that has its own at that', async () => {
    const { ann, spent } = createShop([{ usd: 1, per: 'day' }], {
      models: { 'gpt-4o': { usdPerMillion: PRICE }, 'gpt-4o-mini': {} },
      defaultPrice: { input: 1, output: 4 },
      unknownModel: 'count',
    });
    const usage = { prompt_tokens: 100, completion_tokens: 10 };
    const seen: number[] = [];

    for (const model of ['gpt-4o', 'gpt-4o-mini', 'in-no-list']) {
      await buy(ann(), 100, usage, model);
      seen.push(await spent());
    }

    expect(seen).toEqual([350, 350 + 140, 350 + 140 + 140]);
  });

  it('is a fault in options where money may meet it', () => {
    const usd = [{ usd: 1, per: 'day' }] as const;

    expect(() => createShop(usd, { models: { 'gpt-4o': {} } })).toThrow(
      'scopes.user.budgets[0].usd can meet models without a price ("gpt-4o"); give models["gpt-4o"].usdPerMillion, or defaultPrice',
    );
    expect(() => createShop(usd, { unknownModel: 'count' })).toThrow('give defaultPrice, or unknownModel: "refuse"');
  });

  it('is an error with nothing held where a function of the key gives money that may meet it', async () => {
    const { gate, counts } = createTestGate({
      models: { 'gpt-4o': {} },
      unknownModel: 'refuse',
      scopes: { user: { budgets: () => [{ usd: 1, per: 'day' }] } },
    });

    const run = buy(gate.as({ user: 'ann' }), 100, {});

    await expect(run).rejects.toMatchObject({
      code: 'SPILLWAY_BAD_BUDGET',
      message: expect.stringContaining('scopes.user.budgets(key)[0].usd can meet models without a price'),
    });
    expect(counts.unsettled).toBe(0);
  });
});

describe('money and tokens of one call', () => {
  it('are charged together, each by its own measure', async () => {
    const { ann, spent, used } = createShop([
      { usd: 1, per: 'day' },
      { usd: 1, per: 'minute' },
      { tokens: 10_000, per: 'minute' },
      { inputTokens: 10_000, per: 'minute' },
      { outputTokens: 10_000, per: 'minute' },
    ]);

    await buy(ann(), 500, { prompt_tokens: 100, completion_tokens: 40 });

    expect([await spent(), await spent('60000')]).toEqual([650, 650]);
    expect(await Promise.all(['tokens', 'inputTokens', 'outputTokens'].map((kind) => used(`user|ann|${kind};60000`)))).toEqual([
      140, 100, 40,
    ]);
  });
});
