import type { AnswerCache, KeptAnswer } from './answer-cache.js';
import { createBoundedMap } from './bounded-map.js';

/** Answers of this process: what was unused for longest leaves first. */
export function memoryAnswerCache(maxBytes: number): AnswerCache {
  const entries = createBoundedMap<KeptAnswer & { readonly bytes: number }>({ maxBytes, sizeOf: ({ bytes }) => bytes });
  const nameOf = (partition: string, key: string) => JSON.stringify([partition, key]);

  return {
    async get(partition, key) {
      const found = entries.get(nameOf(partition, key));
      return found && { answer: found.answer, atMs: found.atMs };
    },
    async set(partition, key, { answer, atMs }, { bytes }) {
      entries.set(nameOf(partition, key), { answer, atMs, bytes });
    },
    async delete(partition, key) {
      entries.delete(nameOf(partition, key));
    },
  };
}
