import type { Draft, Part, Section } from '../dialects/dialect.js';
import { baseName, isClaude } from './encodings.js';
import type { Measure, Rules } from './estimate.js';
import { fileTokens } from './files.js';
import { imageSize } from './image-size.js';

/** What models of one generation have in common. */
interface Generation {
  /** Tokens for each token of cl100k_base: Claude's own vocabularies are not published. */
  readonly factor: number;
  /** What comes with tools, whatever they are, when the model may call one and when it must. */
  readonly mayCall: number;
  readonly mustCall: number;
  /** What comes with thinking. */
  readonly thinking: number;
  /** Longest side of an image, in pixels, and most tokens of one; larger ones are scaled down. */
  readonly longestSide: number;
  readonly imageTokens: number;
}

/** What every prompt takes, and every message: 7 for the first one. What the system is told takes no more than its text. */
const OVERHEAD_TOKENS = 5;
const MESSAGE_TOKENS = 2;
/** A call of a tool with its result. */
const CALL_TOKENS = 55;
/** A definition of a tool. */
const TOOL_TOKENS = 14;
/** A schema that the answer must follow; its text counts twice. */
const FORMAT_TOKENS = 90;
/** Side of the patches that an image is cut into, in pixels. */
const PATCH = 28;
const IMAGE_TOKENS = 4;
/** Of pages: each is read as text and looked at as an image. */
const DOCUMENT_FACTOR = 1.6;

const BEFORE_4_7 = { thinking: 29, longestSide: 1_568, imageTokens: 1_568 };
const FIRST: Generation = { factor: 1.1, mayCall: 275, mustCall: 365, ...BEFORE_4_7 };
const FIRST_OPUS: Generation = { ...FIRST, mayCall: 530, mustCall: 300 };
const FOURTH: Generation = { factor: 1.15, mayCall: 315, mustCall: 335, ...BEFORE_4_7 };
const SINCE_4_5: Generation = { factor: 1.15, mayCall: 495, mustCall: 595, ...BEFORE_4_7 };
const SINCE_4_7: Generation = { factor: 1.3, mayCall: 370, mustCall: 520, thinking: 0, longestSide: 2_000, imageTokens: 4_784 };

/**
 * Rules for Claude, by its name, whichever wire format it is called in; `undefined` for other models. Constants follow from
 * usage that was reported in 2024 to 2026: most prompts in English, with tools or without, come within 10 %, other languages less
 * closely. An image whose size is not known takes the most that one can.
 */
export function claudeRules(model: string, { thinks }: Pick<Draft, 'thinks'>): Rules | undefined {
  if (!isClaude(model)) return undefined;
  const generation = generationOf(baseName(model));
  return {
    overheadTokens: () => OVERHEAD_TOKENS + (thinks ? generation.thinking : 0),
    sectionTokens: (section, measure) => Math.round(sectionTokens(section, measure, generation)),
  };
}

/** `claude-3-5-haiku-20241022`, `claude-opus-4-1`, `claude-sonnet-4@20250514`, `claude-haiku-4.5`, `claude-v2`. */
const VERSION = /claude-(?:[a-z]+-)?v?(\d)(?:[-.](\d)(?!\d))?/;

/** Names that tell no version are taken for new ones. */
function generationOf(name: string): Generation {
  const [, major, minor = '0'] = VERSION.exec(name) ?? [];
  const version = major === undefined ? Infinity : Number(`${major}.${minor}`);
  if (version < 4) return name.includes('opus') ? FIRST_OPUS : FIRST;
  if (version < 4.5) return FOURTH;
  return version < 4.7 ? SINCE_4_5 : SINCE_4_7;
}

function sectionTokens(section: Section, measure: Measure, generation: Generation): number {
  const { kind, role, parts, mustCall } = section;
  const tokens = parts.reduce((sum, part) => sum + partTokens(part, measure, generation), 0);
  switch (kind) {
    case 'message':
      return role === 'system' ? tokens : tokens + MESSAGE_TOKENS;
    case 'prompt':
      return tokens;
    case 'tools':
      return tokens + (mustCall ? generation.mustCall : generation.mayCall) + TOOL_TOKENS * toolCount(parts);
    case 'format':
      return FORMAT_TOKENS + 2 * tokens;
    default:
      return kind satisfies never;
  }
}

/** A part may be one definition or a list of them. */
function toolCount(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => sum + (part.kind === 'json' && Array.isArray(part.value) ? part.value.length : 1), 0);
}

function partTokens(part: Part, measure: Measure, generation: Generation): number {
  switch (part.kind) {
    case 'text':
      return generation.factor * measure.count(part.text);
    case 'json':
      return generation.factor * measure.countJson(part.value);
    case 'tool-call':
      return CALL_TOKENS + generation.factor * (measure.count(part.name) + measure.count(part.arguments));
    case 'tokens':
      return part.count;
    case 'image':
      measure.hasImages = true;
      return imageTokens(part.url, generation);
    case 'file':
      return fileTokens(part.media, part.base64Length) * (part.media === 'document' ? DOCUMENT_FACTOR : 1);
    default:
      return part satisfies never;
  }
}

function imageTokens(url: string, { longestSide, imageTokens: most }: Generation): number {
  const size = imageSize(url);
  if (!size) return most + IMAGE_TOKENS;
  const scale = Math.min(1, longestSide / Math.max(size.width, size.height));
  const patches = Math.ceil((size.width * scale) / PATCH) * Math.ceil((size.height * scale) / PATCH);
  return Math.min(most, patches) + IMAGE_TOKENS;
}
