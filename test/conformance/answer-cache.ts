import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { AnswerCache, KeptAnswer } from '../../src/index.js';

/** How to make the cache under test. */
export interface AnswerCacheConformanceOptions {
  /** @param maxBytes - all answers together; nothing is in it yet */
  create(maxBytes: number): AnswerCache | Promise<AnswerCache>;
}

const DAY_MS = 86_400_000;
const MANY_BYTES = 10_000_000;

const keptOf = (text: string, fields: Partial<KeptAnswer['answer']> = {}): KeptAnswer => ({
  atMs: 1_767_225_600_000,
  answer: {
    model: 'gpt-4o',
    text,
    hasToolCalls: false,
    usage: { inputTokens: 10, outputTokens: 2 },
    body: { choices: [{ message: { content: text } }] },
    ...fields,
  },
});
const how = (bytes = 500) => ({ bytes, ttlMs: DAY_MS });

/** What every cache of answers has to do. */
export function answerCacheConformance(name: string, { create }: AnswerCacheConformanceOptions): void {
  describe(name, () => {
    it('gives back what was set, whole, and in place of an earlier answer', async () => {
      const cache = await create(MANY_BYTES);
      const second = keptOf('Zwei 🌊 \u2028 "quoted"\n', { hasToolCalls: true, body: { deep: [[{ a: null }], 1.5, true] } });

      await cache.set('ann', 'k', keptOf('first'), how());
      await cache.set('ann', 'k', second, how());

      expect(await cache.get('ann', 'k')).toEqual(second);
      expect(await cache.get('ann', 'other')).toBeUndefined();
    });

    it('keeps an answer that names no model and no usage', async () => {
      const cache = await create(MANY_BYTES);
      const kept = keptOf('hello', { model: undefined, usage: undefined });

      await cache.set('ann', 'k', kept, how());

      expect(await cache.get('ann', 'k')).toEqual(kept);
    });

    it('finds nothing of another partition, even where names run together', async () => {
      const cache = await create(MANY_BYTES);
      await cache.set('ann', 'bob:k', keptOf('hello'), how());

      for (const [partition, key] of [
        ['bob', 'bob:k'],
        ['ann:bob', 'k'],
        ['', 'ann:bob:k'],
        ['annbob:', 'k'],
        ['*', 'bob:k'],
      ] as const)
        expect(await cache.get(partition, key)).toBeUndefined();
    });

    it('forgets an answer when told, and no other one', async () => {
      const cache = await create(MANY_BYTES);
      for (const key of ['a', 'b']) await cache.set('ann', key, keptOf(key), how());

      await cache.delete('ann', 'a');
      await cache.delete('bob', 'b');
      await cache.delete('ann', 'never there');

      expect(await cache.get('ann', 'a')).toBeUndefined();
      expect(await cache.get('ann', 'b')).toEqual(keptOf('b'));
    });

    it('takes no more than its bytes, and has the newest', async () => {
      const cache = await create(20_000);
      const texts = Array.from({ length: 60 }, (_, index) => `${index} ${randomBytes(600).toString('hex')}`);

      for (const [index, text] of texts.entries()) await cache.set(`user ${index % 3}`, `${index}`, keptOf(text), how(2_000));
      const found = await Promise.all(texts.map((_, index) => cache.get(`user ${index % 3}`, `${index}`)));

      const isFound = found.map((kept) => kept !== undefined);
      expect(isFound.lastIndexOf(true)).toBe(59);
      expect(isFound.filter(Boolean).length).toBeGreaterThan(2);
      expect(isFound.filter(Boolean).length).toBeLessThanOrEqual(16);
    });

    it('gives room back when answers are replaced or deleted', async () => {
      const cache = await create(20_000);
      await cache.set('ann', 'first', keptOf('first'), how(2_000));

      for (let i = 0; i < 100; i++) await cache.set('ann', 'second', keptOf('x'.repeat(i * 5)), how(2_000));
      for (let i = 0; i < 100; i++) {
        await cache.set('ann', 'third', keptOf('x'.repeat(500)), how(2_000));
        await cache.delete('ann', 'third');
      }

      expect(await cache.get('ann', 'first')).toEqual(keptOf('first'));
      expect(await cache.get('ann', 'second')).toBeDefined();
    });

    it('keeps none that is larger than all may be, nor the one that it was to replace', async () => {
      const cache = await create(5_000);
      await cache.set('ann', 'a', keptOf('small'), how());
      await cache.set('ann', 'b', keptOf('other'), how());

      await cache.set('ann', 'a', keptOf('x'.repeat(6_000)), how(12_000));

      expect(await cache.get('ann', 'a')).toBeUndefined();
      expect(await cache.get('ann', 'b')).toEqual(keptOf('other'));
    });
  });
}
