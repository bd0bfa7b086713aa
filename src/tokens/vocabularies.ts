import type { EncodingName } from './encodings.js';
import { type PublishedVocabulary, readVocabulary, type Vocabulary } from './vocabulary.js';

const PUBLISHED: Readonly<Record<EncodingName, () => Promise<{ readonly default: PublishedVocabulary }>>> = {
  o200k_base: () => import('js-tiktoken/ranks/o200k_base'),
  cl100k_base: () => import('js-tiktoken/ranks/cl100k_base'),
  p50k_base: () => import('js-tiktoken/ranks/p50k_base'),
  r50k_base: () => import('js-tiktoken/ranks/r50k_base'),
};

/** Shared by the whole process: o200k_base takes 17 MB with all that it needs, its published text (2 MB) among it. */
const loaded = new Map<EncodingName, Vocabulary>();
const loading = new Map<EncodingName, Promise<void>>();

/** The vocabulary, when it has been loaded. */
export function loadedVocabulary(encoding: EncodingName): Vocabulary | undefined {
  return loaded.get(encoding);
}

/**
 * Loads a vocabulary once, however often and from wherever it is asked for; one that failed may be asked for again.
 * @param prepare - runs before anybody gets to use the vocabulary
 */
export function loadVocabulary(
  encoding: EncodingName,
  prepare: (encoding: EncodingName, vocabulary: Vocabulary) => Promise<void>,
): Promise<void> {
  let promise = loading.get(encoding);
  if (!promise) {
    promise = load(encoding, prepare).catch((error: unknown) => {
      loading.delete(encoding);
      throw error;
    });
    loading.set(encoding, promise);
  }
  return promise;
}

async function load(encoding: EncodingName, prepare: Parameters<typeof loadVocabulary>[1]): Promise<void> {
  const { default: published } = await PUBLISHED[encoding]();
  const vocabulary = await readVocabulary(published);
  await prepare(encoding, vocabulary);
  loaded.set(encoding, vocabulary);
}
