import type { Draft, Part, Section } from '../dialects/dialect.js';
import { baseName } from './encodings.js';
import { GEMINI_MEDIA, type GeminiMedia, geminiFileTokens, geminiImageTokens } from './gemini-media.js';
import { createGeminiText, type GeminiText } from './gemini-text.js';
import { type GeminiToolFrame, geminiToolTokens } from './gemini-tools.js';
import type { Measure, Rules } from './rules.js';

/** How one of Google's APIs shows a prompt to models of one generation. */
interface Manner {
  /** What surrounds a message, in tokens. */
  readonly message: number;
  /** A call of a function in the history, with its result. */
  readonly call: number;
  /** Whether arguments and results are shown without what JSON puts around them. */
  readonly json: 'bare' | undefined;
  readonly tools: GeminiToolFrame;
  /** Tokens for each of the JSON text of a schema that the answer must follow. */
  readonly format: number;
}

/** Tools are told at length, to models since 2.5 by the Gemini API. */
const WORDY: Manner = {
  message: 1,
  call: 20,
  json: undefined,
  tools: { function: 15, description: 5, property: 10, object: 38, value: 3 },
  // The schema only guides how the answer is written.
  format: 0,
};
/** Models before, and all of them on Vertex AI. */
const TERSE: Manner = {
  message: 0,
  call: 0,
  json: 'bare',
  tools: { function: 3, description: 2, property: 4, object: 6, value: 1 },
  format: 0.5,
};

/**
 * Rules for Gemini, by its name or by the wire format that it is called in; `undefined` for other models. Constants follow from
 * usage that was reported in 2025 and 2026, nearly all of it in English: most texts come within 5 %, and most prompts with tools
 * within 10 %, by the Gemini API; Vertex AI is known from its paths.
 */
export function geminiRules(model: string, { rules }: Pick<Draft, 'rules'>): Rules | undefined {
  const name = baseName(model);
  if (rules !== 'gemini' && rules !== 'vertex' && !/^(?:gemini|gemma|learnlm)-/.test(name)) return undefined;
  const version = versionOf(name);
  const manner = rules === 'vertex' || version < 2.5 ? TERSE : WORDY;
  const media = version < 2.5 ? GEMINI_MEDIA.first : version < 3 ? GEMINI_MEDIA.second : GEMINI_MEDIA.third;
  let text: GeminiText | undefined;
  return {
    // Not even an empty prompt is free.
    overheadTokens: (within) => (within === 0 ? 1 : 0),
    sectionTokens(section, measure) {
      measure.hasGuessed = true;
      text ??= createGeminiText(measure);
      return Math.round(sectionTokens(section, { manner, media, text, measure }));
    },
  };
}

/** `gemini-2.5-pro`, `gemini-2.0-flash-001`, `gemini-3-pro-preview`; the first one had none. */
function versionOf(name: string): number {
  const version = /^gemini-(\d{1,2}(?:\.\d{1,2})?)(?:-|$)/.exec(name)?.[1];
  if (version !== undefined) return Number(version);
  return /^gemini-(?:pro|ultra|pro-vision)$/.test(name) ? 1 : Infinity;
}

interface Counting {
  readonly manner: Manner;
  readonly media: GeminiMedia;
  readonly text: GeminiText;
  readonly measure: Measure;
}

function sectionTokens({ kind, role, parts }: Section, counting: Counting): number {
  const { manner, text } = counting;
  if (kind === 'tools') return geminiToolTokens(parts, manner.tools, text);
  const tokens = parts.reduce((sum, part) => sum + partTokens(part, counting), 0);
  switch (kind) {
    case 'message':
      return role === 'system' && tokens === 0 ? 0 : tokens + manner.message;
    case 'prompt':
      return tokens;
    case 'format':
      return tokens * manner.format;
    default:
      return kind satisfies never;
  }
}

function partTokens(part: Part, { manner, media, text, measure }: Counting): number {
  switch (part.kind) {
    case 'text':
      return text.tokens(part.text);
    case 'json':
      return text.jsonTokens(part.value, manner.json);
    case 'tool-call':
      return manner.call + text.tokens(part.name) + text.tokens(part.arguments);
    case 'tokens':
      return part.count;
    case 'image':
      measure.hasImages = true;
      return geminiImageTokens(media, part.detail, measure.sizeOf(part.url));
    case 'file':
      return geminiFileTokens(media, measure.lookInto(part));
    default:
      return part satisfies never;
  }
}
