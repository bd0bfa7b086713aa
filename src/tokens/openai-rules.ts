import type { Draft, Part, Section } from '../dialects/dialect.js';
import { familyOf, hasKnownEncoding } from './encodings.js';
import { documentTokens, soundTokens } from './files.js';
import { USUAL_SIZE } from './images.js';
import { formatTokens, toolTokens } from './openai-definitions.js';
import { TOOL_FIGURES, type ToolFigures } from './openai-table.js';
import type { Measure, Rules } from './rules.js';

/** What the beginning of the answer takes in every prompt; one less in the families that mark channels. */
const PRIMING_TOKENS = 3;
/** What separates a message from the next, and its role: the names of all roles are one token. */
const MESSAGE_TOKENS = 4;
const NAME_TOKENS = 1;
/** A marker for the channel of an answer in the history. */
const CHANNEL_TOKENS = 2;
/** Arguments of one body's calls that are written anew, in characters: it takes about 1 ms. */
const MOST_ARGUMENTS = 65_536;

/**
 * OpenAI's rules for chat messages, as they follow from the usage it reported in 2023 to 2026: exact for text, names and roles;
 * within a few tokens for calls and definitions of tools and for formats. Images and files count by rules and defaults of the
 * model's family. Models that nobody has rules for are estimated by these too.
 */
export function openaiRules(model: string, draft: Draft): Rules {
  const { marksChannels, tools } = familyOf(model);
  const figures = TOOL_FIGURES[draft.rules === 'responses' ? 'responses' : 'chat'][tools];
  const manner: Manner = { figures, marksChannels, compact: createCompact() };

  /** A prompt is taken as it is, but not even an empty one is free. */
  function overheadTokens(within: number): number {
    if (draft.sections.some(({ kind }) => kind === 'prompt')) return within === 0 ? 1 : 0;
    return marksChannels ? PRIMING_TOKENS - 1 : PRIMING_TOKENS;
  }

  function sectionTokens(section: Section, measure: Measure): number {
    switch (section.kind) {
      case 'message':
        return messageTokens(section, measure, manner);
      case 'prompt':
        return partsTokens(section.parts, measure);
      case 'tools':
      case 'format':
        return definitionTokens(section, measure, figures);
      default:
        return section.kind satisfies never;
    }
  }

  return { overheadTokens, sectionTokens };
}

/** How messages of one body are shown. */
interface Manner {
  readonly figures: ToolFigures;
  readonly marksChannels: boolean;
  /** Arguments as they are shown of an only call. */
  readonly compact: (text: string) => string;
}

function messageTokens({ role, name, parts }: Section, measure: Measure, { figures, marksChannels, compact }: Manner): number {
  const isSystem = role === 'system' || role === 'developer';
  const calls = parts.reduce((sum, { kind }) => sum + (kind === 'tool-call' ? 1 : 0), 0);
  let shown = isSystem && measure.hasTools && figures.endsLine ? withLineBreak(parts) : parts;
  if (calls === 1)
    shown = shown.map((part) => (part.kind === 'tool-call' ? { ...part, arguments: compact(part.arguments) } : part));
  let tokens = MESSAGE_TOKENS + callsTokens(calls, figures) + partsTokens(shown, measure);
  if (role === 'assistant' && marksChannels) tokens += CHANNEL_TOKENS;
  // The result of a tool is named by its call; that of a function has a name, but one that is framed more tightly.
  if (name !== undefined && role !== 'tool') tokens += NAME_TOKENS + measure.count(name);
  if (role === 'function') tokens -= 2;
  return tokens;
}

/** The break may be part of the last token of the text: then it takes nothing. */
function withLineBreak(parts: readonly Part[]): readonly Part[] {
  const last = parts.at(-1);
  return last?.kind === 'text' ? [...parts.slice(0, -1), { ...last, text: `${last.text}\n` }] : parts;
}

/** What calls of tools take on top of their names and arguments. */
function callsTokens(count: number, { onlyCall, calls, eachCall }: ToolFigures): number {
  if (count < 2) return count * onlyCall;
  return calls + eachCall * count;
}

/** Schemas of answers, and tools of models that are not known: their JSON text is a guess on the safe side. */
function definitionTokens({ kind, parts, mustCallName }: Section, measure: Measure, figures: ToolFigures): number {
  measure.hasGuessed = true;
  const choice = mustCallName === undefined || figures.choice === undefined ? 0 : figures.choice + measure.count(mustCallName);
  if (!hasKnownEncoding(measure.model)) return choice + partsTokens(parts, measure);
  return kind === 'tools' ? choice + toolTokens(parts, measure, figures) : formatTokens(parts, measure, figures);
}

function partsTokens(parts: readonly Part[], measure: Measure): number {
  let tokens = 0;
  for (const part of parts) tokens += partTokens(part, measure);
  return tokens;
}

function partTokens(part: Part, measure: Measure): number {
  switch (part.kind) {
    case 'text':
      return measure.count(part.text);
    case 'json':
      return measure.countJson(part.value);
    case 'tool-call':
      return measure.count(part.name) + measure.count(part.arguments);
    case 'tokens':
      measure.hasGuessed ||= part.isGuessed ?? false;
      return part.count;
    case 'image':
      measure.hasGuessed = true;
      measure.hasImages = true;
      return familyOf(measure.model).image.tokensOf(measure.sizeOf(part.url) ?? USUAL_SIZE, part.detail);
    case 'file':
      measure.hasGuessed = true;
      return part.media === 'document' ? documentTokens(measure.lookInto(part), 'openai') : soundTokens(part);
    default:
      return part satisfies never;
  }
}

/** The arguments of an only call are shown without the spaces between them; those of several are as they were written. */
function createCompact(): (text: string) => string {
  let left = MOST_ARGUMENTS;
  return (text) => {
    if (text.length > left) return text;
    left -= text.length;
    try {
      return JSON.stringify(JSON.parse(text));
    } catch {
      return text;
    }
  };
}
