import { type ImageRule, patched, tiled } from './images.js';

/** Vocabularies by which models count, as their publisher names them. */
export type EncodingName = 'o200k_base' | 'cl100k_base' | 'p50k_base' | 'r50k_base';

/** What models of OpenAI have in common that are named alike. */
export interface ModelFamily {
  /** Of the name without what is put around it, in lower case. */
  readonly names: RegExp;
  readonly encoding: EncodingName;
  /** Whether they reason before they answer, which asks for another field for the output maximum. */
  readonly reasons: boolean;
  /** Whether each answer in the history is marked with its channel: all that reason do but o1-mini and o1-preview. */
  readonly marksChannels: boolean;
  /** Which constants count for calls and definitions of tools and for formats: see the rules of OpenAI. */
  readonly tools: 'first' | 'channels';
  readonly image: ImageRule;
  /** Where the row is from, and of when. */
  readonly source: string;
}

/** What is known of a model whatever it is called. */
export type NamelessFamily = Omit<ModelFamily, 'names'>;

/** What providers report for recorded calls agrees with the row, vocabulary and images. */
const USAGE = 'reported usage, 2023 to Oct 2026';
/** The vocabulary by usage, the figures for images as documented: no recorded call had any. */
const GUIDE = 'vision guide, 2025';
/** The patches by usage, which is not what is documented; how many there may be by a report in the forum. */
const FORUM = 'reported usage, 2025 and 2026; community.openai.com 1377015, Mar 2026';
const TIKTOKEN = 'tiktoken, Oct 2025';

const PLAIN = { reasons: false, marksChannels: false, tools: 'first' } as const;
/** o-series: they reason and mark channels, and are told of tools like the models before them. */
const SERIES = { encoding: 'o200k_base', reasons: true, marksChannels: true, tools: 'first' } as const;
const SINCE_5 = { encoding: 'o200k_base', reasons: true, marksChannels: true, tools: 'channels' } as const;

const TILES = tiled(85, 170);
const SERIES_TILES = tiled(75, 150);
const FIFTH_TILES = tiled(70, 140);

/** OpenAI's models: the first row that fits a name counts. To teach it another one add a row above those that it resembles. */
export const MODEL_FAMILIES: readonly ModelFamily[] = [
  { names: /^gpt-4o-mini/, encoding: 'o200k_base', ...PLAIN, image: tiled(2_833, 5_667), source: USAGE },
  { names: /^gpt-4\.?1-mini/, encoding: 'o200k_base', ...PLAIN, image: patched(1.62, 1_536), source: USAGE },
  { names: /^gpt-4\.?1-nano/, encoding: 'o200k_base', ...PLAIN, image: patched(2.46, 1_536), source: USAGE },
  { names: /^gpt-4(?:o|\.|1|5)/, encoding: 'o200k_base', ...PLAIN, image: TILES, source: USAGE },
  { names: /^gpt-[34]/, encoding: 'cl100k_base', ...PLAIN, image: TILES, source: USAGE },
  { names: /^o1-(?:mini|preview)/, ...SERIES, marksChannels: false, image: SERIES_TILES, source: GUIDE },
  { names: /^(?:o4-mini|codex-mini)/, ...SERIES, image: patched(1.72, 1_536), source: USAGE },
  { names: /^o[1-9](?:-|$)/, ...SERIES, image: SERIES_TILES, source: GUIDE },
  { names: /^gpt-5-mini/, ...SINCE_5, image: patched(1.2, 1_536), source: FORUM },
  { names: /^gpt-5-nano/, ...SINCE_5, image: patched(1.5, 1_536), source: FORUM },
  { names: /^gpt-5\.[23]/, ...SINCE_5, image: patched(1.2, 1_536), source: FORUM },
  { names: /^gpt-5\.4/, ...SINCE_5, image: patched(1.2, 2_500), source: FORUM },
  {
    names: /^gpt-5\.[5-9]/,
    ...SINCE_5,
    image: patched(1.2, 10_000, 2_500),
    source: 'huggingface.co/datasets/JOHNISKING/image-token-cost, Oct 2026; reported usage, 2026',
  },
  {
    names: /^gpt-[6-9]/,
    ...SINCE_5,
    image: patched(1.2, 20_000, 2_500),
    source: 'huggingface.co/datasets/JOHNISKING/image-token-cost, Oct 2026; reported usage, 2026',
  },
  { names: /^gpt-5/, ...SINCE_5, image: FIFTH_TILES, source: USAGE },
  { names: /^gpt-oss/, ...SINCE_5, image: TILES, source: 'github.com/openai/harmony, Aug 2025' },
  { names: /^computer-use/, encoding: 'o200k_base', ...PLAIN, image: tiled(65, 129), source: GUIDE },
  { names: /^(?:gpt|chatgpt|codex|omni)-/, encoding: 'o200k_base', ...PLAIN, image: TILES, source: USAGE },
  { names: /^text-embedding-|^(?:davinci|babbage)-002/, encoding: 'cl100k_base', ...PLAIN, image: TILES, source: TIKTOKEN },
  {
    names: /^text-davinci-(?:00[23]|edit)|^code-(?:davinci|cushman)/,
    encoding: 'p50k_base',
    ...PLAIN,
    image: TILES,
    source: TIKTOKEN,
  },
  { names: /^(?:davinci|cushman)-codex/, encoding: 'p50k_base', ...PLAIN, image: TILES, source: TIKTOKEN },
  { names: /^(?:text-)?(?:ada|babbage|curie|davinci)(?:-|$)/, encoding: 'r50k_base', ...PLAIN, image: TILES, source: TIKTOKEN },
  { names: /^(?:text|code)-(?:search|similarity)-/, encoding: 'r50k_base', ...PLAIN, image: TILES, source: TIKTOKEN },
  // Whoever knows only the vocabulary of a model may name that in its place.
  { names: /^o200k_base$/, encoding: 'o200k_base', ...PLAIN, image: TILES, source: TIKTOKEN },
  { names: /^cl100k_base$/, encoding: 'cl100k_base', ...PLAIN, image: TILES, source: TIKTOKEN },
  { names: /^p50k_base$/, encoding: 'p50k_base', ...PLAIN, image: TILES, source: TIKTOKEN },
  { names: /^r50k_base$/, encoding: 'r50k_base', ...PLAIN, image: TILES, source: TIKTOKEN },
];

/** What counts for models that no row knows: o200k_base is right for none of them, but far off for few. */
export const UNKNOWN_FAMILY: NamelessFamily = { encoding: 'o200k_base', ...PLAIN, image: TILES, source: 'a guess' };

/** The family of a name without what is put around it, in lower case; `undefined`: it is not known. */
export const knownFamily = (name: string): ModelFamily | undefined => MODEL_FAMILIES.find(({ names }) => names.test(name));
