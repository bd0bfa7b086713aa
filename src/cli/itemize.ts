import type { Draft, Part, Section } from '../dialects/dialect.js';
import { fieldsOf, textOf } from '../dialects/values.js';
import type { ReadForEstimate, TokenEstimate } from '../tokens/estimate-tokens.js';
import { imageSize } from '../tokens/image-size.js';

/** A tool, an image or a file of a body; `others`: what is beyond the number that is shown one by one. */
export interface Item {
  readonly kind: 'tool' | 'image' | 'audio' | 'video' | 'document' | 'others';
  /** Of a tool. Never anything that could be a prompt or steer a terminal. */
  readonly name?: string;
  /** Of an image in the body, in pixels. */
  readonly width?: number;
  readonly height?: number;
  /** Of a file in the body. */
  readonly bytes?: number;
  /** How many these are. */
  readonly count?: number;
  /** What the body would take less without it. */
  readonly tokens: number;
}

/** A part of an estimate, and what it holds. */
export interface ItemizedPart {
  readonly kind: TokenEstimate['breakdown'][number]['kind'];
  readonly role?: string;
  readonly tokens: number;
  readonly items?: readonly Item[];
}

/** Tools, images and files that are estimated one by one, of all messages together. */
const MOST_ITEMS = 100;
const ROLE = /^[\w.-]{1,32}$/;
const NAME = /^[\p{L}\p{N}_.:/-]{1,64}$/u;

/** The parts of an estimate with the tools, images and files in them: each takes what the body would take less without it. */
export function itemize({ draft, estimate }: ReadForEstimate): ItemizedPart[] {
  const { breakdown, inputTokens } = estimate(draft);
  let left = MOST_ITEMS;
  const without = (at: number, taken: ReadonlySet<Entry>): number =>
    Math.max(0, inputTokens - estimate(lessOf(draft, at, taken)).inputTokens);

  return breakdown.map(({ kind, role, tokens }, at) => {
    const section = draft.sections[at];
    const entries = section ? entriesOf(section) : [];
    const single = entries.slice(0, left);
    const others = entries.slice(left);
    left -= single.length;
    const items: Item[] = single.map((entry) => ({ ...described(entry), tokens: without(at, new Set([entry])) }));
    if (others.length > 0) items.push({ kind: 'others', count: others.length, tokens: without(at, new Set(others)) });
    return {
      kind,
      ...(role === undefined || role === '' ? {} : { role: ROLE.test(role) ? role : '?' }),
      tokens,
      ...(items.length > 0 ? { items } : {}),
    };
  });
}

/** Where something lies: in which part of a section, and where in the list that the part is. */
interface Entry {
  readonly part: Part;
  readonly partAt: number;
  readonly index: number | undefined;
}

function entriesOf({ kind, parts }: Section): Entry[] {
  return parts.flatMap((part, partAt): Entry[] => {
    if (part.kind === 'image' || part.kind === 'file') return [{ part, partAt, index: undefined }];
    if (kind !== 'tools' || part.kind !== 'json') return [];
    return Array.isArray(part.value)
      ? part.value.map((_, index) => ({ part, partAt, index }))
      : [{ part, partAt, index: undefined }];
  });
}

function described({ part, index }: Entry): Omit<Item, 'tokens'> {
  switch (part.kind) {
    case 'image':
      return { kind: 'image', ...imageSize(part.url) };
    case 'file':
      return { kind: part.media, ...(part.base64Length > 0 ? { bytes: Math.floor(part.base64Length * 0.75) } : {}) };
    default: {
      const value = part.kind === 'json' ? part.value : undefined;
      return { kind: 'tool', name: toolName(index === undefined ? value : (value as readonly unknown[])[index]) };
    }
  }
}

/** A tool of the provider's own goes by its type, or by the one name that it has. */
function toolName(value: unknown): string {
  const tool = fieldsOf(value) ?? {};
  const own = fieldsOf(tool.function) ?? fieldsOf(tool.custom) ?? tool;
  const name = textOf(own.name) || textOf(tool.type) || (Object.keys(tool)[0] ?? '');
  return NAME.test(name) ? name : '?';
}

/** The draft without some entries of one section; without the section where it was nothing but these. */
function lessOf(draft: Draft, at: number, taken: ReadonlySet<Entry>): Draft {
  const section = draft.sections[at] as Section;
  const places = new Map<number, Set<number | undefined>>();
  for (const { partAt, index } of taken) places.set(partAt, (places.get(partAt) ?? new Set()).add(index));
  const parts = section.parts.flatMap((part, partAt): Part[] => {
    const gone = places.get(partAt);
    if (!gone) return [part];
    if (gone.has(undefined) || part.kind !== 'json') return [];
    const rest = (part.value as readonly unknown[]).filter((_, index) => !gone.has(index));
    return rest.length === 0 ? [] : [{ ...part, value: rest }];
  });
  const isGone = section.kind === 'tools' && parts.length === 0;
  const sections = draft.sections.flatMap((one, index) => (index !== at ? [one] : isGone ? [] : [{ ...one, parts }]));
  return { ...draft, sections };
}
