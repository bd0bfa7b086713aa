import { describe, expect, it } from 'vitest';
import { createSpillway, estimateTokens, type Options, OptionsError } from '../src/index.js';
import { createTokenizer } from '../src/tokens/tokenizer.js';
import { createOutbound } from './support/outbound.js';

const TEXT = 'How deep is the river, and who has measured it? Größer als 深い川.';
const bodyFor = (model: string) => ({ model, messages: [{ role: 'user', content: TEXT }] });

/** Input tokens that a gate estimates a body at. */
async function inputTokens(options: Options, body: unknown): Promise<number | undefined> {
  const gate = createSpillway(options);
  const found: number[] = [];
  gate.on('call-admitted', (call) => found.push(call.inputTokens));
  await gate.ready();
  await gate.run({ body }, async () => ({}));
  await gate.close();
  return found[0];
}

describe('a model of which the application says how it counts', () => {
  it.each(['gpt-4', 'claude-sonnet-4-5', 'gpt-5-mini'])('takes as many tokens as %s', async (countAs) => {
    const like = await estimateTokens(bodyFor(countAs), { path: '/v1/chat/completions' });

    const found = await inputTokens({ models: { llama: { countAs } } }, bodyFor('llama'));

    expect(found).toBe(like.inputTokens);
  });

  it('counts by a vocabulary that is named, and by a factor, whichever of its names a body uses', async () => {
    const like = await estimateTokens(bodyFor('cl100k_base'));
    const models = { llama: { countAs: 'cl100k_base', tokenFactor: 1.5, aliases: ['ours'] } };

    const found = await inputTokens({ models }, bodyFor('ours'));

    expect(found).toBeGreaterThanOrEqual(1.5 * like.inputTokens);
    expect(found).toBeLessThanOrEqual(1.5 * like.inputTokens + 2);
  });

  it('leaves other models alone', async () => {
    const found = await inputTokens({ models: { llama: { tokenFactor: 3 }, 'gpt-4o': {} } }, bodyFor('gpt-4o'));

    expect(found).toBe((await estimateTokens(bodyFor('gpt-4o'))).inputTokens);
  });

  it('counts the same way what it said, where no usage tells', async () => {
    const outbound = await createOutbound({ models: { 'gpt-4o': { countAs: 'gpt-4', tokenFactor: 2 } } });
    const tokenizer = createTokenizer();
    await tokenizer.ready(['cl100k_base']);
    const headers = { 'content-type': 'application/json', 'x-fault': 'no-usage' };

    const response = await outbound.gate.fetch(outbound.url, {
      method: 'POST',
      headers,
      body: JSON.stringify(bodyFor('gpt-4o')),
    });
    const { choices } = (await response.json()) as { choices: [{ message: { content: string } }] };

    await outbound.sums();
    expect(outbound.settled).toMatchObject([
      { by: 'counted', usage: { outputTokens: 2 * tokenizer.count(choices[0].message.content, 'cl100k_base') } },
    ]);
    await outbound.close();
  });

  it('is refused at construction when nobody knows it', () => {
    expect(() => createSpillway({ models: { llama: { countAs: 'gpt4o', tokenFactor: 0 } } })).toThrow(OptionsError);
    expect(() => createSpillway({ models: { llama: { countAs: 'gpt4o' } } })).toThrow(
      'models.llama.countAs must be a model whose way of counting is known, got "gpt4o"; give one like "gpt-4o" or "cl100k_base"',
    );
  });
});

describe('an image that a body only names', () => {
  const body = {
    model: 'gpt-4o',
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x.test/a.png' } }] }],
  };

  it.each<[string, Options, number]>([
    ['is taken for one of 1,024 x 1,024 pixels', {}, 765],
    ['has the size that the application tells', { imageSize: () => ({ width: 640, height: 480 }) }, 425],
    [
      'may be known by its address',
      { imageSize: (address) => (address === 'https://x.test/a.png' ? { width: 100, height: 100 } : undefined) },
      255,
    ],
    [
      'is estimated as if nothing was told when telling fails',
      {
        imageSize: () => {
          throw new Error('no such image');
        },
      },
      765,
    ],
  ])('%s', async (_, options, tokens) => {
    expect(await inputTokens(options, body)).toBe(3 + 4 + tokens);
  });
});
